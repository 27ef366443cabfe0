/**
 * What a broker gets, against GraphQL: published-table.json names for each value the field that shows the same. A value that is not in that
 * table fails, and messages of an access scope equal what GraphQL shows in it.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { markerOf } from '../../src/api/mqtt/marker.ts'
import {
  describeVisible,
  type Publication,
  presentDeployments,
  presentRollouts,
  resetOf,
} from '../../src/api/mqtt/present.ts'
import { parseScopes } from '../../src/domain/access-scope.ts'
import type { Change, ChangeKind } from '../../src/domain/change.ts'
import { wordOf } from '../../src/outlets/sinks/change-data.ts'
import type { Session } from '../../src/store/database.ts'
import { withScope } from '../../src/store/read/access-scope.ts'
import { readLog } from '../../src/store/read/changes/changes.ts'
import { deploymentsAfter, rolloutsAfter } from '../../src/store/sinks/published.ts'
import { type Api, startApi } from '../graphql/harness.ts'
import { namedAuth } from '../graphql/principals.ts'
import { undescribed } from '../support/asyncapi.ts'
import { stores } from '../support/databases/stores.ts'
import { bodies } from './change-bodies.ts'
import { distinct, parent, rowsOf } from './published.ts'

const prefix = 'rollcall'
const document = `id: inside-1
metadata: { name: inside-1, namespace: restricted-document }
spec:
  applicationId: test
  deploymentProfile:
    type: compose
    components: [{ name: web, properties: { packageLocation: https://packages.example/restricted.tar.gz } }]
  parameters: { password: { value: restricted-value, targets: [{ pointer: password, components: [web] }] } }
`

describe.each(stores)('what is published by MQTT, on $name', (store) => {
  let api: Api
  let session: Session
  let changes: readonly Change[]
  /** The key of a rollout that has a provider. */
  let ofCluster: number
  const tokens: string[] = []
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
    session = api.road.database.session
    const site = (name: string) => [{ key: 'site', value: name }]
    const devices = [
      { deviceId: 'inside', labels: site('a') },
      { deviceId: 'inside-old', labels: site('a') },
      { deviceId: 'hidden', labels: site('b') },
      { deviceId: 'hidden-new', labels: site('b') },
    ]
    const { registerDevices } = await api.ask(
      `mutation ($devices: [DeviceInput!]!) { registerDevices(input: { devices: $devices }) {
        ... on RegisterDevicesSuccess { results { token } } } }`,
      { devices },
    )
    tokens.push(...registerDevices.results.map(({ token }: { token: string }) => token))
    const declare = (project: string, deployments: readonly object[]) =>
      api.ask(
        `mutation ($rollout: DeclaredRolloutInput!, $deployments: [DeploymentDeclaration!]!) {
          declareDeployments(input: { rollout: $rollout, deployments: $deployments, reason: "restricted-reason" }) { __typename } }`,
        { rollout: { project, name: `rollout-of-${project}` }, deployments },
      )
    await declare('x', [{ deviceId: 'inside', deploymentId: 'inside-1', document }])
    await declare('hidden-y', [{ deviceId: 'hidden', deploymentId: 'hidden-1', components: ['hidden-web'] }])
    const failed = { code: '507', message: 'disk full', source: 'disk' }
    for (const [reporter, deploymentId] of [
      ['inside', 'inside-1'],
      ['hidden', 'hidden-1'],
    ] as const)
      await api.report({
        ...{ reporter, deploymentId, state: 'FAILED', error: failed },
        components: [{ name: 'web', state: 'FAILED', error: failed }],
      })
    // It moves from the hidden device to the other one.
    for (const deviceId of ['hidden', 'inside-old'])
      await api.report({ reporter: 'gateway', deviceId, deploymentId: 'moving', state: 'INSTALLING' })
    const rollout = { project: 'x', compositeApp: 'app', compositeAppVersion: 'v1', name: 'group' }
    const act = (on: object, state: string, instanceId: string | null = null) =>
      api.ask('mutation ($input: RecordActionInput!) { recordAction(input: $input) { __typename } }', {
        input: { rollout: on, state, ...(instanceId !== null && { instanceId }) },
      })
    await act({ provider: 'p', name: 'edge' }, 'CREATED')
    await act(rollout, 'CREATED')
    await act(rollout, 'APPROVED')
    await act(rollout, 'INSTANTIATED', 'i-1')
    const resource = { cluster: 'p+edge', component: 'sink', kind: 'Deployment', group: 'apps', version: 'v1' }
    const resources = [{ ...resource, name: 'sink', namespace: 'default', sync: 'APPLIED' }]
    await api.ask(
      'mutation ($input: ReportResourcesInput!) { reportResources(input: $input) { ... on ReportResourcesSuccess { revision } } }',
      { input: { rollout, instanceId: 'i-1', resources } },
    )
    await api.ask(
      'mutation ($devices: [RetiringDeviceInput!]!) { retireDevices(input: { devices: $devices, reason: "broken" }) { ... on RetireDevicesSuccess { revision } } }',
      { devices: [{ deviceId: 'inside-old', replacedBy: 'hidden-new' }] },
    )
    const { rollouts } = await api.ask('{ rollouts(first: 100) { nodes { id kind } } }')
    const { id } = rollouts.nodes.find(({ kind }: { kind: string }) => kind === 'CLUSTER_INTENTS')
    ofCluster = Number(Buffer.from(id, 'base64url').toString().split(':')[1])
    changes = await readLog(session, 0, 1_000, Number((await api.ask('{ revision }')).revision))
  })
  afterAll(() => api?.close())

  async function publishedTo(scopes: readonly string[]) {
    const scope = scopes.length === 0 ? null : parseScopes(scopes)
    if (typeof scope === 'string') throw new Error(scope)
    const scoped = withScope(session, scope)
    const all = {
      deployments: await presentDeployments(scoped, prefix, await deploymentsAfter(session, 0, 100)),
      rollouts: await presentRollouts(scoped, prefix, await rolloutsAfter(session, 0, 100)),
      changes: await describeVisible(api.road.database, scoped, prefix, changes),
    }
    const bodiesOf = (kind: keyof typeof all) =>
      all[kind].flatMap(({ payload }) => (payload === '' ? [] : [JSON.parse(payload)]))
    return { deployments: bodiesOf('deployments'), rollouts: bodiesOf('rollouts'), changes: bodiesOf('changes') }
  }
  const valuesOf = (...some: readonly Publication[]) =>
    distinct(some.map(({ payload, userProperties = {} }) => ({ ...JSON.parse(payload), userProperties })))

  it('has a retained message whose values are those of the table', async () => {
    const { deployments, rollouts } = await publishedTo([])
    expect(distinct(deployments)).toEqual(rowsOf('present/deployments'))
    expect(distinct(rollouts)).toEqual(rowsOf('present/rollouts'))
    expect(valuesOf(markerOf(prefix, 2, 1))).toEqual(rowsOf('present/revision'))
    expect(valuesOf(resetOf(prefix, 1, 2))).toEqual(rowsOf('changes/reset'))
  })

  it.each(Object.keys(bodies) as ChangeKind[])(
    'has a message for %s whose values are those of the table',
    async (kind) => {
      const some = changes.find(({ resourceKey }) => resourceKey !== null) ?? expect.unreachable()
      const device = changes.find(({ targetKind }) => targetKind === 'DEVICE')?.targetKey ?? 0
      const keys = {
        ...(kind === 'DEPLOYMENT_MOVED' && { fromTargetKey: some.targetKey, toTargetKey: device }),
        ...(kind === 'DEVICE_RETIRED' && { replacedByKey: device }),
      }
      const own = { observedAt: some.at, deploymentId: 'd', instanceId: 'i-1', traceparent: parent }
      const all = [some.rolloutKey, ofCluster].map((rolloutKey) => ({
        ...some,
        ...own,
        ...bodies[kind],
        ...keys,
        rolloutKey,
      }))
      const messages = await describeVisible(api.road.database, session, prefix, all as Change[])
      expect(valuesOf(...messages)).toEqual([...rowsOf(`changes/${kind}`), ...rowsOf('changes')].toSorted())
      expect(JSON.stringify(messages)).not.toContain('restricted')
      for (const { payload, userProperties: headers = {} } of messages)
        expect(undescribed('change', wordOf(kind), { payload: JSON.parse(payload), headers })).toBeNull()
    },
  )

  it.each([[[]], [['label:site=a']], [['project:x']]])(
    'has in the scopes %j what GraphQL shows in them',
    async (scopes) => {
      const as = ['viewer', ...scopes].join('/')
      const shown = await api.ask(
        `{ deployments(first: 100) { nodes {
          id deploymentId reporter state error { code message source } failureStage convergence application
          applicationVersion adoptedManifestVersion attempt stalled components { name state error { code message source } }
          reportedAt changedAt revision target { kind name ... on Cluster { provider } } rollout { id kind name } } }
        rollouts(first: 100) { nodes { id kind name project compositeApp compositeAppVersion provider
          counts: deploymentCounts { total pending installing installed failed removing removed } } }
        changes(first: 100) { nodes { revision kind } } }`,
        {},
        as,
      )
      const published = await publishedTo(scopes)
      const sorted = (nodes: readonly { id: string }[]) => nodes.toSorted((a, b) => (a.id < b.id ? -1 : 1))
      expect(sorted(published.deployments)).toEqual(withoutNoSource(sorted(shown.deployments.nodes)))
      const withDeployments = shown.rollouts.nodes.filter(
        ({ counts }: { counts: { total: number } }) => counts.total > 0,
      )
      expect(sorted(published.rollouts)).toEqual(sorted(withDeployments))
      expect(published.changes.map(({ revision, kind }) => ({ revision, kind }))).toEqual(shown.changes.nodes)
      expect(published.deployments.length).toBeGreaterThan(0)
      const text = JSON.stringify(published)
      expect(text.includes('hidden')).toBe(scopes.length === 0)
      expect(text).not.toContain('restricted')
      for (const token of tokens) expect(text).not.toContain(token)
    },
  )
})

/** A message leaves out what was not reported. */
function withoutNoSource<T>(nodes: T): T {
  return JSON.parse(JSON.stringify(nodes, (name, value) => (name === 'source' && value === null ? undefined : value)))
}
