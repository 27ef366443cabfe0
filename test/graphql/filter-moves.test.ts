/** Whatever moves a row into a filter or out of it, each live subscription with that filter sends an update. The tables have every field of the filters. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { deploymentIntentGroup, type LifecycleRolloutName } from '../../src/domain/rollout.ts'
import type { DeploymentFilterInput } from '../../src/graphql/objects/selectors/deployment-filter.ts'
import type { ResourceFilterInput } from '../../src/graphql/objects/selectors/resource-filter.ts'
import { recordActions } from '../../src/ingest/commands/act.ts'
import { declareDeployments } from '../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../src/ingest/commands/device.ts'
import { recordCapabilities } from '../../src/ingest/commands/introduce.ts'
import { forgetDeployments } from '../../src/ingest/commands/remove.ts'
import { reportResources, reportStateSnapshot, setConnectivity } from '../../src/ingest/commands/resources.ts'
import { retireDevices } from '../../src/ingest/commands/retire.ts'
import { markSilent } from '../../src/ingest/commands/silence.ts'
import { markStalled } from '../../src/ingest/commands/stall.ts'
import { type Stream, transports } from './clients.ts'
import { declare, documentOf } from './desired-operations.ts'
import { type Api, startApi } from './harness.ts'

let api: Api
let from: string
const open: Stream[] = []
beforeAll(async () => {
  api = await startApi()
  from = new Date().toISOString()
})
afterEach(async () => {
  await Promise.all(open.splice(0).map((stream) => stream.close()))
})
afterAll(() => api.close())

interface Scenario {
  readonly begin?: (id: string) => Promise<unknown>
  /** After `begin`. */
  readonly filter: (id: string) => object | Promise<object>
  readonly act: (id: string) => Promise<unknown>
}

const submit: Api['road']['writer']['submit'] = (command) => api.road.writer.submit(command)
const part = (id: string, state: 'INSTALLED' | 'FAILED' = 'INSTALLED') => ({
  name: `part of ${id}`,
  state,
  error: null,
})
const report = (id: string, more: Parameters<Api['report']>[0] = {}) =>
  api.report({ deploymentId: id, reporter: id, state: 'INSTALLED', components: [part(id)], ...more })
const error = { code: 'E_Disk', message: 'disk full' }
const failing = (id: string) => report(id, { error: { ...error, code: id } })
const register = (id: string, parent: string | null = null) => {
  const labels = [{ key: 'of', value: id }]
  return submit(registerDevices([{ deviceId: id, name: null, labels, parent, expectedInterval: 1, tokenHash: id }]))
}
const rowOf = async (id: string) => {
  const rows = await api.road.database.session.run<{ key: number; revision: number }>(
    'select key, revision from deployments where deployment_id = $1',
    [id],
  )
  return rows.slice(0, 1)
}
const nodeOf = async (id: string) => {
  const document =
    'query ($id: String!) { deployments(filter: { deploymentIds: [$id] }) { nodes { id rollout { id } } } }'
  return (await api.ask(document, { id })).deployments.nodes[0] as { id: string; rollout: { id: string } } | undefined
}
const wanted = (id: string, version: string, application = `app of ${id}`) =>
  submit(
    declareDeployments({ name: `rollout of ${id}`, project: null }, [
      { deviceId: id, deploymentId: id, application, applicationVersion: version, components: null },
    ]),
  )
const document = (id: string, revision: string) =>
  api.ask(declare, {
    input: { deployments: [{ deviceId: id, deploymentId: id, document: documentOf(revision, 'a') }] },
  })

const groupOf = (id: string) => deploymentIntentGroup('p', 'app', 'v1', id) as LifecycleRolloutName
const clusterOf = (id: string) => ({ kind: 'CLUSTER', provider: 'p', name: `cluster ${id}` }) as const
const object = (id: string) => ({
  group: '',
  version: 'v1',
  kind: `Kind${id}`,
  name: `object ${id}`,
  namespace: `space ${id}`,
})
const instantiate = (id: string) => {
  const fact = { instanceId: null, at: null, timestamp: null, compositeProfile: null }
  return submit(
    recordActions(groupOf(id), [
      { ...fact, state: 'CREATED' },
      { ...fact, state: 'APPROVED' },
      { ...fact, state: 'INSTANTIATED', instanceId: id },
    ]),
  )
}
const apply = (id: string, sync: 'PENDING' | 'APPLIED' = 'PENDING') =>
  submit(
    reportResources(groupOf(id), id, [
      { ...object(id), component: `app ${id}`, target: clusterOf(id), showable: true, sync },
    ]),
  )
const show = (id: string, reason = 'CrashLoopBackOff') =>
  submit(
    reportStateSnapshot(groupOf(id), {
      context: id,
      component: `app ${id}`,
      target: clusterOf(id),
      uid: null,
      resourceVersion: null,
      objects: [{ ...object(id), assessment: { readiness: 'FAILED', reason, message: `because ${id}` }, detail: null }],
      canShow: () => true,
    }),
  )
const applied = async (id: string) => {
  await instantiate(id)
  await apply(id)
}
const longAgo = '2000-01-01T00:00:00Z'
const farAhead = '2200-01-01T00:00:00Z'

/** A report makes it match. */
const reported = (filter: Scenario['filter'], begin?: Scenario['begin']): Scenario => ({
  ...(begin && { begin }),
  filter,
  act: (id) => report(id),
})

const ofDeployments: { readonly [Field in keyof Required<DeploymentFilterInput>]: Scenario } = {
  ids: {
    begin: (id) => report(id),
    filter: async (id) => ({ ids: [(await nodeOf(id))?.id] }),
    act: async (id) => submit(forgetDeployments((await rowOf(id)).map(({ key }) => key))),
  },
  deploymentIds: reported((id) => ({ deploymentIds: [id] })),
  deviceIds: {
    begin: (id) => report(id, { deviceId: `${id}/one` }),
    filter: (id) => ({ deviceIds: [`${id}/one`] }),
    act: (id) => report(id, { deviceId: `${id}/two` }),
  },
  clusters: { begin: instantiate, filter: (id) => ({ clusters: [`p+cluster ${id}`] }), act: (id) => apply(id) },
  reporters: reported((id) => ({ reporters: [id] })),
  rolloutIds: {
    begin: (id) => report(id),
    filter: async (id) => ({ rolloutIds: [(await nodeOf(id))?.rollout.id] }),
    act: (id) => wanted(id, '1'),
  },
  instanceIds: { begin: instantiate, filter: (id) => ({ instanceIds: [id] }), act: (id) => apply(id) },
  applications: {
    begin: (id) => wanted(id, '1'),
    filter: (id) => ({ applications: [`app of ${id}`] }),
    act: (id) => wanted(id, '1', 'another'),
  },
  applicationVersions: {
    begin: (id) => wanted(id, `1 of ${id}`),
    filter: (id) => ({ applicationVersions: [`1 of ${id}`] }),
    act: (id) => wanted(id, '2'),
  },
  states: {
    begin: (id) => report(id, { state: 'INSTALLING' }),
    filter: (id) => ({ states: ['INSTALLING'], reporters: [id] }),
    act: (id) => report(id),
  },
  derivedStates: {
    begin: (id) => report(id),
    filter: (id) => ({ derivedStates: ['FAILED'], reporters: [id] }),
    act: (id) => report(id, { components: [part(id, 'FAILED')] }),
  },
  convergence: {
    async begin(id) {
      await document(id, '1')
      await report(id, { adoptedManifestVersion: '2' })
    },
    filter: (id) => ({ convergence: ['CONVERGED'], reporters: [id] }),
    act: (id) => document(id, '2'),
  },
  readiness: { begin: applied, filter: (id) => ({ readiness: ['FAILED'], instanceIds: [id] }), act: (id) => show(id) },
  components: {
    begin: (id) => report(id, { components: [] }),
    filter: (id) => ({ components: [`part of ${id}`] }),
    act: (id) => report(id),
  },
  errorCodes: { begin: (id) => report(id), filter: (id) => ({ errorCodes: [id] }), act: failing },
  labels: reported(
    (id) => ({ labels: [{ key: 'of', value: id }] }),
    (id) => register(id),
  ),
  label: reported(
    (id) => ({ label: { key: 'of', equals: id } }),
    (id) => register(id),
  ),
  connectivity: {
    async begin(id) {
      await register(id)
      await report(id)
    },
    filter: (id) => ({ connectivity: ['OFFLINE'], where: { reporters: [id] } }),
    act: silent,
  },
  lastHeardBefore: reported((id) => ({ lastHeardBefore: farAhead, reporters: [id] })),
  lastHeardAfter: reported((id) => ({ lastHeardAfter: longAgo, reporters: [id] })),
  vendors: reported((id) => ({ vendors: [id] }), capable),
  models: reported((id) => ({ models: [id] }), capable),
  consistent: {
    begin: (id) => report(id),
    filter: (id) => ({ consistent: false, reporters: [id] }),
    act: (id) => report(id, { components: [part(id, 'FAILED')] }),
  },
  stalled: {
    begin: (id) => report(id, { state: 'INSTALLING' }),
    filter: (id) => ({ stalled: true, reporters: [id] }),
    act: async (id) => submit(markStalled(await rowOf(id))),
  },
  hasError: { begin: (id) => report(id), filter: (id) => ({ hasError: true, reporters: [id] }), act: failing },
  text: { begin: (id) => report(id), filter: (id) => ({ text: `full of ${id}` }), act: fullOf },
  changedAfter: reported((id) => ({ changedAfter: longAgo, reporters: [id] })),
  changedBefore: reported((id) => ({ changedBefore: farAhead, reporters: [id] })),
  // The reporter is registered again, so what it reported of another device is no longer closed with it.
  retired: {
    async begin(id) {
      await report(id, { deviceId: `${id}/one` })
      await register(`${id}/one`, `other ${id}`)
      const desire = {
        cause: { caller: 'a test', why: 'scrapped' },
        bundle: () => ({ digest: 'sha256:0', size: 0 }),
      } as const
      await submit(
        retireDevices([{ deviceId: id, replacedBy: null }], { reason: 'scrapped', withChildren: false, desire }),
      )
    },
    filter: (id) => ({ retired: true, deviceIds: [`${id}/one`] }),
    act: (id) => register(id),
  },
  group: {
    begin: (id) => report(id, { components: [] }),
    filter: (id) => ({ group: { by: 'COMPONENT', key: `part of ${id}` } }),
    act: (id) => report(id),
  },
  where: {
    begin: (id) => report(id),
    filter: (id) => ({ where: { not: { or: [{ states: ['INSTALLED'] }, { not: { reporters: [id] } }] } } }),
    act: (id) => report(id, { state: 'FAILED' }),
  },
}

async function silent(id: string): Promise<void> {
  await expect.poll(async () => (await submit(markSilent([id], 0))).marked).toBe(1)
}

async function capable(id: string): Promise<void> {
  await register(id)
  const text = JSON.stringify({ properties: { vendor: id, modelNumber: id } })
  await submit(recordCapabilities(id, id, null, { text, generation: 'v1', labels: [] }))
}

async function fullOf(id: string): Promise<void> {
  await report(id, { error: { ...error, message: `disk full of ${id}` } })
}

const liveDeployments = {
  deploymentCounts:
    'subscription ($filter: DeploymentFilter) { deploymentCounts(filter: $filter) { counts { total } } }',
  deployments: `subscription ($filter: DeploymentFilter) { deployments(filter: $filter) { removed rows { deployment { state } } } }`,
  deploymentGroups:
    'subscription ($filter: DeploymentFilter) { deploymentGroups(by: APPLICATION, filter: $filter) { removed rows { change } } }',
  deploymentCountsOverTime: `subscription ($filter: DeploymentFilter, $from: DateTime!) {
    deploymentCountsOverTime(filter: $filter, from: $from, step: 86400) { points { counts { total } } } }`,
}

const liveResources = {
  resourceCounts: 'subscription ($filter: ResourceFilter) { resourceCounts(filter: $filter) { counts { total } } }',
  resources: 'subscription ($filter: ResourceFilter) { resources(filter: $filter) { removed rows { change } } }',
}

const shown = (filter: (id: string) => object): Scenario => ({ begin: applied, filter, act: (id) => show(id) })
const appears = (filter: (id: string) => object): Scenario => ({ begin: instantiate, filter, act: (id) => apply(id) })

const ofResources: { readonly [Field in keyof Required<ResourceFilterInput>]: Scenario } = {
  ids: {
    begin: applied,
    filter: async (id) => ({ ids: [await resourceOf(id)], presence: ['PRESENT'] }),
    act: (id) => show(id),
  },
  rolloutIds: {
    begin: applied,
    filter: async (id) => ({ rolloutIds: [await rolloutOf(id)], sync: ['APPLIED'] }),
    act: (id) => apply(id, 'APPLIED'),
  },
  deploymentIds: appears((id) => ({ deploymentIds: [id] })),
  apps: appears((id) => ({ apps: [`app ${id}`] })),
  clusters: appears((id) => ({ clusters: [`p+cluster ${id}`] })),
  labels: appears((id) => ({ where: { not: { labels: [{ key: 'of', value: id }] } } })),
  label: appears(() => ({ label: { key: 'of', exists: false } })),
  connectivity: {
    begin: applied,
    filter: (id) => ({ connectivity: ['OFFLINE'], apps: [`app ${id}`] }),
    act: (id) => submit(setConnectivity(clusterOf(id), 'OFFLINE')),
  },
  names: appears((id) => ({ names: [`object ${id}`] })),
  groups: appears((id) => ({ groups: [''], names: [`object ${id}`] })),
  kinds: appears((id) => ({ kinds: [`Kind${id}`] })),
  namespaces: appears((id) => ({ namespaces: [`space ${id}`] })),
  sync: {
    begin: applied,
    filter: (id) => ({ sync: ['APPLIED'], apps: [`app ${id}`] }),
    act: (id) => apply(id, 'APPLIED'),
  },
  presence: shown((id) => ({ presence: ['PRESENT'], apps: [`app ${id}`] })),
  readiness: shown((id) => ({ readiness: ['FAILED'], apps: [`app ${id}`] })),
  reasons: {
    async begin(id) {
      await applied(id)
      await show(id)
    },
    filter: (id) => ({ reasons: ['OOMKilled'], apps: [`app ${id}`] }),
    act: (id) => show(id, 'OOMKilled'),
  },
  text: shown((id) => ({ text: `because ${id}` })),
  changedAfter: appears((id) => ({ changedAfter: longAgo, apps: [`app ${id}`] })),
  changedBefore: appears((id) => ({ changedBefore: farAhead, apps: [`app ${id}`] })),
  instanceIds: appears((id) => ({ instanceIds: [id] })),
  where: {
    begin: applied,
    filter: (id) => ({ where: { and: [{ apps: [`app ${id}`] }, { not: { connectivity: ['UNKNOWN'] } }] } }),
    act: (id) => submit(setConnectivity(clusterOf(id), 'ONLINE')),
  },
}

async function resourceOf(id: string): Promise<string | undefined> {
  const found = await api.ask('query ($id: String!) { resources(filter: { instanceIds: [$id] }) { nodes { id } } }', {
    id,
  })
  return found.resources.nodes[0]?.id
}

async function rolloutOf(id: string): Promise<string | undefined> {
  const found = await api.ask('query ($id: String!) { rollouts(filter: { names: [$id] }) { nodes { id } } }', { id })
  return found.rollouts.nodes[0]?.id
}

const [webSocket] = transports
let count = 0
const newId = (): string => {
  count += 1
  return `s${count}`
}

function watch(document: string, variables: Record<string, unknown>): Stream {
  const stream = webSocket?.watch(api.url, document, variables) ?? expect.unreachable()
  open.push(stream)
  return stream
}

/** Numbers of updates after the first, by what subscribes with which filter. */
async function follow(documents: Readonly<Record<string, string>>, filters: readonly object[]) {
  const updates: Record<string, number> = {}
  await Promise.all(
    filters.flatMap((filter) =>
      Object.entries(documents).map(async ([name, document]) => {
        const stream = watch(document, { filter, from })
        await stream.data()
        const key = `${name} ${JSON.stringify(filter)}`
        updates[key] = 0
        const listen = async (): Promise<void> => {
          for (let next = await stream.next(); next; next = await stream.next()) updates[key] = (updates[key] ?? 0) + 1
        }
        listen().catch(() => undefined)
      }),
    ),
  )
  return () => Object.keys(updates).filter((key) => updates[key] === 0)
}

async function expectUpdates(
  { begin, filter: given, act }: Scenario,
  documents: Readonly<Record<string, string>>,
  variants: (id: string, filter: object) => Promise<readonly object[]>,
): Promise<void> {
  const id = newId()
  await begin?.(id)
  const filter = await given(id)
  const silent = await follow(documents, await variants(id, filter))
  await act(id)
  await expect.poll(silent).toEqual([])
}

describe('a subscription with a filter by', () => {
  it.each(Object.entries(ofDeployments))('%s of deployments follows it', async (field, scenario) => {
    await expectUpdates(scenario, liveDeployments, async (id, filter) => {
      const isLeaf = !['retired', 'group', 'where'].includes(field) && !('where' in filter)
      const base = isLeaf ? { where: filter } : filter
      const rollout = (await nodeOf(id))?.rollout.id
      // Other fields make the subscription watch fewer changes.
      return [
        filter,
        base,
        ...(field === 'clusters' || field === 'retired' ? [] : [{ ...base, deploymentIds: [id] }]),
        ...(rollout ? [{ ...base, rolloutIds: [rollout] }] : []),
      ]
    })
  })

  it.each(Object.entries(ofResources))('%s of resources follows it', async (_, scenario) => {
    await expectUpdates(scenario, liveResources, async (id, filter) => [
      filter,
      { ...filter, instanceIds: [id] },
      { ...filter, rolloutIds: [await rolloutOf(id)] },
      ...('where' in filter ? [] : 'instanceIds' in filter ? [] : [{ where: filter }]),
    ])
  })
})

describe('live counts of', () => {
  const cases: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
    stalled: async (id) => submit(markStalled(await rowOf(id))),
    waiting: (id) => report(id, { state: 'PENDING', error }),
    inconsistent: (id) => report(id, { state: 'PENDING', components: [part(id, 'FAILED')] }),
    withError: (id) => report(id, { state: 'PENDING', error }),
  }
  it.each(Object.entries(cases))('%s deployments follow them', async (field, act) => {
    const id = newId()
    await report(id, { state: 'PENDING', components: [] })
    const arguments_ = 'filter: { deploymentIds: [$id] }'
    const counts = watch(`subscription ($id: String!) { deploymentCounts(${arguments_}) { counts { ${field} } } }`, {
      id,
    })
    const series = watch(
      `subscription ($id: String!, $from: DateTime!) { deploymentCountsOverTime(${arguments_}, from: $from, step: 86400) { points { counts { ${field} } } } }`,
      { id, from },
    )
    const read = async () => [
      (await counts.data()).deploymentCounts.counts,
      (await series.data()).deploymentCountsOverTime.points.at(-1).counts,
    ]
    expect(await read()).toEqual([{ [field]: 0 }, { [field]: 0 }])
    await act(id)
    expect(await read()).toEqual([{ [field]: 1 }, { [field]: 1 }])
  })
})
