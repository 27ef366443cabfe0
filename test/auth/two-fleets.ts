/**
 * Two fleets that differ only in what some callers do not see: when it changed, in how many commits, and to what. Both clocks are the test's, and both
 * fleets have the same revisions and keys, which are numbered for the whole fleet (docs/security.md).
 */
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { documentOf } from '../support/clients/desired.ts'
import { openPooledPglite } from '../support/databases/pglite-pool.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const adminKey = 'an-admin-key-for-tests-only'
const start = Date.parse('2026-03-01T00:00:00Z')
export const callers = ['label:site=a', 'project:alpha'] as const
export type Caller = (typeof callers)[number]

interface Variant {
  /** What arrives, and so many seconds later. */
  readonly reports: readonly { readonly after: number; readonly body: object }[]
}

const failed = (message: string) => ({ state: 'failed', error: { code: 'E1', message } })

/** Three changes by two reports. */
export const variants: readonly Variant[] = [
  {
    reports: [
      { after: 0.1, body: { status: failed('one'), components: [{ name: 'web', ...failed('one') }] } },
      { after: 0.2, body: { status: failed('two') } },
    ],
  },
  {
    reports: [
      { after: 3.3, body: { status: failed('other') } },
      { after: 6.4, body: { status: failed('other'), components: [{ name: 'web', ...failed('more') }] } },
    ],
  },
]

export interface Fleet {
  readonly server: RunningApp
  readonly keys: ReadonlyMap<Caller, string>
  /** Moves the clock. */
  at(second: number): void
  admin(query: string, variables?: object): Promise<Answer>
  report(device: string, deployment: string, body: object): Promise<void>
  apply(project: string, sync: string): Promise<void>
  /** What some callers do not see, after this second. Takes less than the ten seconds that it is known to. */
  hide(second: number, deployment: string): Promise<void>
  close(): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: a test knows the shape that it selected.
type Answer = any

export const timeOf = (second: number): string => new Date(start + second * 1_000).toISOString()

export async function startFleet({ reports }: Variant): Promise<Fleet> {
  let now = start
  const clock = () => now
  const open = () => openPooledPglite(clock)
  const server = await startApp({
    on: { config: { url: null, dataDir: 'memory' }, open, drop: async () => {} },
    clock,
    // Background duties run when the processor is free, so they do not run at equal moments.
    timeouts: { ...defaultTimeouts, duties: 3_600_000 },
    env: { API_AUTH: 'key', API_ADMIN_KEY: adminKey },
  })
  const authorization = { authorization: `Bearer ${adminKey}` }

  async function admin(query: string, variables: object = {}): Promise<Answer> {
    const response = await server.post('/graphql', { query, variables }, authorization)
    const { data, errors } = (await response.json()) as { data?: Answer; errors?: unknown }
    if (errors) throw new Error(JSON.stringify(errors))
    return data
  }

  async function run(mutation: string, input: object): Promise<Answer> {
    const name = `${mutation.charAt(0).toUpperCase()}${mutation.slice(1)}`
    const { result } = await admin(
      `mutation ($input: ${name}Input!) { result: ${mutation}(input: $input) { __typename ... on UserError { message } ${mutation === 'createApiKey' ? '... on CreateApiKeySuccess { key }' : ''} } }`,
      { input },
    )
    if (!String(result.__typename).endsWith('Success')) throw new Error(`${mutation}: ${JSON.stringify(result)}`)
    return result
  }

  async function report(device: string, deploymentId: string, body: object): Promise<void> {
    const sent = { deploymentId, components: [], ...body }
    const response = await server.post(`/device/${device}/deployment/${deploymentId}/status`, sent)
    const text = await response.text()
    if (!response.ok) throw new Error(`${response.status} ${text}`)
  }

  const registered = (deviceId: string, site: string) => ({ deviceId, labels: [{ key: 'site', value: site }] })
  const declare = (project: string, name: string, device: string, count: number) =>
    run('declareDeployments', {
      rollout: { project, name, labels: [{ key: 'team', value: 'x' }] },
      deployments: Array.from({ length: count }, (_, index) => ({
        deviceId: device,
        deploymentId: `${name}-${index}`,
        application: 'shop',
        applicationVersion: '1',
        components: ['web'],
      })),
    })

  const rolloutOf = (project: string) => ({ project, compositeApp: 'ca', compositeAppVersion: 'v1', name: 'group' })
  const instantiate = async (project: string): Promise<void> => {
    const rollout = rolloutOf(project)
    for (const state of ['CREATED', 'APPROVED']) await run('recordAction', { rollout, state })
    await run('recordAction', { rollout, state: 'INSTANTIATED', instanceId: `run-${project}` })
  }
  async function apply(project: string, sync: string): Promise<void> {
    const resource = { cluster: `p+${project}`, component: 'web', kind: 'Pod', name: 'pod', version: 'v1', sync }
    await run('reportResources', { rollout: rolloutOf(project), instanceId: `run-${project}`, resources: [resource] })
  }

  const fleet: Fleet = {
    server,
    keys: new Map(),
    at: (second) => {
      now = start + second * 1_000
    },
    admin,
    report,
    apply,
    async hide(second, deployment) {
      for (const { after, body } of reports) {
        fleet.at(second + after)
        await report('b-1', deployment, body)
      }
    },
    close: () => server.stop(),
  }
  const keys = new Map<Caller, string>()
  for (const scope of callers)
    keys.set(scope, (await run('createApiKey', { name: 'narrow', roles: ['ADMIN'], scopes: [scope] })).key)
  await run('registerDevices', { devices: [registered('a-1', 'a'), registered('b-1', 'b')] })
  await declare('alpha', 'winter', 'a-1', 12)
  await declare('alpha', 'spring', 'a-1', 16)
  await declare('beta', 'secret', 'b-1', 4)
  await run('declareDeployments', {
    rollout: { project: 'alpha', name: 'documents' },
    deployments: [{ deviceId: 'a-1', deploymentId: 'document', document: documentOf('document') }],
  })
  for (const project of ['alpha', 'beta']) {
    await instantiate(project)
    await apply(project, 'PENDING')
  }
  for (const rollout of ['winter', 'spring'])
    for (let index = 0; index < 12; index += 1) {
      fleet.at(2 * index)
      await report('a-1', `${rollout}-${index}`, { status: { state: 'installing' } })
      fleet.at(2 * index + 1)
      const state = rollout === 'spring' && index === 5 ? failed('full') : { state: 'installed' }
      await report('a-1', `${rollout}-${index}`, { status: state, components: [{ name: 'web', ...state }] })
    }
  return { ...fleet, keys }
}
