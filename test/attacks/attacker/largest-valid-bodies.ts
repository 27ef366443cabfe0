/**
 * The largest valid bodies that each route takes. The items are valid, so each is decided and saved: that is most of the time. The whole work is in
 * slices of one size, so a share of the items shows the same turns as all of them.
 */
import { generateKeyPairSync } from 'node:crypto'
import { asked, bundle, group, gvk, instance, type LargeBody, listed, mib, mutationOf } from './large-body.ts'

const error = { code: 'E42', message: 'the image could not be pulled from the registry: connection refused' }
const components = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ name: `component-${n}`, state: 'failed', error }))
const report = (index: number, count: number) => ({
  deviceId: `edge-${index % 100}`,
  deploymentId: `d-${index % 1_000}`,
  status: { state: 'installing' },
  components: components(count),
})

const container = { image: 'registry.example/app:1.2.3', name: 'app', ready: true, restartCount: 0, started: true }
const podStatus = {
  phase: 'Running',
  podIP: '10.0.0.1',
  conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
    ...{ type, status: 'True', lastProbeTime: null, lastTransitionTime: '2026-01-01T00:00:00Z' },
  })),
  containerStatuses: Array.from({ length: 2 }, () => ({ ...container, state: { running: {} } })),
}
const pod = (index: number) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `pod-${index}`, namespace: 'default', labels: { app: 'a' } },
  status: podStatus,
})
const deployment = (index: number, size: number) =>
  `apiVersion: application.margo.org/v1alpha1\nkind: ApplicationDeployment\nmetadata:\n  annotations:\n    id: d-${index}\n    applicationId: app\nspec:\n  deploymentProfile:\n    type: helm.v3\n    components:\n      - name: web\n        properties:\n          repository: oci://x\n  parameters:\n${Array.from({ length: size }, (_, n) => `    p${n}:\n      value: ${n}\n      targets:\n        - pointer: a.b${n}\n          components: [web]\n`).join('')}`
const yamlReport = (count: number) =>
  `deploymentId: d\nstatus:\n  state: installing\ncomponents:\n${Array.from({ length: count }, (_, n) => `  - name: c${n}\n    state: installing\n`).join('')}`

const publicKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .publicKey.export({ type: 'spki', format: 'der' })
  .toString('base64')
const registration = (fleet: readonly object[]): string =>
  asked({ devices: fleet }, mutationOf('registerDevices', 'RegisterDevicesInput'))

/** `share`: of the items of the largest bodies, 1 at most. */
export function validBodies(share = 1): readonly LargeBody[] {
  const part = (count: number): number => Math.ceil(count * share)
  const fleet = Array.from({ length: part(10_000) }, (_, n) => ({ deviceId: `f-${n}` }))
  return [
    {
      title: 'a backlog of many components',
      line: 'POST /reports',
      body: () => listed(part(32 * mib), 10_000, (n) => report(n, 21), '{"reports":[', ']}'),
      status: 200,
    },
    {
      title: 'a backlog of few large reports',
      line: 'POST /reports',
      body: () => listed(part(32 * mib), 10_000, (n) => report(n, 1_000)),
      status: 200,
    },
    {
      title: 'a backlog in lines',
      line: 'POST /reports',
      body: () => Array.from({ length: part(9_500) }, (_, n) => JSON.stringify(report(n, 21))).join('\n'),
      type: 'application/x-ndjson',
      status: 200,
    },
    {
      title: 'a report of a thousand components',
      line: 'POST /device/edge-1/deployment/d/status',
      body: () =>
        JSON.stringify({
          ...report(1, 0),
          deviceId: 'edge-1',
          deploymentId: 'd',
          components: components(1_000).map(({ name, ...one }) => ({
            ...one,
            name: `${name}${'😀'.repeat(140)}`,
            error: { code: 'E', message: 'x'.repeat(326) },
          })),
        }),
      status: 201,
    },
    {
      title: 'a report in YAML',
      line: 'POST /device/edge-1/deployment/d/status',
      body: () => yamlReport(1_000),
      type: 'application/yaml',
      status: 201,
    },
    {
      title: 'resources',
      line: `POST ${group}/instances/c/resources`,
      body: () =>
        listed(
          part(16 * mib),
          10_000,
          (n) => ({ app: 'a', cluster: 'p+c', GVK: gvk, name: `n-${n}`, namespace: 'default', detail: pod(n) }),
          '{"resources":[',
          ']}',
        ),
      status: 200,
    },
    {
      title: 'pods of a component',
      line: `PUT ${group}/resource-bundle-states/p+c`,
      body: () => listed(part(4 * mib), 5_000, pod, bundle, ']}}'),
      status: 200,
    },
    {
      title: 'actions',
      line: `POST ${group}/actions`,
      body: () =>
        listed(
          mib,
          10_000,
          (n) => ({ State: n % 2 ? 'Instantiated' : 'Updated', ContextId: `c-${n % 10}` }),
          '{"Actions":[',
          ']}',
        ),
      status: 409,
    },
    {
      title: 'an instance of many resources',
      line: 'PUT /v1/instance/i',
      body: () =>
        listed(
          part(8 * mib),
          5_000,
          (n) => ({ GVK: gvk, Name: `n-${n}` }),
          `${JSON.stringify(instance).slice(0, -1)},"resources":[`,
          ']}',
        ),
      status: 200,
    },
    {
      title: 'the status of an instance',
      line: 'PUT /v1/instance/i/status',
      body: () =>
        listed(
          part(8 * mib),
          5_000,
          (n) => ({ name: `pod-${n}`, GVK: gvk, status: { ...pod(n), apiVersion: undefined } }),
          '{"resourcesStatus":[',
          ']}',
        ),
      status: 200,
    },
    {
      title: 'capabilities',
      line: 'POST /api/v1/capabilities',
      body: () =>
        JSON.stringify({
          apiVersion: 'device.margo/v1',
          kind: 'DeviceCapabilitiesManifest',
          properties: {
            id: 'edge-1',
            vendor: 'v',
            modelNumber: 'm',
            serialNumber: 's',
            peripherals: Array.from({ length: 5_000 }, () => ({ type: 'gpu' })),
          },
        }),
      status: 201,
    },
    {
      title: 'declared deployments',
      line: 'POST /graphql',
      body: () =>
        asked({
          deployments: Array.from({ length: part(10_000) }, (_, n) => ({ deviceId: `e-${n}`, deploymentId: 'x' })),
        }),
      status: 200,
    },
    {
      title: 'declared documents',
      line: 'POST /graphql',
      body: () =>
        asked({
          deployments: Array.from({ length: part(38) }, (_, n) => ({
            ...{ deviceId: 'edge-1', deploymentId: `d-${n}`, document: deployment(n, 1_000) },
          })),
        }),
      status: 200,
    },
    {
      title: 'declared deployments of as many rollouts',
      line: 'POST /graphql',
      body: () =>
        asked({
          deployments: Array.from({ length: part(10_000) }, (_, n) => ({ deviceId: `r-${n}`, deploymentId: `x-${n}` })),
        }),
      status: 200,
    },
    {
      title: 'resources reported by a mutation',
      line: 'POST /graphql',
      body: () =>
        asked(
          {
            rollout: { project: 'p', compositeApp: 'a', compositeAppVersion: 'v1', name: 'g' },
            instanceId: 'c',
            resources: Array.from({ length: part(10_000) }, (_, n) => ({
              ...{ component: 'a', cluster: 'p+c', version: 'v1', kind: 'Pod', name: `n-${n}` },
              sync: 'APPLIED',
            })),
          },
          mutationOf('reportResources', 'ReportResourcesInput'),
        ),
      status: 200,
    },
    {
      title: 'resources on as many clusters',
      line: `POST ${group}/instances/c/resources`,
      body: () =>
        listed(
          part(16 * mib),
          10_000,
          (n) => ({ app: `a-${n}`, cluster: `p+c-${n}`, GVK: gvk, name: `n-${n}`, rsyncStatus: 'Applied' }),
          '{"resources":[',
          ']}',
        ),
      status: 200,
    },
    {
      title: 'registered devices',
      line: 'POST /graphql',
      body: () => registration(fleet),
      status: 200,
    },
    {
      title: 'devices with public keys',
      line: 'POST /graphql',
      body: () =>
        asked(
          {
            devices: Array.from({ length: part(2_500) }, (_, n) => ({
              deviceId: `k-${n}`,
              publicKeys: Array(10).fill(publicKey),
            })),
          },
          mutationOf('registerDevices', 'RegisterDevicesInput'),
        ),
      status: 200,
    },
    {
      title: 'retired devices',
      line: 'POST /graphql',
      first: () => registration(fleet),
      body: () => asked({ devices: fleet, reason: 'scrapped' }, mutationOf('retireDevices', 'RetireDevicesInput')),
      status: 200,
    },
  ]
}
