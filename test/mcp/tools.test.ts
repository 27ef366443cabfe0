/** Each tool against a fleet with a known fault: its facts are those of GraphQL at the revision that it names. */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { someOf } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { call, connect, declare, makeFleet, report, ways } from './harness.ts'

let server: RunningApp
let begun: string
beforeAll(async () => {
  server = await startApp({ timeouts: { ...defaultTimeouts, duties: 200 } })
  begun = (await server.query('{ history { newestTime } }')).history.newestTime
  await makeFleet(server)
  const fires = async () => expect((await server.query('{ alerts { totalCount } }')).alerts.totalCount).toBe(1)
  await vi.waitFor(fires, { timeout: 60_000 })
})
afterAll(() => server.stop())

const states = 'total installed installing failed pending removing removed'
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
    const { counts, alerts, groups } = await server.query(
      `query ($r: Revision!) { counts: deploymentCounts(atRevision: $r) { ${states} } alerts { nodes { id summary } }
        groups: deploymentGroups(by: ERROR, filter: { states: [FAILED] }, atRevision: $r) { nodes { key detail counts { total } } } }`,
      at,
    )
    expect(facts.counts).toMatchObject(counts)
    expect(counts).toMatchObject({ failed: 4, pending: 2 })
    expect(facts.alerts).toMatchObject([
      { id: alerts.nodes[0].id, rule: marked('too many'), summary: marked(alerts.nodes[0].summary) },
    ])
    expect(facts.causes).toMatchObject([
      { code: marked('507'), message: marked(groups.nodes[0].detail), deployments: 4 },
    ])
    expect(groups.nodes).toMatchObject([{ key: '507', counts: { total: 4 } }])
    expect(facts).toMatchObject({
      stalled: [],
      silentSites: [{ site: marked('turin'), deployments: 3 }],
      devices: { total: 13, offline: 1 },
      omitted: [],
      page: `${server.url}/`,
    })
    expect(text).toContain(
      `${counts.total} deployments: ${counts.installed} installed, ${counts.installing} installing, 4 failed, 2 pending\n`,
    )
    expect(text).toContain(`As of revision ${facts.revision}`)
    const one = await call(client, 'what_is_wrong', { rollout: 'pumps-1' })
    expect(one.facts).toMatchObject({ counts: { total: 12, failed: 0 }, causes: [] })
  })

  it('say how one rollout goes, and whether it is worse than the one before', async () => {
    const { facts } = await call(client, 'rollout', { rollout: 'pumps-2' })
    const { rollout } = await server.query(
      `query ($r: Revision!) { rollout(key: { name: "pumps-2" }, atRevision: $r) { presentId counts: deploymentCounts { ${states} } earlier { id name }
        diagnosis { problems { causes { summary } } } } }`,
      { r: facts.revision },
    )
    expect(facts).toMatchObject({ id: rollout.presentId, name: marked('pumps-2'), counts: rollout.counts })
    expect(rollout.counts).toMatchObject({ total: 12, failed: 4 })
    expect(facts.diagnosis.map(({ cause }: { cause: unknown }) => cause)).toEqual(
      rollout.diagnosis.problems.flatMap(({ causes }: { causes: { summary: string }[] }) =>
        causes.map(({ summary }) => marked(summary)),
      ),
    )
    expect(facts.page).toBe(`${server.url}/node/${facts.id}`)
    // By the ID of the answer, too.
    expect((await call(client, 'rollout', { rollout: facts.id })).facts.name).toEqual(marked('pumps-2'))
    const { comparison } = facts
    const { rollouts } = await server.query('{ rollouts(filter: { names: ["pumps-1"] }) { nodes { id } } }')
    const { compareRollouts } = await server.query(
      'query ($ids: [ID!]!) { compareRollouts(ids: $ids) { isWorse summary } }',
      { ids: [facts.id, rollouts.nodes[0].id] },
    )
    expect(comparison).toMatchObject({ with: marked('pumps-1'), isWorse: compareRollouts.isWorse })
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
    const found = await call(client, 'search', { text: 'pumps', kinds: ['ROLLOUT'] })
    expect(found.facts.results).toMatchObject([{ name: marked('pumps-1') }, { name: marked('pumps-2') }])
    const changed = await call(client, 'changes_between', { from: begun, onlyFailures: true, limit: 3 })
    expect(changed.facts).toMatchObject({ from: { total: 0 }, to: { failed: 4 } })
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

  it('offer resources and prompts', async () => {
    const { facts } = await call(client, 'rollout', { rollout: 'pumps-2' })
    const read = async (uri: string): Promise<string> => {
      const [content] = (await client.readResource({ uri })).contents
      return content && 'text' in content ? content.text : ''
    }
    expect(JSON.parse(await read(`rollcall://rollout/${facts.id}`))).toMatchObject({
      name: marked('pumps-2'),
      counts: { failed: 4 },
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
