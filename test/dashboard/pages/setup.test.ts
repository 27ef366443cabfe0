/** Set-up in the page: what operators and admins configure there takes effect at once, and other callers do not see it. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../../support/clients/browser.ts'
import {
  expectNone,
  expectShown,
  expectStill,
  inElement,
  inElements,
  inputOf,
  readStill,
  textOf,
} from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { startReceiver } from '../../support/systems/receiver.ts'

const adminKey = 'an-admin-key-for-tests-only'
const env = {
  ...{ API_AUTH: 'key', API_ADMIN_KEY: adminKey, DEVICE_AUTH: 'token,signature', SINK_ALLOW: '127.0.0.1' },
}

describe.runIf(findChromium())('the set-up in the page', () => {
  let server: RunningApp
  let folder: string
  beforeAll(async () => {
    server = await startApp({ env })
    folder = mkdtempSync(join(tmpdir(), 'rollcall-setup-'))
  })
  afterAll(async () => {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Executes a command that the page shows. */
  const run = async (command: string, cwd = folder): Promise<string> =>
    (await promisify(execFile)('sh', ['-c', command], { cwd })).stdout

  async function signIn(key: string, address: string) {
    const open = await openPage(await sharedBrowser(), `${server.url}/${address}`)
    onTestFinished(() => open.close())
    await open.page.getByLabel('API key or token').fill(key)
    await open.page.getByRole('button', { name: 'Sign in' }).click()
    await open.page.getByRole('button', { name: 'Sign out' }).waitFor()
    // The console names the requests before the sign-in.
    return { ...open, news: open.complaints.length }
  }
  const shown = async (page: Page, label: string): Promise<string> =>
    (await readStill(textOf(page.getByRole('figure').filter({ hasText: label }).locator('pre')))) ?? ''
  const ask = async (query: string, key = adminKey) => {
    const response = await server.post('/graphql', { query }, { authorization: `Bearer ${key}` })
    // biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
    return ((await response.json()) as { data: any }).data
  }

  it('says when the last backup was', async () => {
    const { revision } = await ask('{ revision }')
    const input = `{ at: "${new Date().toISOString()}", revision: "${revision}" }`
    await ask(`mutation { recordBackup(input: ${input}) { __typename } }`)
    const { page } = await signIn(adminKey, 'setup')
    const said = new RegExp(`^Last backup: .+ ago, up to revision ${revision}\\.$`)
    await expectShown(textOf(page.getByText('Last backup:'))).toMatch(said)
  })

  it.runIf(isWhole)('shows all its parts on a phone', async () => {
    const { page } = await signIn(adminKey, 'setup')
    await page.setViewportSize({ width: 390, height: 844 })
    const parts = page.getByRole('navigation', { name: 'Parts of the set-up' }).getByRole('link')
    await parts.getByText('API keys').waitFor()
    const ends = inElements(parts, (links) => links.map((link) => link.getBoundingClientRect().right))
    await expectStill(ends).toSatisfy((all: number[]) => all.every((end) => end <= 390))
    // It has no past.
    await expectNone(page.getByRole('slider'), page.getByRole('button', { name: 'Register device' }))
  })

  it.runIf(isWhole)('shows commands that work where there is nothing yet', async () => {
    const empty = await startApp()
    onTestFinished(() => empty.stop())
    const { page, complaints, close } = await openPage(await sharedBrowser(), `${empty.url}/resources`)
    onTestFinished(() => close())
    await run(await shown(page, 'Report an object and its state'))
    await page.goto(`${empty.url}/resources`)
    await page.getByRole('row', { name: /^web/ }).getByText('Not ready').waitFor()
    await page.goto(`${empty.url}/feed?kind=device`)
    await page.getByText('No changes match these filters.').waitFor()
    expect(complaints).toEqual([])
  })

  it('registers a device, shows its token and a command, and says when the device is heard', async () => {
    const { page, complaints, news } = await signIn(adminKey, 'setup')
    await page.getByLabel('Device ID').fill("press 7's")
    await page.getByLabel('Labels (optional)').fill('site=munich, line=3')
    await page.getByRole('button', { name: 'Register device' }).click()
    await page.getByText('Waiting for its first report').waitFor()
    expect(await shown(page, 'Its token')).not.toBe('')
    expect(JSON.parse(await run(await shown(page, 'Its first report')))).toMatchObject({ verdict: 'APPLIED' })
    await page.getByText(/^Heard (now|\d+ s ago)\.$/).waitFor()
    await page.getByRole('link', { name: 'Open the device' }).click()
    await page.getByRole('heading', { name: "press 7's" }).waitFor()
    const { device } = await ask(`{ device(deviceId: "press 7's") { labels { key value } } }`)
    expect(device.labels).toEqual(
      expect.arrayContaining([
        { key: 'line', value: '3' },
        { key: 'site', value: 'munich' },
      ]),
    )
    expect(complaints.slice(news)).toEqual([])
  })

  it.runIf(isWhole)('registers a device with a key, and shows how its reports are signed', async () => {
    const { page } = await signIn(adminKey, 'setup/devices')
    // The clock of the browser is an hour ahead of the server's.
    await page.clock.setFixedTime(Date.now() + 3_600_000)
    await page.getByLabel('Device ID').fill('press-9')
    await page.getByLabel('Credential').selectOption('signature')
    const publicKey = await run(await shown(page, 'Make a key'))
    await page.getByLabel('Public key', { exact: true }).fill('not a key')
    await page.getByRole('button', { name: 'Register device' }).click()
    await page.getByRole('alert').getByText('publicKeys').waitFor()
    await expectShown(inputOf(page.getByLabel('Device ID'))).toBe('press-9')
    await page.getByLabel('Public key', { exact: true }).fill(publicKey)
    await page.getByRole('button', { name: 'Register device' }).click()
    expect(JSON.parse(await run(await shown(page, 'Its first report')))).toMatchObject({ verdict: 'APPLIED' })
    await page.getByText(/^Heard /).waitFor()
  })

  it.runIf(isWhole)('works by keyboard alone', async () => {
    const { page } = await signIn(adminKey, 'setup')
    const field = page.getByLabel('Device ID')
    await field.waitFor()
    const isAt = inElement(field, (element) => element === document.activeElement)
    for (let steps = 0; steps < 40 && !(await isAt.take()); steps += 1) await page.keyboard.press('Tab')
    await expectShown(isAt).toBe(true)
    await page.keyboard.type('press-k')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'press-k is registered' }).waitFor()
    // Commands that scroll are reached, too.
    const command = page.getByRole('figure').filter({ hasText: 'Its first report' }).locator('pre')
    const isOnCommand = inElement(command, (element) => element === document.activeElement)
    for (let steps = 0; steps < 40 && !(await isOnCommand.take()); steps += 1) await page.keyboard.press('Tab')
    await expectShown(isOnCommand).toBe(true)
  })

  it('adds a webhook, shows its secret, tests it, and says why a test is not accepted', async () => {
    const receiver = await startReceiver()
    onTestFinished(() => receiver.close())
    const { page, complaints, news } = await signIn(adminKey, 'setup/notifications')
    await page.getByText('No receivers.').waitFor()
    await page.getByLabel('Name').fill('pager')
    await page.getByLabel('Address').fill('http://10.0.0.1/')
    await page.getByRole('button', { name: 'Add Webhook' }).click()
    await page.getByRole('alert').getByText('SINK_ALLOW').waitFor()
    await page.getByLabel('Address').fill(receiver.url)
    await page.getByRole('button', { name: 'Add Webhook' }).click()
    expect(await shown(page, 'It signs the events')).toMatch(/^whsec_/)
    await page.getByRole('button', { name: 'Test pager' }).click()
    await page.getByText('Test accepted: 200').waitFor()
    expect(receiver.received.map(({ body }) => body.type)).toEqual(['rollcall.test'])
    receiver.answer(403)
    await page.getByRole('button', { name: 'Test pager' }).click()
    await page.getByText('Test not accepted: answered 403').waitFor()
    await page.getByRole('button', { name: 'Pause pager' }).click()
    await page.getByText('Paused', { exact: true }).waitFor()

    await page.getByLabel('Kind').selectOption('ALERTMANAGER')
    await page.getByLabel('Name').fill('main')
    await page.getByLabel('Address').fill(`${receiver.url}/am`)
    await page.getByRole('button', { name: 'Add Alertmanager' }).click()
    receiver.answer(200)
    await page.getByRole('button', { name: 'Test main' }).click()
    await page.getByText('Test accepted: 200').waitFor()
    expect(receiver.received.at(-1)).toMatchObject({ path: '/am/api/v2/alerts' })
    for (const name of ['pager', 'main']) {
      await page.getByRole('button', { name: `Delete ${name}` }).click()
      await page
        .getByRole('dialog')
        .getByRole('button', { name: `Delete ${name}` })
        .click()
      await page.getByRole('button', { name: `Test ${name}` }).waitFor({ state: 'detached' })
    }
    expect(complaints.slice(news)).toEqual([])
  })

  it('creates, edits, disables and deletes alert rules, and keeps what the form does not show', async () => {
    const { page, complaints, news } = await signIn(adminKey, 'setup/alert-rules')
    await page.getByLabel('Name').fill('many fail')
    await page.getByLabel('Alert at or above').fill('5')
    await page.getByLabel('One alert for each rollout').check()
    await page.getByLabel('Only on devices').fill('site=munich')
    await page.getByRole('button', { name: 'Create rule' }).click()
    await page
      .getByText('Alert when 5 or more failed, for 1 min, for each rollout, of selected deployments · not firing')
      .waitFor()
    await ask(`mutation { saveAlertRule(input: {
      name: "rate", metric: SUCCESS_RATE, threshold: 90, resolveThreshold: 95, minimum: 7
      selector: { applications: ["web"], labels: [{ key: "a", value: "b" }] }
    }) { __typename } }`)
    await page.reload()
    await page.getByRole('button', { name: 'Edit rate' }).click()
    await page.getByLabel('Alert below').fill('80')
    await page.getByRole('button', { name: 'Save rule' }).click()
    await page.getByText('Alert when the success rate is below 80 %').waitFor()
    await page.getByRole('button', { name: 'Disable rate' }).click()
    await page.getByRole('button', { name: 'Enable rate' }).waitFor()
    const { alertRules } = await ask(
      '{ alertRules { name threshold resolveThreshold minimum enabled selector perRollout } }',
    )
    expect(alertRules).toEqual([
      expect.objectContaining({
        ...{ name: 'many fail', threshold: 5, perRollout: true, enabled: true },
        selector: { labels: [{ key: 'site', value: 'munich' }] },
      }),
      expect.objectContaining({
        ...{ name: 'rate', threshold: 80, resolveThreshold: 95, minimum: 7, enabled: false },
        selector: { applications: ['web'], labels: [{ key: 'a', value: 'b' }] },
      }),
    ])
    await page.getByRole('button', { name: 'Delete rate' }).click()
    await page.getByRole('button', { name: 'Delete the rule rate' }).click()
    await page.getByText('Success rate').first().waitFor({ state: 'hidden' })
    await page.getByLabel('Name').fill('late')
    await page.getByLabel('Deployments that are').selectOption('Unfinished, by delay')
    await page.getByLabel('Deadline').fill('2040-05-01T06:30:15')
    await page.getByLabel('Alert at or above').fill('600')
    await page.getByRole('button', { name: 'Create rule' }).click()
    await page.getByText(/Alert when the forecast end is 10 min or more after .*2040.*, for each rollout/).waitFor()
    await page.getByRole('button', { name: 'Edit late' }).click()
    await expectShown(inputOf(page.getByLabel('Deadline'))).toBe('2040-05-01T06:30:15')
    await page.getByRole('button', { name: 'Save rule' }).click()
    const late = (await ask('{ alertRules { name deadline perRollout } }')).alertRules[0]
    expect(late).toMatchObject({ name: 'late', perRollout: true, deadline: expect.stringMatching(/:30:15/) })
    expect(complaints.slice(news)).toEqual([])
  })

  it('issues API keys, shows each once, and offers each role what it may do', async () => {
    const { page } = await signIn(adminKey, 'setup/api-keys')
    const issue = async (name: string, role: string): Promise<string> => {
      await page.getByLabel('Owner').fill(name)
      if (role !== 'Viewer') {
        await page.getByRole('checkbox', { name: 'Viewer' }).uncheck()
        await page.getByRole('checkbox', { name: role }).check()
      }
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('heading', { name: `The key of ${name}` }).waitFor()
      return shown(page, 'It is not shown again')
    }
    const viewer = await issue('reader', 'Viewer')
    expect(JSON.parse(await run(await shown(page, 'A query with it')))).toHaveProperty('data.deploymentCounts.total')
    const operator = await issue('worker', 'Operator')

    const reading = await signIn(viewer, 'setup/notifications')
    const refusal = reading.page.getByText('This part requires the role operator for the whole fleet.')
    await expectNone(reading.page.getByRole('link', { name: 'Set-up' }), refusal)
    await expectNone(reading.page.getByRole('form'), refusal)
    expect(await ask('mutation { testSink(input: { id: "x" }) { __typename } }', viewer)).toEqual({
      testSink: { __typename: 'Forbidden' },
    })
    const working = await signIn(operator, '')
    await working.page.getByRole('link', { name: 'Set-up' }).click()
    const parts = working.page
    await expectNone(parts.getByRole('link', { name: 'API keys' }), parts.getByRole('link', { name: 'Alert rules' }))
    await working.page.goto(`${server.url}/setup/api-keys`)
    await working.page.getByText('This part requires the role admin for the whole fleet.').waitFor()

    await page.reload()
    await expectNone(page.getByText(viewer), page.getByText('reader', { exact: true }))
    await page.getByRole('listitem').filter({ hasText: 'reader' }).getByRole('button', { name: 'Revoke…' }).click()
    await page.getByRole('button', { name: 'Revoke the key of reader' }).click()
    await page.getByText(/· revoked/).waitFor()
    await reading.page.getByLabel('API key or token').waitFor()
  })

  it.runIf(isWhole)('shows commands that work on an empty server', async () => {
    const empty = await startApp()
    onTestFinished(() => empty.stop())
    const { page, complaints, close } = await openPage(await sharedBrowser(), `${empty.url}/rollouts`)
    onTestFinished(close)
    expect(JSON.parse(await run(await shown(page, 'Declare')))).toEqual({
      data: { declareDeployments: { __typename: 'DeclareDeploymentsSuccess' } },
    })
    await page.getByRole('link', { name: 'hello' }).waitFor()
    const other = await startApp()
    onTestFinished(() => other.stop())
    await page.goto(other.url)
    // A watch does not end; `counts` takes the same options.
    const watch = await shown(page, 'Follow changes')
    expect(watch).toMatch(/^npm run --silent rollcall -- watch /)
    expect(await shown(page, 'Or simulate')).toMatch(/^npm run simulate -- --url /)
    expect(await run(watch.replace(' watch ', ' counts '), resolve('.'))).toBe('0 deployments\n')
    expect(JSON.parse(await run(await shown(page, 'Report')))).toMatchObject({ verdict: 'APPLIED' })
    await page.getByText('of 1 deployment installed').waitFor()
    expect(complaints).toEqual([])
  })
})
