/** The lists of rollouts and devices, and the page of a device, at a past time: they show what the API answers at that revision. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { findChromium } from '../../support/clients/browser.ts'
import { declare, documentOf } from '../../support/clients/desired.ts'
import {
  countOf,
  expectNone,
  expectShown,
  inElements,
  isDisabled,
  type Look,
  textsOf,
  urlOf,
} from '../../support/clients/shown.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { minute, send, slideTo, useDashboard } from '../harness.ts'

const states = ['installed', 'installing', 'failed', 'pending', 'removing', 'removed'] as const
type Counts = Readonly<Record<(typeof states)[number], number>>

const counts = `deploymentCounts { total ${states.join(' ')} }`
const answer = `query ($at: Revision) {
  rollouts(filter: { kinds: [DECLARED] }, atRevision: $at) { nodes { name ${counts} } }
  devices(atRevision: $at) { nodes { deviceId connectivity ${counts} } }
}`

/** As a bar says it: what is removed is not counted, unless there is nothing else. */
function wordsOf(name: string, of: Counts): string {
  const inside = states.filter((state) => state !== 'removing' && state !== 'removed' && of[state] > 0)
  const shown = inside.length > 0 ? inside : states.filter((state) => of[state] > 0)
  return `${name}: ${shown.map((state) => `${of[state]} ${state}`).join(', ') || 'none'}`
}

const sorted = (list: readonly string[]): string[] => list.toSorted()

const bars = (page: Page, within: string): Look<string[]> =>
  inElements(page.locator(`main ${within} .bar`), (all) =>
    all.map((bar) => (bar.ariaLabel ?? '').replace('Deployments of ', '')).toSorted(),
  )

describe.runIf(findChromium())('lists of the past', () => {
  const { server, database, visit } = useDashboard()
  let then: { readonly revision: string; readonly time: string }

  const declareIn = (name: string, deviceId: string) =>
    server().query(
      `mutation ($name: String!, $deployments: [DeploymentDeclaration!]!) {
        declareDeployments(input: { rollout: { name: $name }, deployments: $deployments }) { __typename } }`,
      { name, deployments: [{ deviceId, deploymentId: name }] },
    )

  beforeAll(async () => {
    await declareIn('pumps', 'edge-3')
    await declareIn('pumps', 'edge-4')
    await send(server().url, 'edge-3', 'pumps', 'installing')
    const { history } = await server().query('{ history { newestRevision newestTime } }')
    then = { revision: history.newestRevision, time: history.newestTime }
    await vi.waitUntil(() => Date.now() > Date.parse(then.time))
    await send(server().url, 'edge-3', 'pumps', 'failed', { code: '507', message: 'disk full' })
    await declareIn('valves', 'edge-5')
    await declare(
      server(),
      [{ deviceId: 'edge-3', deploymentId: 'later', document: documentOf('later', '1') }],
      'later',
    )
  })

  const expected = async (at: string | null) => {
    const { rollouts, devices } = await server().query(answer, { at })
    return {
      rollouts: sorted(
        rollouts.nodes.map((row: { name: string; deploymentCounts: Counts }) =>
          wordsOf(row.name, row.deploymentCounts),
        ),
      ),
      devices: sorted(
        devices.nodes.map((row: { deviceId: string; deploymentCounts: Counts }) =>
          wordsOf(row.deviceId, row.deploymentCounts),
        ),
      ),
    }
  }

  it('show the rollouts of then, and their pages, and go back to now', async () => {
    const past = await expected(then.revision)
    expect(past.rollouts).toEqual(['pumps: 1 installing, 1 pending'])
    const { page, complaints } = await visit(`rollouts?at=${then.time}`)
    await page.getByText('Showing the state at').waitFor()
    await expectShown(bars(page, '.rollouts')).toEqual(past.rollouts)
    await page.getByText('1 rollout and those undeclared').waitFor()
    await page.getByRole('link', { name: 'and those undeclared' }).click()
    await expectShown(bars(page, '.rollouts')).toEqual(['hello: 1 installed', 'other: 1 failed'])
    await page.goBack()
    await page.getByRole('link', { name: 'pumps' }).click()
    await page.getByRole('heading', { name: /^pumps/ }).waitFor()
    await expectShown(bars(page, '.hero')).toEqual(['Deployments by state: 1 installing, 1 pending'])
    await page.getByRole('button', { name: 'Back to now' }).click()
    await expectShown(bars(page, '.hero')).toEqual(['Deployments by state: 1 failed, 1 pending'])
    await page.getByRole('link', { name: 'Rollouts' }).first().click()
    await expectShown(bars(page, '.rollouts')).toEqual((await expected(null)).rollouts)
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('show the devices of then, and their pages', async () => {
    const past = await expected(then.revision)
    const { page, complaints } = await visit(`devices?at=${then.time}`)
    await page.getByText('Showing the state at').waitFor()
    await expectShown(bars(page, '.devices')).toEqual(past.devices)
    expect(past.devices).toHaveLength(4)
    // What the past does not have is not shown as of now, and nothing is changed there.
    await expectShown(countOf(page.getByText('not recorded'))).toBe(past.devices.length)
    for (const absent of [page.getByLabel('Heard'), page.getByRole('checkbox')])
      await expectNone(absent, page.getByText('not recorded'))
    await page.getByRole('link', { name: 'edge-3' }).click()
    await page.getByRole('heading', { name: 'edge-3' }).waitFor()
    await expectShown(bars(page, '.hero')).toEqual(['Deployments by state: 1 installing'])
    const { changes } = await server().query(
      'query ($before: Revision) { changes(filter: { deviceIds: ["edge-3"] }, before: $before, last: 20) { nodes { revision } } }',
      { before: String(Number(then.revision) + 1) },
    )
    await expectShown(countOf(page.locator('.changes li'))).toBe(changes.nodes.length)
    await expectNone(page.locator('.manifests'), page.locator('.changes li'))
    await page.getByRole('button', { name: 'Back to now' }).click()
    await page.locator('.manifests').waitFor()
    await expectShown(bars(page, '.hero')).toEqual(['Deployments by state: 1 failed, 1 pending'])
    await page.goto(`${server().url}/device/edge-5?at=${then.time}`)
    await page.getByText('This device does not exist at this time.').waitFor()
    expect(complaints).toEqual([])
  })

  it('follow the slider', async () => {
    const { page } = await visit('devices')
    await expectShown(bars(page, '.devices')).toEqual((await expected(null)).devices)
    await slideTo(page, Date.now() - 5 * minute)
    await expectShown(bars(page, '.devices')).toEqual(['edge-1: 1 installing', 'edge-2: 1 failed'])
    await page.getByRole('link', { name: 'Rollouts' }).first().click()
    await page.getByRole('heading', { name: 'Applications' }).waitFor()
    await page.getByRole('button', { name: 'Back to now' }).click()
    await expectShown(bars(page, '.rollouts')).toEqual((await expected(null)).rollouts)
  })

  it.runIf(isWhole)('lead to rollouts from groups and declarations of the past', async () => {
    const { page } = await visit(`?at=${then.time}`)
    await page.locator('.rollouts').getByRole('link', { name: 'pumps' }).click()
    await expectShown(bars(page, '.hero')).toEqual(['Deployments by state: 1 installing, 1 pending'])
    await page.goBack()
    await page.getByRole('region', { name: 'What changed last' }).getByRole('link', { name: 'pumps' }).click()
    await expectShown(bars(page, '.hero')).toEqual(['Deployments by state: 1 installing, 1 pending'])
  })

  it.runIf(isWhole)('lead to the rollout from the page of a deployment, then and back at present', async () => {
    const { page } = await visit(`deployment/edge-3/pumps?at=${then.time}`)
    await page.locator('.crumbs').getByRole('link', { name: 'pumps' }).click()
    await expectShown(bars(page, '.hero')).toEqual(['Deployments by state: 1 installing, 1 pending'])
    await page.getByRole('button', { name: 'Back to now' }).click()
    await expectShown(bars(page, '.hero')).toEqual(['Deployments by state: 1 failed, 1 pending'])
  })

  it.runIf(isWhole)('are shown at their time by older links, whose ID of a rollout has a revision', async () => {
    const { rollout } = await server().query(
      'query ($at: Revision) { rollout(key: { name: "pumps" }, atRevision: $at) { id presentId } }',
      { at: then.revision },
    )
    const { page, complaints } = await visit(`rollout/${rollout.id}?state=FAILED`)
    await page.getByText('Showing the state at').waitFor()
    await page.getByText('Past', { exact: true }).waitFor()
    await expectShown(bars(page, '.hero')).toEqual(['Deployments by state: 1 installing, 1 pending'])
    const at = new URLSearchParams({ at: then.time })
    await expectShown(urlOf(page)).toBe(`${server().url}/rollout/${rollout.presentId}?state=FAILED&${at}`)
    await page.getByRole('button', { name: 'Back to now' }).click()
    await expectShown(bars(page, '.hero')).toEqual(['Deployments by state: 1 failed, 1 pending'])
    // A time in the address is the one that was chosen.
    const later = new Date().toISOString()
    await page.goto(`${server().url}/rollout/${rollout.id}?at=${later}`)
    await expectShown(bars(page, '.hero')).toEqual(['Deployments by state: 1 failed, 1 pending'])
    await expectShown(urlOf(page)).toBe(
      `${server().url}/rollout/${rollout.presentId}?${new URLSearchParams({ at: later })}`,
    )
    expect(complaints.filter((text) => !text.includes('400'))).toEqual([])
  })

  it.runIf(isWhole)('have the labels of rollouts of then, which operators edit at present', async () => {
    const { page, complaints } = await visit('rollouts')
    const labels = page.locator('main .label')
    await page.getByRole('link', { name: 'pumps' }).click()
    await page.getByRole('button', { name: 'Add labels' }).click()
    await page.getByLabel('Labels', { exact: true }).fill('team=packaging, ring=canary')
    await page.getByRole('button', { name: 'Save labels' }).click()
    await expectShown(textsOf(labels)).toEqual(['ring: canary', 'team: packaging'])
    // What has changed since the form was opened is not overwritten.
    await page.getByRole('button', { name: 'Edit labels' }).click()
    const { rollout } = await server().query('{ rollout(key: { name: "pumps" }) { id } }')
    await server().query(
      `mutation ($id: ID!) { setRolloutLabels(input: { rolloutId: $id, labels: [{ key: "team", value: "b, c" }] }) { __typename } }`,
      { id: rollout.id },
    )
    await page.getByRole('button', { name: 'Save labels' }).click()
    await page.getByRole('alert').getByText('read them again').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await expectShown(textsOf(labels)).toEqual(['team: b, c'])
    // The form separates labels by commas, so it would change this one.
    await expectShown(isDisabled(page.getByRole('button', { name: 'Edit labels' }))).toBe(true)
    await page.getByRole('link', { name: 'team: b, c' }).click()
    await expectShown(bars(page, '.rollouts')).toEqual(['pumps: 1 failed, 1 pending'])
    await page.getByLabel('Label: team=packaging').fill('team=others')
    await page.getByText('No rollouts match these filters.').waitFor()
    await page.goto(`${server().url}/rollout/${rollout.id}?at=${then.time}`)
    await expectShown(bars(page, '.hero')).toEqual(['Deployments by state: 1 installing, 1 pending'])
    for (const absent of [labels, page.getByRole('button', { name: /labels/ })])
      await expectNone(absent, page.locator('.hero .bar'))
    await page.goto(`${server().url}/feed`)
    await page.getByText('labels: team=b, c').waitFor()
    expect(complaints).toEqual([])
  })

  it.runIf(isWhole)('say that they have expired to an older link, and lead to what it is about now', async () => {
    const ask = (name: string) =>
      server().query(
        'query ($name: String!, $at: Revision) { rollout(key: { name: $name }, atRevision: $at) { id presentId } }',
        {
          name,
          at: then.revision,
        },
      )
    const { rollout } = await ask('pumps')
    const { page } = await visit('rollouts')
    await database().session.run('update log_head set tail = revision')
    const to = async (address: string) => {
      await page.goto(`${server().url}/${address}`)
      await page.getByText('No history for this time').waitFor()
      await page.getByRole('main').getByRole('button', { name: 'Back to now' }).click()
    }
    await to(`rollout/${rollout.id}?state=FAILED`)
    await expectShown(bars(page, '.hero')).toEqual(['Deployments by state: 1 failed, 1 pending'])
    await expectShown(urlOf(page)).toBe(`${server().url}/rollout/${rollout.presentId}?state=FAILED`)
    // The chosen time is still stored.
    const at = new URLSearchParams({ at: new Date().toISOString() })
    await page.goto(`${server().url}/rollout/${rollout.id}?${at}`)
    await expectShown(bars(page, '.hero')).toEqual(['Deployments by state: 1 failed, 1 pending'])
    await expectShown(urlOf(page)).toBe(`${server().url}/rollout/${rollout.presentId}?${at}`)
  })
})
