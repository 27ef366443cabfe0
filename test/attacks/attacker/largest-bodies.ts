/** The largest bodies that each route takes: valid ones, and hostile ones that cost as much as they can. */

const mib = 1 << 20
const integer = '1234567890123456789'
export const group = '/v2/projects/p/composite-apps/a/v1/deployment-intent-groups/g'
const bundle = '{"metadata":{"labels":{"emco/deployment-id":"c-a"}},"status":{"podStatuses":['
const declare = 'mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) { __typename } }'

export interface LargeBody {
  readonly title: string
  readonly line: string
  readonly body: () => string
  readonly type?: string
  readonly status: number
}

/** As many of `unit` as fit. */
function filled(size: number, unit: string, head = '[', tail = ']'): string {
  const count = Math.floor((size - head.length - tail.length) / (unit.length + 1))
  return `${head}${Array<string>(count).fill(unit).join(',')}${tail}`
}

/** As many of the items as fit, at most `most`. */
function listed(size: number, most: number, item: (index: number) => unknown, head = '[', tail = ']'): string {
  const parts: string[] = []
  let left = size - head.length - tail.length
  for (let index = 0; index < most; index += 1) {
    const text = JSON.stringify(item(index))
    left -= text.length + 1
    if (left < 0) break
    parts.push(text)
  }
  return `${head}${parts.join(',')}${tail}`
}

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
const gvk = { Group: '', Version: 'v1', Kind: 'Pod' }
const deployment = (index: number, size: number) =>
  `apiVersion: application.margo.org/v1alpha1\nkind: ApplicationDeployment\nmetadata:\n  annotations:\n    id: d-${index}\n    applicationId: app\nspec:\n  deploymentProfile:\n    type: helm.v3\n    components:\n      - name: web\n        properties:\n          repository: oci://x\n  parameters:\n${Array.from({ length: size }, (_, n) => `    p${n}:\n      value: ${n}\n      targets:\n        - pointer: a.b${n}\n          components: [web]\n`).join('')}`
const yamlReport = (count: number) =>
  `deploymentId: d\nstatus:\n  state: installing\ncomponents:\n${Array.from({ length: count }, (_, n) => `  - name: c${n}\n    state: installing\n`).join('')}`
const asked = (input: unknown, query = declare): string => JSON.stringify({ query, variables: { input } })
const instance = { request: { 'rb-name': 'a', 'rb-version': '1', 'cloud-region': 'r' }, status: 'DONE' }

/** What the others are about. */
export const prepared: readonly Omit<LargeBody, 'title'>[] = [
  { line: 'PUT /v1/instance/i', body: () => JSON.stringify(instance), status: 201 },
  {
    line: `POST ${group}/actions`,
    body: () =>
      JSON.stringify({
        Actions: [{ State: 'Created' }, { State: 'Approved' }, { State: 'Instantiated', ContextId: 'c' }],
      }),
    status: 201,
  },
]

export const validBodies: readonly LargeBody[] = [
  {
    title: 'a backlog of many components',
    line: 'POST /reports',
    body: () => listed(32 * mib, 10_000, (n) => report(n, 21), '{"reports":[', ']}'),
    status: 200,
  },
  {
    title: 'a backlog of few large reports',
    line: 'POST /reports',
    body: () => listed(32 * mib, 10_000, (n) => report(n, 1_000)),
    status: 200,
  },
  {
    title: 'a backlog in lines',
    line: 'POST /reports',
    body: () => Array.from({ length: 9_500 }, (_, n) => JSON.stringify(report(n, 21))).join('\n'),
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
        components: components(1_000).map((one) => ({ ...one, error: { code: 'E', message: 'x'.repeat(900) } })),
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
        16 * mib,
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
    body: () => listed(4 * mib, 5_000, pod, bundle, ']}}'),
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
        8 * mib,
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
        8 * mib,
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
      asked({ deployments: Array.from({ length: 10_000 }, (_, n) => ({ deviceId: `e-${n}`, deploymentId: 'x' })) }),
    status: 200,
  },
  {
    title: 'declared documents',
    line: 'POST /graphql',
    body: () =>
      asked({
        deployments: Array.from({ length: 38 }, (_, n) => ({
          ...{ deviceId: 'edge-1', deploymentId: `d-${n}`, document: deployment(n, 1_000) },
        })),
      }),
    status: 200,
  },
  {
    title: 'resources reported by a mutation',
    line: 'POST /graphql',
    body: () =>
      asked(
        {
          ...{
            rollout: {
              kind: 'DEPLOYMENT_INTENT_GROUP',
              project: 'p',
              compositeApp: 'a',
              compositeAppVersion: 'v1',
              name: 'g',
            },
          },
          instanceId: 'c',
          resources: Array.from({ length: 10_000 }, (_, n) => ({
            ...{ component: 'a', cluster: 'p+c', version: 'v1', kind: 'Pod', name: `n-${n}` },
            sync: 'APPLIED',
          })),
        },
        'mutation ($input: ReportResourcesInput!) { reportResources(input: $input) { __typename } }',
      ),
    status: 200,
  },
]

export const hostileBodies: readonly LargeBody[] = [
  {
    title: 'numbers, one of them long',
    line: 'POST /reports',
    body: () => filled(32 * mib, '0', `[${integer},`),
    status: 413,
  },
  {
    title: 'items of nothing, and a long number',
    line: 'POST /reports',
    body: () => filled(32 * mib, '{}', `{"a":${integer},"reports":[`, ']}'),
    status: 413,
  },
  { title: 'one item of lists', line: 'POST /reports', body: () => `[${filled(32 * mib - 2, '[]')}]`, status: 413 },
  { title: 'brackets', line: 'POST /reports', body: () => '['.repeat(32 * mib), status: 400 },
  { title: 'a number without end', line: 'POST /reports', body: () => `[${'1'.repeat(31 * mib)}]`, status: 400 },
  {
    title: 'empty lines',
    line: 'POST /reports',
    body: () => '\n'.repeat(32 * mib),
    type: 'application/x-ndjson',
    status: 200,
  },
  {
    title: 'a line of nothing',
    line: 'POST /reports',
    body: () => filled(32 * mib, '{}'),
    type: 'application/x-ndjson',
    status: 200,
  },
  {
    title: 'reports that are nothing',
    line: 'POST /reports',
    body: () => `[${Array.from({ length: 10_000 }, () => `{"x":${'[0,0,0,0,0,0,0]'.padEnd(3_300)}}`).join(',')}]`,
    status: 200,
  },
  {
    title: 'words of YAML',
    line: 'POST /device/edge-1/deployment/d/status',
    body: () => `deploymentId: d\nx: [${'a,'.repeat(24_000)}]\n`,
    type: 'application/yaml',
    status: 400,
  },
  {
    title: 'aliases of YAML',
    line: 'POST /device/edge-1/deployment/d/status',
    body: () =>
      `a: &a [x,x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 9 }, (_, n) => `b${n}: [${'*a,'.repeat(1_500)}]`).join('\n')}\n`,
    type: 'application/yaml',
    status: 400,
  },
  {
    title: 'levels of YAML',
    line: 'POST /device/edge-1/deployment/d/status',
    body: () => '['.repeat(60_000),
    type: 'application/yaml',
    status: 400,
  },
  {
    title: 'brackets in one report',
    line: 'POST /device/edge-1/deployment/d/status',
    body: () => `{"components":${'['.repeat(500_000)}${']'.repeat(500_000)}}`,
    status: 400,
  },
  {
    title: 'values in one report',
    line: 'POST /device/edge-1/deployment/d/status',
    body: () => filled(mib, '{}', '{"components":[', ']}'),
    status: 413,
  },
  {
    title: 'resources of nothing',
    line: `POST ${group}/instances/c/resources`,
    body: () => filled(16 * mib, '{}', '{"resources":[', ']}'),
    status: 413,
  },
  {
    title: 'pods of nothing',
    line: `PUT ${group}/resource-bundle-states/p+c`,
    body: () => filled(4 * mib, '{}', bundle, ']}}'),
    status: 413,
  },
  {
    title: 'objects in base64',
    line: `PUT ${group}/resource-bundle-states/p+c`,
    body: () => {
      const res = Buffer.from(`{"metadata":{"name":"n"},"x":[${'{},'.repeat(450_000)}{}]}`).toString('base64')
      const entry = JSON.stringify({ group: 'x', version: 'v1', kind: 'K', res })
      return filled(4 * mib, entry, bundle.replace('podStatuses', 'resourceStatuses'), ']}}')
    },
    status: 200,
  },
  {
    title: 'a status of nothing',
    line: 'PUT /v1/instance/i/status',
    body: () => filled(8 * mib, '{}', '{"resourcesStatus":[', ']}'),
    status: 413,
  },
  {
    title: 'a status of objects that are wide',
    line: 'PUT /v1/instance/i/status',
    body: () => {
      const wide = `{"name":"n","GVK":{"Kind":"K"},"status":{"x":[${'1234567,'.repeat(240_000)}0]}}`
      return filled(8 * mib, wide, '{"resourcesStatus":[', ']}')
    },
    status: 200,
  },
  {
    title: 'an instance with a large override',
    line: 'PUT /v1/instance/i',
    body: () => `${JSON.stringify(instance).slice(0, -1)},"resources":[],"x":[${'1234567,'.repeat(250_000)}0]}`,
    status: 200,
  },
  {
    title: 'objects with one name',
    line: 'PUT /v1/instance/i/status',
    body: () =>
      listed(
        8 * mib,
        5_000,
        (n) => ({ name: 'one', GVK: gvk, status: { metadata: { namespace: `ns-${n}` } } }),
        '{"resourcesStatus":[',
        ']}',
      ),
    status: 200,
  },
  {
    title: 'variables of nothing',
    line: 'POST /graphql',
    body: () => filled(16 * mib - 1_000, '{}', '{"query":"{__typename}","variables":{"a":[', ']}}'),
    status: 413,
  },
  {
    title: 'variables of numbers',
    line: 'POST /graphql',
    body: () => `{"query":"{__typename}","extensions":{"x":[${'1234567,'.repeat(2_000_000)}0]}}`,
    status: 200,
  },
  {
    title: 'a document of braces',
    line: 'POST /graphql',
    body: () => '{a '.repeat(5_000_000),
    type: 'application/graphql',
    status: 413,
  },
  {
    title: 'a document of a comment',
    line: 'POST /graphql',
    body: () => `#${'x'.repeat(16_000_000)}\n{ __typename }`,
    type: 'application/graphql',
    status: 413,
  },
  {
    title: 'documents of YAML words',
    line: 'POST /graphql',
    body: () =>
      asked({
        deployments: Array.from({ length: 16 }, (_, n) => ({
          ...{ deviceId: 'edge-1', deploymentId: `d-${n}`, document: `x${n}: [${'a,'.repeat(49_000)}]` },
        })),
      }),
    status: 200,
  },
]
