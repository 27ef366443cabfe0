/** Subscribers with an access scope get nothing from outside it. Names outside it contain "hidden". */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { streamState } from '../../../src/api/graphql/subscriptions/state-stream.ts'
import { readLog } from '../../../src/store/read/changes/changes.ts'
import { munich, register } from '../access-scope-fleet.ts'
import { type Stream, transports } from '../clients.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

describe.each(transports)('a subscriber with an access scope over $name', (transport) => {
  let api: Api
  const open: Stream[] = []
  beforeAll(async () => {
    api = await startApi({ graphql: { auth: namedAuth } })
    await register(api, 'm-1', 'munich')
    await register(api, 'hidden-1', 'oslo')
  })
  afterAll(async () => {
    await Promise.all(open.map((stream) => stream.close()))
    await api.close()
  })
  const watch = (query: string, who: string): Stream => {
    const stream = transport.watch(api.url, query, {}, who)
    open.push(stream)
    return stream
  }

  it('gets only changes in its scope', async () => {
    const { revision } = await api.ask('{ revision }')
    const document = `subscription { changes(after: "${revision}") { change { kind ... on DeploymentStateChanged { deploymentId } ... on DeploymentMoved { fromTarget { name } toTarget { name } deployment { deploymentId } } } } }`
    const [own, everything] = [watch(document, munich), watch(document, 'viewer')]
    await api.report({ reporter: 'hidden-1', deploymentId: 'hidden-a', state: 'INSTALLED' })
    await api.report({ reporter: 'm-1', deploymentId: 'a', state: 'INSTALLED' })
    expect((await own.data()).changes.change).toMatchObject({ deploymentId: 'a' })
    expect((await everything.data()).changes.change).toMatchObject({ deploymentId: 'hidden-a' })
    // From here on it is live: the same events, the same document, and not the same results.
    await api.report({ reporter: 'hidden-1', deploymentId: 'hidden-a', state: 'FAILED' })
    await api.report({ reporter: 'gw', deviceId: 'hidden-1', deploymentId: 'b', state: 'PENDING' })
    await api.report({ reporter: 'gw', deviceId: 'm-1', deploymentId: 'b', state: 'PENDING' })
    expect((await own.data()).changes.change).toEqual({
      kind: 'DEPLOYMENT_MOVED',
      fromTarget: null,
      toTarget: { name: 'm-1' },
      deployment: { deploymentId: 'b' },
    })
    await register(api, 'm-1', 'oslo')
    await api.report({ reporter: 'm-1', deploymentId: 'a', state: 'REMOVING' })
    await register(api, 'm-1', 'munich')
    await api.report({ reporter: 'm-1', deploymentId: 'c', state: 'REMOVED' })
    let next: { deploymentId?: string } = {}
    while (next.deploymentId !== 'c') {
      next = (await own.data()).changes.change
      expect(JSON.stringify(next)).not.toContain('hidden')
    }
  })

  it('sees counts, a deployment and a rollout as if there were nothing else', async () => {
    const counts = watch('subscription { deploymentCounts { counts { total } } }', munich)
    const { deploymentCounts: first } = await counts.data()
    await api.report({ reporter: 'hidden-1', deploymentId: 'shared', state: 'FAILED' })
    const rollout = watch(
      'subscription { rollout(key: { name: "shared" }) { rollout { deploymentCounts { total } } changes { kind } } }',
      munich,
    )
    expect(await rollout.data()).toEqual({ rollout: { rollout: null, changes: [] } })
    const deployment = watch(
      'subscription { deployment(deploymentId: "shared") { deployment { state } changes { revision } } }',
      munich,
    )
    expect(await deployment.data()).toEqual({ deployment: { deployment: null, changes: [] } })
    await api.report({ reporter: 'hidden-1', deploymentId: 'shared', state: 'REMOVING' })
    await api.report({ reporter: 'm-1', deploymentId: 'shared', state: 'PENDING' })
    expect((await counts.data()).deploymentCounts.counts.total).toBe(first.counts.total + 1)
    expect(await rollout.data()).toMatchObject({ rollout: { rollout: { deploymentCounts: { total: 1 } } } })
    expect(await deployment.data()).toMatchObject({ deployment: { deployment: { state: 'PENDING' }, changes: [{}] } })
    await api.report({ reporter: 'hidden-1', deploymentId: 'shared', state: 'REMOVED' })
    await api.report({ reporter: 'm-1', deploymentId: 'shared', state: 'INSTALLED' })
    expect(await deployment.data()).toMatchObject({ deployment: { deployment: { state: 'INSTALLED' } } })
    expect((await rollout.data()).rollout.changes).toHaveLength(1)
  })

  it('sees a list without the others: what moves to another tenant leaves it, and says nothing else', async () => {
    await register(api, 'm-2', 'munich')
    const query = `subscription { deployments(first: 2, orderBy: NAME, filter: { reporters: ["m-2", "hidden-1", "lists"] }) {
      cursor removed hasNextPage rows { change position deployment { id deploymentId state error { code } target { name } rollout { name } } } } }`
    await api.report({ reporter: 'hidden-1', deploymentId: 'a-hidden', state: 'FAILED' })
    await api.report({ reporter: 'lists', deviceId: 'm-2', deploymentId: 'l-1', state: 'FAILED' })
    await api.report({ reporter: 'm-2', deploymentId: 'l-2', state: 'INSTALLED' })
    const own = watch(query, munich)
    const { deployments: first } = await own.data()
    expect(first).toMatchObject({
      hasNextPage: false,
      rows: [{ deployment: { deploymentId: 'l-1' } }, { deployment: { deploymentId: 'l-2' } }],
    })
    await api.report({ reporter: 'hidden-1', deploymentId: 'a-hidden', state: 'REMOVED' })
    // The reporter of all tenants moves it to a device of another tenant.
    await api.report({ reporter: 'lists', deviceId: 'hidden-1', deploymentId: 'l-1', state: 'INSTALLING' })
    const { deployments: moved } = await own.data()
    expect(moved).toEqual({
      cursor: expect.any(String),
      hasNextPage: false,
      rows: [],
      removed: [first.rows[0].deployment.id],
    })
    await api.report({ reporter: 'lists', deviceId: 'hidden-1', deploymentId: 'l-1', state: 'FAILED' })
    await api.report({ reporter: 'lists', deviceId: 'm-2', deploymentId: 'l-1', state: 'PENDING' })
    expect((await own.data()).deployments).toMatchObject({
      removed: [],
      rows: [
        { change: 'INSERTED', position: 0, deployment: { state: 'PENDING', error: null, target: { name: 'm-2' } } },
      ],
    })
    // A new tenant of the device: its rows leave with the next change of one of them.
    await register(api, 'm-2', 'oslo')
    await api.report({ reporter: 'm-2', deploymentId: 'l-2', state: 'FAILED' })
    expect((await own.data()).deployments).toMatchObject({
      rows: [],
      removed: [expect.any(String), expect.any(String)],
    })
  })
  it('sees a list of devices without the others, which is not read for their changes', async () => {
    for (const name of ['d-1', 'd-2']) await register(api, name, 'munich')
    const query = `subscription { devices(filter: { deviceIds: ["d-1", "d-2", "hidden-1"] }) {
      cursor reset { reason } isSnapshot removed rows { change device { id deviceId deploymentCounts { total } } } } }`
    const own = watch(query, munich)
    const { devices: first } = await own.data()
    expect(first.rows).toMatchObject([{ device: { deviceId: 'd-1' } }, { device: { deviceId: 'd-2' } }])
    await api.report({ reporter: 'hidden-1', deploymentId: 'hidden-device', state: 'FAILED' })
    await api.report({ reporter: 'd-1', deploymentId: 'own-device', state: 'FAILED' })
    const { devices: second } = await own.data()
    expect(second).toMatchObject({
      removed: [],
      rows: [{ device: { deviceId: 'd-1', deploymentCounts: { total: 1 } } }],
    })
    // A device of another tenant leaves with the next change that the caller sees.
    await register(api, 'd-2', 'oslo')
    await api.report({ reporter: 'd-1', deploymentId: 'own-device', state: 'INSTALLED' })
    expect((await own.data()).devices.removed).toEqual([first.rows[1].device.id])
    // What it no longer sees is unknown in the past, too: a caller that resumes begins anew.
    const resumed = watch(query.replace('devices(', `devices(after: "${second.cursor}", `), munich)
    expect((await resumed.data()).devices).toMatchObject({
      ...{ isSnapshot: true, reset: null },
      rows: [{ device: { deviceId: 'd-1' } }],
    })
  })
})

it('does not count commits of others among those that one update merges', async () => {
  let now = Date.now()
  const clock = () => {
    now += 1_000
    return now
  }
  const api = await startApi({ road: { writer: { clock } } })
  const { database } = api.road
  try {
    await register(api, 'm-1', 'munich')
    await register(api, 'hidden-1', 'oslo')
    const { revision } = await api.ask('{ revision }')
    const reports = [['m-1', 'INSTALLING'] as const, ['hidden-1', 'FAILED'] as const, ['m-1', 'INSTALLED'] as const]
    for (const [reporter, state] of reports) await api.report({ reporter, deploymentId: `of-${reporter}`, state })
    const changes = await readLog(database.session, Number(revision), 100)
    const snapshot = await database.snapshot()
    const event = { cursor: now, coalesced: 2, changes, isComplete: true, snapshot, release() {} }
    const watched = { next: async () => event, onWake() {}, close() {} }
    const { accessScope } = await namedAuth.identify({ token: munich, cookie: null, address: '' })
    const context = { feed: { watch: () => watched }, principal: { accessScope }, whose: '' } as never
    const source = streamState(context, 'key', { topics: ['all'] }, async (_, { coalesced }) => ({
      send: coalesced,
      memory: null,
    }))
    expect(await source.next()).toMatchObject({ payload: 1 })
    await snapshot.close()
  } finally {
    await api.close()
  }
})
