/** What people look for at 3 a.m.: what fails, why, where and since when, and the way to the deployments. */
import { describe, expect, it } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import {
  attributeOf,
  doInPage,
  expectShown,
  expectStill,
  inElement,
  inElements,
  inPage,
  readStill,
  textOf,
  textsOf,
  titleOf,
} from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { holdAnswers, send, useDashboard } from '../harness.ts'

describe.runIf(findChromium())('failures on the dashboard', () => {
  const { server, visit } = useDashboard()

  it('are grouped by cause, with their number, time and places, and lead to the deployments', async () => {
    const devices = ['oven-1', 'oven-2', 'oven-3', 'oven-4', 'oven-5']
    await server().query(
      `mutation ($devices: [DeviceInput!]!, $deployments: [DeploymentDeclaration!]!) {
        registerDevices(input: { devices: $devices }) { __typename }
        declareDeployments(input: { rollout: { name: "ovens" }, deployments: $deployments }) { __typename }
      }`,
      {
        devices: devices.map((deviceId, index) => ({
          deviceId,
          labels: [{ key: 'site', value: index < 3 ? 'porto' : 'lyon' }],
        })),
        deployments: devices.map((deviceId, index) => ({
          deviceId,
          deploymentId: `vision-${index}`,
          application: 'vision-inspect',
          applicationVersion: '1.0',
        })),
      },
    )
    for (const [index, deviceId] of devices.entries())
      for (const state of ['installing', 'failed', 'installing', 'failed', 'installing', 'failed'])
        await send(server().url, deviceId, `vision-${index}`, state, {
          code: 'PULL',
          message: `image ${index} was not found`,
        })

    const { page, complaints } = await visit('')
    const causes = page.getByRole('region', { name: 'Failures by cause' })
    const cause = causes.getByRole('listitem').filter({ hasText: 'PULL' })
    await cause.getByText('5 deployments').waitFor()
    await cause.getByText('image # was not found').waitFor()
    await cause.getByRole('list', { name: 'This cause, by site' }).getByText('lyon').waitFor()
    await expectShown(textOf(cause.getByRole('list', { name: 'This cause, by site' }))).toBe('porto 3lyon 2')
    await expectShown(textOf(causes.getByRole('listitem').filter({ hasText: 'disk full' }))).toMatch(
      /1 deployment.*for/,
    )
    // The tab counts all failures of the fleet.
    await expectShown(titleOf(page)).toBe('(6) Overview · Rollcall')
    await expectShown(attributeOf(page.locator('link[rel="icon"]'), 'href')).toContain(encodeURIComponent('>6<'))

    const latest = page.getByRole('region', { name: 'What changed last' })
    await latest.waitFor()
    // The other facts of the list may still be on their way.
    await expectShown(textsOf(latest.getByRole('listitem'))).toEqual([
      expect.stringMatching(/^Declaration.*ovens\s*$/),
      expect.stringMatching(/^Release.*ovens.*vision-inspect 1\.0$/),
    ])
    // In a large log these changes are too rare to be found: the rest is shown without them.
    const refused = { errors: [{ message: 'too many changes', extensions: { code: 'BAD_USER_INPUT' } }], data: null }
    await page.route('**/graphql', (route) =>
      /query (LatestAction|Revised)\b/.test(route.request().postData() ?? '')
        ? route.fulfill({ json: refused })
        : route.fallback(),
    )
    await page.reload()
    await cause.getByText('5 deployments').waitFor()
    await latest.getByText('not known').waitFor()
    await latest
      .getByRole('listitem')
      .filter({ hasText: /^Declaration.*ovens/ })
      .waitFor()
    await page.unroute('**/graphql')

    const heights = inElements(page.locator('.facts a'), (cards) => cards.map(({ clientHeight }) => clientHeight))
    await expectStill(heights).toSatisfy((all: number[]) => new Set(all).size === 1)

    await cause.getByRole('link', { name: 'lyon' }).click()
    await page.getByText('2 deployments', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'site: lyon ✕' }).click()
    await page.getByText('5 deployments', { exact: true }).waitFor()
    await page
      .getByRole('row', { name: /oven-2/ })
      .getByRole('link')
      .first()
      .click()

    await page.getByRole('heading', { name: 'vision-inspect 1.0 on oven-2' }).waitFor()
    await expectShown(titleOf(page)).toBe('(6) vision-inspect 1.0 on oven-2 · Rollcall')
    await page.getByText(/^Failed for \d+ s, attempt 3, 4 others like it/).waitFor()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const copied = inPage(page, () => navigator.clipboard.readText())
    await page.getByRole('button', { name: 'Copy IDs' }).click()
    await expectShown(copied).toMatch(
      /^deployment vision-1\nreporter oven-2\nruns on oven-2\nrollout ovens\nrevision \d+$/,
    )
    await page.getByRole('button', { name: 'Copy link to this moment' }).click()
    await expectShown(copied).toMatch(/\/deployment\/oven-2\/vision-1\?at=20/)
    await page.goto(await copied.take())
    await page.getByText('Showing the state at').waitFor()
    await page.getByRole('heading', { name: 'vision-inspect 1.0 on oven-2' }).waitFor()
    await page.getByRole('link', { name: '4 others like it' }).waitFor()
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('have all their places on a phone, too: those that do not fit are on another line', async () => {
    const sites = ['porto', 'lyon', 'gdansk', 'hamburg', 'munich'].map((site) => `${site}-the-northern-hall`)
    await server().query(
      'mutation ($devices: [DeviceInput!]!) { registerDevices(input: { devices: $devices }) { __typename } }',
      { devices: sites.map((value) => ({ deviceId: `mill-${value}`, labels: [{ key: 'site', value }] })) },
    )
    for (const site of sites)
      await send(server().url, `mill-${site}`, `grind-${site}`, 'failed', { code: 'JAM', message: 'the mill is stuck' })
    const { page } = await visit('')
    await page.setViewportSize({ width: 390, height: 844 })
    const cause = page
      .getByRole('region', { name: 'Failures by cause' })
      .getByRole('listitem')
      .filter({ hasText: 'JAM' })
    const list = cause.getByRole('list', { name: 'This cause, by site' })
    await list.getByText('and 1 more').waitFor()
    const edges = inElement(list, (element) =>
      [element, ...element.querySelectorAll('li')].map((each) => each.getBoundingClientRect().right),
    )
    const [edge = 0, ...ends] = await readStill(edges)
    expect(ends.length).toBeGreaterThan(3)
    expect(ends.filter((end) => end > edge + 1)).toEqual([])
  })

  it('have places that add up to the number beside them in every frame, while the causes change their order', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `pier-${index}`)
    const { registerDevices, declareDeployments } = await server().query(
      `mutation ($devices: [DeviceInput!]!, $deployments: [DeploymentDeclaration!]!) {
        registerDevices(input: { devices: $devices }) { __typename }
        declareDeployments(input: { rollout: { name: "piers" }, deployments: $deployments }) {
          __typename ... on DeclareDeploymentsSuccess { rollout { id } }
        }
      }`,
      {
        devices: names.map((deviceId, index) => ({
          deviceId,
          labels: [
            { key: 'coast', value: ['oslo', 'riga', 'turku'][index % 3] },
            { key: 'depth', value: index < 6 ? 'deep' : 'flat' },
          ],
        })),
        deployments: names.map((deviceId, index) => ({ deviceId, deploymentId: `dock-${index}` })),
      },
    )
    expect(registerDevices.__typename).not.toMatch(/Error/)
    const fail = (index: number, code: string) =>
      send(server().url, names[index] ?? '', `dock-${index}`, 'failed', { code, message: code })
    for (const index of names.keys()) await fail(index, index < 7 ? 'TIDE' : 'STORM')

    const pages = [await visit('?by=coast'), await visit(`#/rollout/${declareDeployments.rollout.id}?by=coast`)]
    for (const { page } of pages) {
      await page.getByRole('list', { name: 'This cause, by coast' }).getByText('oslo').first().waitFor()
      await doInPage(page, () => {
        const wrong: string[] = []
        const seen = new Set<string>()
        const look = (): void => {
          for (const list of document.querySelectorAll('.causes .sites')) {
            const sites = [...list.querySelectorAll('b')].map(({ textContent }) => Number(textContent))
            const told = Number.parseInt(list.parentElement?.querySelector('.marks')?.textContent ?? '', 10)
            const sum = sites.reduce((total, one) => total + one, 0)
            seen.add(`${list.ariaLabel} ${told} ${list.textContent}`)
            if (sites.length > 0 && sum !== told) wrong.push(`${sum} at the places of ${told}`)
          }
          requestAnimationFrame(look)
        }
        requestAnimationFrame(look)
        Object.assign(globalThis, { wrong, seen })
      })
    }
    for (let round = 1; round <= 8; round += 1) {
      const codeOf = (index: number): string => ((index * 7 + round * 5) % 12 < 3 + (round % 3) * 3 ? 'STORM' : 'TIDE')
      for (const index of names.keys()) await fail(index, codeOf(index))
    }
    for (const { page, complaints } of pages) {
      // The same state: round 8.
      const { deploymentGroups } = await server().query(
        '{ deploymentGroups(by: ERROR, filter: { states: [FAILED] }) { nodes { key counts { total } } } }',
      )
      for (const code of ['TIDE', 'STORM']) {
        const { counts } = deploymentGroups.nodes.find(({ key }: { key: string }) => key === code)
        const cause = page.locator('.causes > li').filter({ hasText: code })
        await cause.getByText(`${counts.total} deployments`).waitFor()
      }
      const recorded = inPage(page, () => {
        const found = globalThis as unknown as { wrong: string[]; seen: Set<string> }
        return { wrong: found.wrong, seen: found.seen.size }
      })
      const { wrong, seen } = await readStill(recorded)
      expect(wrong).toEqual([])
      expect(seen).toBeGreaterThan(2)
      expect(complaints).toEqual([])
    }
  })

  it.runIf(isWhole)('have no places of one label under the name of another', async () => {
    const { page } = await visit('?by=coast')
    const causes = page.getByRole('region', { name: 'Failures by cause' })
    await causes.getByRole('list', { name: 'Failed, by coast' }).getByText('oslo').waitFor()
    const release = await holdAnswers(page, /query Overview\b/)
    await causes.getByRole('combobox').selectOption('depth')
    const failed = causes.getByRole('list', { name: 'Failed, by depth' })
    await failed.waitFor({ state: 'attached' })
    await expectShown(textOf(failed)).toBe('')
    // The rest of the page is not out of date.
    await expectShown(attributeOf(page.locator('main'), 'class')).toBe('')
    await release()
    await failed.getByText('deep').waitFor()
    await causes.getByRole('list', { name: 'This cause, by depth' }).getByText('deep').first().waitFor()
  })

  it.runIf(isWhole)(
    'show the last release of a rollout, and not that of one which a deployment has joined',
    async () => {
      const declare = (rollout: string, deploymentId: string, applicationVersion: string) =>
        server().query(
          `mutation ($rollout: String!, $deployments: [DeploymentDeclaration!]!) {
          declareDeployments(input: { rollout: { name: $rollout }, deployments: $deployments }) { __typename }
        }`,
          { rollout, deployments: [{ deviceId: 'lathe-1', deploymentId, application: 'cut', applicationVersion }] },
        )
      await declare('lathes', 'cut-1', '1.0')
      await declare('lathes', 'cut-2', '1.0')
      await declare('mills', 'cut-2', '2.0')
      const ids = await server().query(
        '{ lathes: rollout(key: { name: "lathes" }) { id } mills: rollout(key: { name: "mills" }) { id } }',
      )
      for (const [rollout, release] of Object.entries({ lathes: 'cut 1.0', mills: 'cut 1.0 → 2.0' })) {
        const { page } = await visit(`#/rollout/${ids[rollout].id}`)
        const line = page.getByRole('region', { name: 'What changed last' }).getByRole('listitem').nth(1)
        await expectShown(textOf(line)).toMatch(new RegExp(`^Release.*${release}$`))
      }
    },
  )

  it.runIf(isWhole)(
    'show a release that many revisions without one have followed, and say how far back they looked',
    async () => {
      const declare = (rollout: string) =>
        server().query(
          `mutation ($rollout: String!, $deployments: [DeploymentDeclaration!]!) {
          declareDeployments(input: { rollout: { name: $rollout }, deployments: $deployments }) {
            __typename ... on UserError { message }
          }
        }`,
          {
            rollout,
            deployments: Array.from({ length: 105 }, (_, index) => ({
              deviceId: `loom-${index}`,
              deploymentId: `weave-${index}`,
              application: 'weave',
              applicationVersion: '1.0',
            })),
          },
        )
      await declare('looms')
      // To join another rollout is a revision.
      await declare('looms of the east')
      const { page } = await visit('')
      const line = page.getByRole('region', { name: 'What changed last' }).getByRole('listitem').nth(1)
      await expectShown(textOf(line)).toMatch(/^Release.*looms.*weave 1\.0$/)
      for (const rollout of ['looms', 'looms of the east', 'looms', 'looms of the east']) await declare(rollout)
      await page.reload()
      await line.getByText('none in the last 500 revisions').waitFor()
    },
  )
})
