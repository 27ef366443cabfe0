import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { markStalled } from '../../../src/ingest/commands/stall.ts'
import { stores } from '../../support/databases/stores.ts'
import { munich, register } from '../access-scope-fleet.ts'
import { transports } from '../clients.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

describe('a stalled deployment', () => {
  it.each(transports)(
    'is sent, counted and found, and stays in the history after it continues: $name',
    async ({ name, watch }) => {
      const deploymentId = `slow over ${name}`
      const filter = { deploymentIds: [deploymentId] }
      const state = 'INSTALLING' as const
      await api.report({ deploymentId, state })
      const { revision } = await api.ask('{ revision }')
      const changes = watch(
        api.url,
        `subscription ($after: Revision!, $filter: ChangeFilter!) {
        changes(after: $after, filter: $filter) { change { kind ... on DeploymentStalled { stalled deployment { stalled state } } } }
      }`,
        { after: revision, filter: { ...filter, kinds: ['DEPLOYMENT_STALLED'] } },
      )
      const counts = watch(
        api.url,
        'subscription ($filter: DeploymentFilter!) { deploymentCounts(filter: $filter) { counts { total installing } } }',
        { filter: { ...filter, stalled: true } },
      )
      expect(await counts.data()).toMatchObject({ deploymentCounts: { counts: { total: 0 } } })

      const [row] = await api.road.database.session.run<{ key: number; revision: number }>(
        'select key, revision from deployments where deployment_id = $1',
        [deploymentId],
      )
      await api.road.writer.submit(markStalled(row ? [row] : []))
      const stalled = { kind: 'DEPLOYMENT_STALLED', stalled: true, deployment: { stalled: true, state } }
      expect(await changes.data()).toEqual({ changes: { change: stalled } })
      expect(await counts.data()).toEqual({ deploymentCounts: { counts: { total: 1, installing: 1 } } })
      const still = await api.ask('{ revision }')

      await api.report({ deploymentId, state: 'INSTALLED' })
      const goesOn = { kind: 'DEPLOYMENT_STALLED', stalled: false, deployment: { stalled: false, state: 'INSTALLED' } }
      expect(await changes.data()).toEqual({ changes: { change: goesOn } })
      expect(await counts.data()).toMatchObject({ deploymentCounts: { counts: { total: 0 } } })
      await changes.close()
      await counts.close()

      const asked = `query ($filter: DeploymentFilter!, $revision: Revision!) {
      now: deployments(filter: $filter) { nodes { deploymentId } }
      before: deployments(filter: $filter, atRevision: $revision) { nodes { deploymentId stalled } }
    }`
      expect(await api.ask(asked, { filter: { ...filter, stalled: true }, ...still })).toEqual({
        now: { nodes: [] },
        before: { nodes: [{ deploymentId, stalled: true }] },
      })
    },
  )
})

describe.each(stores)('the stall of deployments on $name', (store) => {
  let fleet: Api
  beforeAll(async () => {
    fleet = await startApi({ store, graphql: { auth: namedAuth } })
    await register(fleet, 'm-1', 'munich')
  })
  afterAll(() => fleet.close())

  const document =
    '{ deployments(filter: { stalled: true }) { nodes { deploymentId stall { since basis component expectedSeconds peers } } } }'

  it('says since when they stand still, and what peers need', async () => {
    const web = { name: 'web', state: 'INSTALLING', error: null } as const
    const db = { name: 'db', state: 'INSTALLING', error: null } as const
    const whole = { reporter: 'm-1', deploymentId: 'whole', state: 'INSTALLING' } as const
    await fleet.report({ ...whole, deploymentId: 'parts', components: [web, db] })
    await fleet.report(whole)
    await fleet.report({ ...whole, deploymentId: 'moves' })
    const { run } = fleet.road.database.session
    const rows = await run<{ key: number; revision: number; rollout_key: number; name: string; changed_at: number }>(
      'select key, revision, rollout_key, deployment_id as name, changed_at from deployments',
    )
    for (const { rollout_key: rollout } of rows.filter((row) => row.name === 'parts'))
      for (const [component, count, p95] of [
        ['web', 12, 4_500],
        ['db', 40, 2_250],
        ['', 50, 1_000],
        ['cache', 50, 10],
      ] as const)
        await run(
          `insert into usual_durations (rollout_key, component, state, count, p95) values ($1, $2, 'INSTALLING', $3, $4)`,
          [rollout, component, count, p95],
        )
    await fleet.road.writer.submit(markStalled(rows))
    const before = await fleet.ask('{ revision }')
    await fleet.report({ ...whole, deploymentId: 'moves', state: 'INSTALLED' })

    const since = (name: string) => new Date(rows.find((row) => row.name === name)?.changed_at ?? 0).toISOString()
    const parts = { since: since('parts'), basis: 'PEERS', component: 'db', expectedSeconds: 2.25, peers: 40 }
    const none = { component: null, expectedSeconds: null, peers: null }
    const { deployments } = await fleet.ask(document)
    expect(deployments.nodes).toHaveLength(2)
    expect(deployments.nodes).toContainEqual({ deploymentId: 'parts', stall: parts })
    expect(deployments.nodes).toContainEqual({
      deploymentId: 'whole',
      stall: { since: since('whole'), basis: 'LIMIT', ...none },
    })
    expect((await fleet.ask('{ deployment(deploymentId: "moves") { stall { since } } }')).deployment).toEqual({
      stall: null,
    })
    const past = 'query ($r: Revision) { deployment(deploymentId: "moves", atRevision: $r) { stall { since basis } } }'
    expect((await fleet.ask(past, { r: before.revision })).deployment.stall).toEqual({
      since: since('moves'),
      basis: 'LIMIT',
    })
    const hidden = (await fleet.ask(document, {}, munich)).deployments.nodes
    expect(hidden).toContainEqual({ deploymentId: 'parts', stall: { since: since('parts'), basis: null, ...none } })
  })

  it('costs one statement for all', async () => {
    fleet.statements()
    await fleet.ask(document)
    const few = fleet.statements()
    await fleet.report({ reporter: 'm-1', deploymentId: 'third', state: 'INSTALLING' })
    const [third] = await fleet.road.database.session.run<{ key: number; revision: number }>(
      `select key, revision from deployments where deployment_id = 'third'`,
    )
    await fleet.road.writer.submit(markStalled(third ? [third] : []))
    fleet.statements()
    const { deployments } = await fleet.ask(document)
    expect(deployments.nodes).toHaveLength(3)
    expect(fleet.statements()).toBe(few)
  })

  it('is counted, and so is what else no counter has: by list, for any filter, now and in the past', async () => {
    const error = { code: 'E1', message: 'no policy agent' }
    const before: string = (await fleet.ask('{ revision }')).revision
    const web = { name: 'web', state: 'FAILED', error } as const
    await fleet.report({ reporter: 'o-1', deploymentId: 'waits', state: 'PENDING', error })
    await fleet.report({ reporter: 'm-1', deploymentId: 'third', state: 'INSTALLED', components: [web] })
    const counted = 'total stalled waiting inconsistent withError'
    const wholes = `query ($filter: DeploymentFilter, $r: Revision) {
      deploymentCounts(filter: $filter, atRevision: $r) { ${counted} }
      deployments(filter: $filter, atRevision: $r, first: 100) { nodes {
        state stalled consistent error { code } components { error { code } } deviceId: reporter rollout { name } } } }`
    interface Node {
      readonly state: string
      readonly stalled: boolean
      readonly consistent: boolean
      readonly error: object | null
      readonly components: readonly { readonly error: object | null }[]
      readonly deviceId: string
      readonly rollout: { readonly name: string }
    }
    const recount = (nodes: readonly Node[]) => {
      const hasError = (one: Node): boolean => [one, ...one.components].some((part) => part.error !== null)
      return {
        total: nodes.length,
        stalled: nodes.filter((one) => one.stalled).length,
        waiting: nodes.filter((one) => one.state === 'PENDING' && hasError(one)).length,
        inconsistent: nodes.filter((one) => !one.consistent).length,
        withError: nodes.filter(hasError).length,
      }
    }
    const filters = [
      undefined,
      { states: ['PENDING', 'INSTALLED'] },
      { stalled: false },
      { where: { not: { deviceIds: ['o-1'] } } },
      { hasError: false, where: { or: [{ stalled: true }, { text: 'w' }] } },
    ]
    for (const r of [before, null])
      for (const as of [undefined, munich])
        for (const filter of filters) {
          const { deploymentCounts, deployments } = await fleet.ask(wholes, { filter, r }, as)
          expect([r, as, filter, deploymentCounts]).toEqual([r, as, filter, recount(deployments.nodes)])
        }
    const now: { nodes: Node[] } = (await fleet.ask(wholes)).deployments
    expect(recount(now.nodes)).toMatchObject({ stalled: 2, waiting: 1, inconsistent: 1, withError: 2 })
    fleet.statements()
    const { rollouts, devices } = await fleet.ask(
      `{ rollouts { nodes { name deploymentCounts { ${counted} } } } devices { nodes { deviceId deploymentCounts { ${counted} } } } }`,
    )
    // Two lists, the counts of devices, and four numbers of each list: whatever their length.
    expect(fleet.statements()).toBe(11)
    for (const { name, deploymentCounts } of rollouts.nodes)
      expect(deploymentCounts).toEqual(recount(now.nodes.filter((one) => one.rollout.name === name)))
    for (const { deviceId, deploymentCounts } of devices.nodes)
      expect(deploymentCounts).toEqual(recount(now.nodes.filter((one) => one.deviceId === deviceId)))
    const { deploymentGroups } = await fleet.ask(
      '{ deploymentGroups(by: TARGET) { nodes { counts { total stalled } } } }',
    )
    expect(deploymentGroups.nodes[0].counts.stalled).toBeNull()
  })
})
