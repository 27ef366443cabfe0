/** While the answer to another question is under way, the page says so, and shows no words of the last answer as if they were of this one. */
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findChromium, openPage, sharedBrowser } from '../../support/clients/browser.ts'
import {
  attributeOf,
  countOf,
  doInPage,
  expectNone,
  expectShown,
  inputOf,
  textOf,
  titleOf,
} from '../../support/clients/shown.ts'
import { casesOf, isWhole } from '../../support/runner/depth.ts'
import { holdAnswers, minute, send, slideTo, useDashboard } from '../harness.ts'

describe.runIf(findChromium())('the dashboard between two answers', () => {
  const { server, visit } = useDashboard()

  beforeAll(async () => {
    await send(server().url, 'oven-1', 'bread', 'installed')
    await server().query(
      `mutation { declareDeployments(input: { rollout: { name: "bakery" }, deployments: [{ deviceId: "oven-1", deploymentId: "bread" }] }) {
        __typename } }`,
    )
  })

  it('says that the state of a time is loading, not that it is shown, while the last one is on the page', async () => {
    const { page } = await visit('')
    const notice = page.locator('.notice.past')
    await page.getByRole('heading', { level: 1, name: 'installed' }).waitFor()
    await slideTo(page, Date.now() - 5 * minute)
    await notice.getByText('Showing the state at').waitFor()
    const release = await holdAnswers(page, /query Overview\b/)
    await slideTo(page, Date.now() - 2 * minute)
    await notice.getByText('Loading the state at').waitFor()
    await expectShown(attributeOf(page.locator('main'), 'class')).toBe('outdated')
    await release()
    await notice.getByText('Showing the state at').waitFor()
    await expectShown(attributeOf(page.locator('main'), 'class')).toBe('')
    // The present is not shown as live either before it is there.
    const releaseNow = await holdAnswers(page, /query Overview\b/)
    await page.getByRole('button', { name: 'Back to now' }).click()
    await page.locator('main.outdated').waitFor()
    await releaseNow()
    await page.locator('main.outdated').waitFor({ state: 'detached' })
  })

  it.runIf(isWhole)('shows no release, and no number of deployments, of another time', async () => {
    const { page } = await visit('')
    const latest = page.getByRole('region', { name: 'What changed last' })
    const release = latest.getByRole('listitem').filter({ hasText: 'Release' })
    await release.getByText('none').waitFor()
    await send(server().url, 'oven-1', 'cake', 'failed', { code: '507', message: 'disk full' })
    const one = await visit('deployment/edge-2/other')
    await one.page.getByRole('link', { name: '1 other like it' }).waitFor()
    await holdAnswers(page, /query Revised\b/)
    await holdAnswers(one.page, /query CountAlike\b/)
    await slideTo(page, Date.now() - 5 * minute)
    await slideTo(one.page, Date.now() - 5 * minute)
    await release.getByText('…').waitFor()
    await expectNone(one.page.getByText('like it'), one.page.getByText('Showing the state at'))
  })

  it.each(
    casesOf(1, [
      ['devices', 'Devices', 'device'],
      ['rollouts', 'Rollouts', 'rollout'],
    ]),
  )('counts no %s of the last filter under the next one', async (path, operation, word) => {
    const { page } = await visit(`${path}?text=nothing-like-it`)
    const status = page.getByRole('main').getByRole('status')
    await status.getByText(`0 ${word}s`).waitFor()
    await page.getByText(`No ${path} match these filters.`).waitFor()
    const release = await holdAnswers(page, new RegExp(`query ${operation}\\b`))
    await page.getByRole('searchbox').first().fill('')
    await page.waitForURL((url) => !url.searchParams.get('text'))
    // Nothing says that there are none, or how to add the first.
    await expectNone(page.locator('main .empty'), status.getByText('Loading…'))
    await expectShown(countOf(page.getByRole('main').getByRole('heading'))).toBe(1)
    await release()
    await status.getByText(new RegExp(`^[1-9] ${word}`)).waitFor()
  })

  it('shows no refusal of the last question under the next one', async () => {
    const { page } = await visit('devices')
    await page.getByText('3 devices').waitFor()
    await page.route('**/graphql', (route) =>
      /query Devices\b.*retired/s.test(route.request().postData() ?? '')
        ? route.fulfill({ json: { errors: [{ message: 'too much', extensions: { code: 'BAD_USER_INPUT' } }] } })
        : route.fallback(),
    )
    await page.getByRole('button', { name: 'Retired' }).click()
    await page.getByText('too much').waitFor()
    const release = await holdAnswers(page, /query Devices\b/)
    await page.getByRole('button', { name: 'Retired' }).click()
    await expectNone(page.getByText('too much'), page.getByRole('main').getByText('Loading…'))
    await release()
    await page.getByText('3 devices').waitFor()
  })

  it.each(
    casesOf(1, [
      ['deployment/oven-1/bread', 'had no deployment'],
      ['device/oven-1', 'does not exist'],
    ]),
  )('says of no other time that %s is not there', async (path, words) => {
    const { page } = await visit(`${path}?at=${new Date(Date.now() - 9 * minute).toISOString()}`)
    await page.getByText(words).waitFor()
    const release = await holdAnswers(page, /query (Deployment|Device)\b/)
    await page.getByRole('button', { name: 'Back to now' }).click()
    await page.getByText(words).waitFor({ state: 'detached' })
    await expectNone(page.getByText(/has no deployment|not registered/), page.getByRole('heading', { level: 1 }))
    await release()
    await page.getByRole('heading', { level: 1, name: 'oven-1' }).waitFor()
  })

  it('has in a field the text that filters the list, also after the Back button', async () => {
    const { page } = await visit('devices?text=edge-2')
    const field = page.getByRole('searchbox').first()
    await page.getByRole('navigation').getByRole('link', { name: 'Devices' }).click()
    await expectShown(inputOf(field)).toBe('')
    await field.fill('edge-1')
    await page.waitForURL((url) => url.searchParams.get('text') === 'edge-1')
    await page.goBack()
    await page.waitForURL((url) => url.searchParams.get('text') === 'edge-2')
    await expectShown(inputOf(field)).toBe('edge-2')
  })

  it.runIf(isWhole)('counts in the title of a hidden tab, too, which draws no frames', async () => {
    const { page } = await visit('rollouts')
    await expectShown(titleOf(page)).toMatch(/^\(\d\) Rollouts/)
    await doInPage(page, () => {
      Object.defineProperty(document, 'hidden', { get: () => true })
      globalThis.requestAnimationFrame = () => 1
    })
    const before = Number((await titleOf(page).take()).match(/\d/)?.[0])
    await send(server().url, 'oven-1', 'rolls', 'failed', { code: 'R', message: 'burnt' })
    await expectShown(titleOf(page)).toBe(`(${before + 1}) Rollouts · Rollcall`)
  })

  it.each(casesOf(1, [-5, 5]))(
    'shows ages and times of the server where the clock of the browser is %i minutes off',
    async (off) => {
      const { page, close } = await openPage(await sharedBrowser(), 'about:blank')
      onTestFinished(close)
      await page.clock.install({ time: Date.now() + off * minute })
      // The deployment has failed ten minutes ago.
      await page.goto(`${server().url}/deployment/edge-2/other`)
      await page
        .locator('.standing')
        .getByText(/^Failed for 1[01] min/)
        .waitFor()
      await page.goto(`${server().url}/devices?at=${new Date(Date.now() - minute).toISOString()}`)
      await page.locator('.notice.past').getByText('(1 min ago)').waitFor()
      await expectShown(textOf(page.locator('.time-now'))).not.toBe('Now')
    },
  )

  it.runIf(isWhole)('follows the changes after its answer, not those since an earlier one about the past', async () => {
    const { page } = await visit(`?at=${new Date(Date.now() - 5 * minute).toISOString()}`)
    await page.locator('.notice.past').getByText('Showing the state at').waitFor()
    // The query is repeated once it is known that there are no labels.
    await page.waitForLoadState('networkidle')
    const revisions: string[] = []
    page.on('response', async (response) => {
      if (!/query Overview\b/.test(response.request().postData() ?? '')) return
      revisions.push((await response.json()).data.revision)
    })
    const followed: (string | null)[] = []
    await page.exposeFunction('noteFollowed', (sent: string) => {
      const { type, payload } = JSON.parse(sent)
      // The alerts of the frame are followed, too.
      if (type === 'subscribe' && /subscription Changes\b/.test(payload.query) && !payload.variables.filter.kinds)
        followed.push(payload.variables.after)
    })
    await doInPage(page, () => {
      const { send } = WebSocket.prototype
      WebSocket.prototype.send = function (sent) {
        ;(globalThis as unknown as { noteFollowed(sent: unknown): void }).noteFollowed(sent)
        send.call(this, sent)
      }
    })
    await send(server().url, 'oven-1', 'bread', 'installing')
    await page.getByRole('button', { name: 'Back to now' }).click()
    await expect.poll(() => followed.length).toBeGreaterThan(0)
    await expect.poll(() => revisions).toContain(followed[0])
  })
})
