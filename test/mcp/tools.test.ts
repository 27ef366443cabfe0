/** Each tool against a fleet with a known fault: its facts are those of GraphQL at the revision that it names. */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { someOf } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { call, connect, declare, makeFleet, report, ways } from './harness.ts'

let server: RunningApp
let begun: string
/** Milliseconds of the server's clock. */
let ahead = 0
beforeAll(async () => {
  const clock = () => Date.now() + ahead
  server = await startApp({ timeouts: { ...defaultTimeouts, duties: 200 }, clock, env: { STALLED_AFTER: '60' } })
  begun = (await server.query('{ history { newestTime } }')).history.newestTime
  await makeFleet(server)
  const fires = async () => expect((await server.query('{ alerts { totalCount } }')).alerts.totalCount).toBe(1)
  await vi.waitFor(fires, { timeout: 60_000 })
  const stalls = async () => {
    // In steps: a longer one is a pause in which no server has listened.
    ahead += 5_000
    const { deployments } = await server.query('{ deployments(filter: { stalled: true }) { nodes { deploymentId } } }')
    expect(deployments.nodes).toContainEqual({ deploymentId: 'pump-2-of-edge-19' })
  }
  await vi.waitFor(stalls, { timeout: 60_000, interval: 250 })
})
afterAll(() => server.stop())

const states = 'total installed installing failed pending removing removed'
const forget = async (...deploymentIds: readonly string[]) => {
  const { deployments } = await server.query(
    'query ($of: [String!]) { deployments(filter: { deploymentIds: $of }) { nodes { id } } }',
    { of: deploymentIds },
  )
  await server.query('mutation ($ids: [ID!]!) { forgetDeployments(input: { ids: $ids }) { __typename } }', {
    ids: deployments.nodes.map(({ id }: { id: string }) => id),
  })
}
const marked = (text: string) => ({ untrusted: text })

describe.each(ways.slice(-someOf(2, 4)))('the tools over $over in $era', (way) => {
  let client: Client
  beforeAll(async () => {
    client = await connect(server, way)
  })
  afterAll(() => client.close())

  it('say what is wrong now', async () => {
    const { facts, text } = await call(client, 'what_is_wrong')
    const at = { r: facts.revision }
    const { counts, alerts, stalled, groups } = await server.query(
      `query ($r: Revision!) { counts: deploymentCounts(atRevision: $r) { ${states} } alerts { nodes { id summary } }
        stalled: deployments(filter: { stalled: true }) { nodes { deploymentId state stall { since } } }
        groups: deploymentGroups(by: ERROR, filter: { states: [FAILED] }, atRevision: $r) { nodes { key detail counts { total } } } }`,
      at,
    )
    expect(facts.counts).toMatchObject(counts)
    expect(counts).toMatchObject({ failed: 8, pending: 2 })
    expect(facts.alerts).toMatchObject([
      { id: alerts.nodes[0].id, rule: marked('too many'), summary: marked(alerts.nodes[0].summary) },
    ])
    expect(facts.causes).toMatchObject([
      { code: marked('507'), message: marked(groups.nodes[0].detail), deployments: 8 },
    ])
    expect(groups.nodes).toMatchObject([{ key: '507', counts: { total: 8 } }])
    expect(facts).toMatchObject({
      stalled: stalled.nodes.map((row: { deploymentId: string; state: string; stall: { since: string } }) => ({
        ...{ deployment: marked(row.deploymentId), state: row.state, since: row.stall.since },
      })),
      silentSites: [{ site: marked('turin'), deployments: 3 }],
      devices: { total: 25, offline: 1 },
      omitted: [],
      page: `${server.url}/`,
    })
    expect(text).toContain(
      `${counts.total} deployments: ${counts.installed} installed, ${counts.installing} installing, 8 failed, 2 pending; ${stalled.nodes.length} stalled\n`,
    )
    expect(text).toMatch(/⟦pump-2-of-edge-19⟧ on ⟦edge-19⟧ stalls in INSTALLING since /)
    expect(text).toContain(`As of revision ${facts.revision}`)
    const one = await call(client, 'what_is_wrong', { rollout: 'pumps-1' })
    expect(one.facts).toMatchObject({ counts: { total: 24, failed: 0 }, causes: [], stalled: [] })
  })

  it('say how one rollout goes, and whether it is worse than the one before', async () => {
    const { facts, text } = await call(client, 'rollout', { rollout: 'pumps-2' })
    const { rollout } = await server.query(
      `query ($r: Revision!) { rollout(key: { name: "pumps-2" }, atRevision: $r) { presentId counts: deploymentCounts { ${states} } earlier { id name }
        eta { at low high percent reason } diagnosis { problems { causes { summary } } } } }`,
      { r: facts.revision },
    )
    expect(facts).toMatchObject({ id: rollout.presentId, name: marked('pumps-2'), counts: rollout.counts })
    expect(rollout.counts).toMatchObject({ total: 24, failed: 8 })
    expect(facts.diagnosis.map(({ cause }: { cause: unknown }) => cause)).toEqual(
      rollout.diagnosis.problems.flatMap(({ causes }: { causes: { summary: string }[] }) =>
        causes.map(({ summary }) => marked(summary)),
      ),
    )
    expect(text).toContain('label site=munich')
    expect(facts.forecast).toEqual(rollout.eta)
    expect(facts.page).toBe(`${server.url}/node/${facts.id}`)
    // By the ID of the answer, too.
    expect((await call(client, 'rollout', { rollout: facts.id })).facts.name).toEqual(marked('pumps-2'))
    const { rollouts } = await server.query('{ rollouts(filter: { names: ["pumps-1"] }) { nodes { id } } }')
    const compared = async () => {
      // It is compared at the newest revision.
      const { facts: now, text: said } = await call(client, 'rollout', { rollout: 'pumps-2' })
      const { revision, comparison } = await server.query(
        'query ($ids: [ID!]!) { revision comparison: compareRollouts(ids: $ids) { isWorse pValue summary } }',
        { ids: [facts.id, rollouts.nodes[0].id] },
      )
      expect(revision).toBe(now.revision)
      const { summary } = comparison
      expect(now.comparison).toEqual({ ...comparison, with: marked('pumps-1'), summary: marked(summary) })
      expect(said).toContain(`Worse than ⟦pumps-1⟧: ⟦${summary}⟧`)
    }
    await vi.waitFor(compared, { timeout: 60_000 })
    const first = await call(client, 'rollout', { rollout: 'pumps-1' })
    expect(first.facts).toMatchObject({ comparison: null, causes: [], diagnosis: [], counts: { installed: 24 } })
  })

  it('say what a deployment and a device are, and what happened to them', async () => {
    const own = { deployment: 'pump-2-of-edge-0', limit: 10 }
    const { facts, text } = await call(client, 'deployment', own)
    const { deployment } = await server.query(
      `query ($r: Revision!) { deployment(deploymentId: "pump-2-of-edge-0", atRevision: $r) { state changedAt history(last: 10) { nodes { revision at } } } }`,
      { r: facts.revision },
    )
    expect(facts).toMatchObject({
      ...{
        state: 'FAILED',
        since: deployment.changedAt,
        device: marked('edge-0'),
        rollout: { name: marked('pumps-2') },
      },
      error: { code: marked('507'), message: marked('disk full on /dev/sda1') },
      components: [{ name: marked('motor'), state: 'FAILED' }],
    })
    expect(facts.history.map(({ revision, at }: { revision: string; at: string }) => ({ revision, at }))).toEqual(
      deployment.history.nodes.toReversed(),
    )
    expect(text).toContain(
      '⟦pump-2-of-edge-0 on edge-0⟧ went from INSTALLING to FAILED: ⟦507 · disk full on /dev/sda1⟧',
    )
    const past = facts.history.find(({ what }: { what: string }) => what === 'is PENDING')
    const then = await call(client, 'deployment', { ...own, at: past.at })
    expect(then.facts).toMatchObject({
      state: 'PENDING',
      error: null,
      page: expect.stringMatching(new RegExp(`^${server.url}/node/[\\w-]+\\?at=${encodeURIComponent(past.at)}$`)),
    })
    const device = await call(client, 'device', { device: 'edge-0' })
    expect(device.facts).toMatchObject({
      ...{ device: marked('edge-0'), registered: true, counts: { total: 2, installed: 1, failed: 1 } },
      labels: [{ key: marked('site'), value: marked('munich') }],
      deployments: [
        { deployment: marked('pump-2-of-edge-0'), state: 'FAILED' },
        { deployment: marked('pump-1-of-edge-0'), state: 'INSTALLED' },
      ],
    })
    expect(device.facts.history[0].what).toMatch(/FAILED/)
  })

  it('find names, say what changed, and what it was', async () => {
    const found = await call(client, 'search', { text: 'pumps' })
    const page = expect.stringMatching(new RegExp(`^${server.url}/node/`))
    expect(found.facts.results).toHaveLength(3)
    expect(found.facts.results).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'ROLLOUT', name: marked('pumps-1'), page }),
        expect.objectContaining({ kind: 'ROLLOUT', name: marked('pumps-2'), page }),
        expect.objectContaining({ kind: 'CLUSTER', name: marked('pumps-line'), page: null }),
      ]),
    )
    const devices = await call(client, 'search', { text: 'edge', kinds: ['DEVICE'], limit: 1 })
    expect(devices.facts).toMatchObject({ results: [{ kind: 'DEVICE', page }], omitted: [{ what: 'results' }] })
    const changed = await call(client, 'changes_between', { from: begun, onlyFailures: true, limit: 3 })
    expect(changed.facts).toMatchObject({ from: { total: 0 }, to: { failed: 8 } })
    const { changes } = await server.query(
      'query ($r: Revision!) { changes(filter: { to: [FAILED], kinds: [DEPLOYMENT_STATE_CHANGED] }, before: $r, last: 3) { nodes { revision } } }',
      { r: String(BigInt(changed.facts.revision) + 1n) },
    )
    expect(changed.facts.changes.length).toBe(3)
    expect(changes.nodes.map(({ revision }: { revision: string }) => revision)).toEqual(
      expect.arrayContaining(
        changed.facts.changes
          .filter(({ what }: { what: string }) => what.startsWith('went'))
          .map(({ revision }: { revision: string }) => revision),
      ),
    )
    expect(changed.facts.omitted).toMatchObject([{ what: 'changes' }])
    const then = await call(client, 'state_at', { at: begun })
    expect(then.facts).toMatchObject({ counts: { total: 0 }, alerts: [], causes: [], time: begun })
    const { revision, ...now } = (await call(client, 'state_at', { at: changed.facts.time })).facts
    const { counts } = await server.query(
      `query ($r: Revision!) { counts: deploymentCounts(atRevision: $r) { ${states} } }`,
      { r: revision },
    )
    expect(now.counts).toMatchObject(counts)
  })

  it('wait until a rollout is done, and tell its progress', async () => {
    const rollout = `wait-${way.over}-${way.era}`
    const ids = [1, 2].map((n) => ({ deploymentId: `${rollout}-${n}`, deviceId: 'edge-1' }))
    await declare(server, rollout, ids)
    const progress: number[] = []
    const first = Promise.withResolvers<void>()
    const onprogress = ({ progress: done }: { progress: number }): void => {
      progress.push(done)
      first.resolve()
    }
    const waited = call(client, 'wait_for_rollout', { rollout }, { onprogress })
    await first.promise
    for (const { deploymentId, deviceId } of ids) await report(server, deviceId, deploymentId, 'installed')
    expect((await waited).facts).toMatchObject({ outcome: 'done', counts: { total: 2, installed: 2 }, failures: [] })
    expect(progress[0]).toBe(0)
    await report(server, 'edge-1', `${rollout}-1`, 'failed', { code: '1', message: 'no power' })
    const failed = await call(client, 'wait_for_rollout', { rollout })
    expect(failed.facts).toMatchObject({
      outcome: 'failed',
      failures: [{ deployment: marked(`${rollout}-1`), error: { message: marked('no power') } }],
    })
    expect((await call(client, 'wait_for_rollout', { rollout, tolerate: 1 })).facts.outcome).toBe('done')
    await report(server, 'edge-1', `${rollout}-1`, 'installing')
    expect((await call(client, 'wait_for_rollout', { rollout, timeoutSeconds: 1 })).facts.outcome).toBe('timeout')
  })

  it('end a wait when the rollout is gone, and ask which of several is meant', async () => {
    const rollout = `gone-${way.over}-${way.era}`
    await declare(server, rollout, [{ deploymentId: rollout, deviceId: 'edge-2' }])
    const first = Promise.withResolvers<void>()
    const waited = call(client, 'wait_for_rollout', { rollout }, { onprogress: () => first.resolve() })
    await first.promise
    await forget(rollout)
    expect((await waited).facts).toMatchObject({ outcome: 'gone', rollout: marked(rollout) })
    for (const project of ['alpha', 'beta'])
      await declare(server, 'twice', [{ deploymentId: `twice-${project}`, deviceId: 'edge-2' }], project)
    const several = await call(client, 'rollout', { rollout: 'twice' })
    expect(several.text).toMatch(/^AMBIGUOUS: .*DECLARED of (alpha.*DECLARED of beta|beta.*DECLARED of alpha)/)
    const [, id] = /instead: ([\w-]+)/.exec(several.text) ?? []
    expect((await call(client, 'rollout', { rollout: id })).facts).toMatchObject({ name: marked('twice') })
    await forget('twice-alpha', 'twice-beta')
  })

  it('offer resources and prompts', async () => {
    const { facts } = await call(client, 'rollout', { rollout: 'pumps-2' })
    const read = async (uri: string): Promise<string> => {
      const [content] = (await client.readResource({ uri })).contents
      return content && 'text' in content ? content.text : ''
    }
    expect(JSON.parse(await read(`rollcall://rollout/${facts.id}`))).toMatchObject({
      name: marked('pumps-2'),
      counts: { failed: 8 },
    })
    expect(JSON.parse(await read('rollcall://device/edge-0'))).toMatchObject({
      deviceId: marked('edge-0'),
      counts: { total: 2 },
    })
    expect(await read('rollcall://schema')).toContain('type Query {')
    const { resources } = await client.listResources()
    expect(resources.find(({ uri }) => uri === 'rollcall://docs/graphql')).toMatchObject({
      title: expect.stringMatching(/GraphQL/),
    })
    expect(await read('rollcall://docs/graphql')).toMatch(/^# /)
    for (const uri of ['rollcall://docs/..%2Fpackage', 'rollcall://rollout/nothing', 'rollcall://device/nothing'])
      await expect(client.readResource({ uri })).rejects.toThrow()
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual([
      'morning-report',
      'why-is-this-rollout-failing',
      'compare-with-last-week',
    ])
    const { messages } = await client.getPrompt({
      name: 'why-is-this-rollout-failing',
      arguments: { rollout: 'pumps-2' },
    })
    expect(JSON.stringify(messages)).toContain('pumps-2')
    const report = await client.getPrompt({ name: 'morning-report' })
    expect(JSON.stringify(report.messages)).toContain('changes_between')
    const week = await client.getPrompt({ name: 'compare-with-last-week', arguments: {} })
    expect(JSON.stringify(week.messages)).toContain('Compare the fleet now')
  })

  it('say what is not there, and which arguments are wrong', async () => {
    expect(await call(client, 'rollout', { rollout: 'nothing' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('NOT_FOUND'),
    })
    expect((await call(client, 'deployment', { deployment: 'nothing' })).text).toContain('NOT_FOUND')
    expect((await call(client, 'device', { device: 'nothing' })).text).toContain('NOT_FOUND')
    expect((await call(client, 'state_at', { at: '2001-01-01T00:00:00Z' })).text).toContain('HISTORY_EXPIRED')
    expect((await call(client, 'search', { text: '', limit: 1 })).isError).toBe(true)
  })
})
