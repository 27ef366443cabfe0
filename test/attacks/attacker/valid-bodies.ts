/** Bodies that their routes accept, of random content: otherwise nearly all of an attack is refused and writes nothing. */
import type { Random } from './random.ts'

const states = ['pending', 'installing', 'installed', 'failed', 'removing', 'removed']
const errors = [undefined, undefined, { code: 'E42', message: 'no space' }, { code: '102', message: 'x'.repeat(500) }]
const lifecycle = ['Created', 'Approved', 'Instantiated', 'Updated', 'Terminated']
const kinds = [
  { Group: '', Version: 'v1', Kind: 'Pod' },
  { Group: 'apps', Version: 'v1', Kind: 'Deployment' },
  { Group: 'x.io', Version: 'v1', Kind: 'Custom' },
]

/** Null: its route takes no body of a kind that is made here. `path`: with the ids in it. */
export function validBody(random: Random, path: string): unknown {
  const [, deployment] = /\/deployments?\/([\w-]+)\/status$/.exec(path) ?? []
  if (deployment !== undefined) return report(random, deployment)
  if (path === '/reports') return { reports: listOf(random, 20, () => ofDevice(random, report(random, idOf(random)))) }
  const [, device] = /\/clients\/([\w-]+)\/capabilities$/.exec(path) ?? []
  if (device !== undefined) return capabilities(random, device)
  if (path.endsWith('/actions')) return { State: random.choose(lifecycle), ContextId: `c-${1 + random.below(2)}` }
  if (path.endsWith('/connectivity')) return { connectivity: random.choose(['available', 'unreachable', 'online']) }
  if (path.endsWith('/resources')) return { resources: listOf(random, 20, () => resource(random)) }
  if (path.includes('/resource-bundle-states/')) return bundle(random)
  if (path === '/v1/instance/i-1') return instance(random)
  if (path === '/v1/instance/i-1/status') return { resourcesStatus: listOf(random, 20, () => shown(random)) }
  return null
}

const idOf = (random: Random): string => `d-${random.below(500)}`
const ofDevice = (random: Random, body: object): object => ({
  ...body,
  deviceId: random.chance(80) ? 'edge-7' : `edge-7/child-${random.below(5)}`,
})

function listOf(random: Random, most: number, make: () => unknown): unknown[] {
  return Array.from({ length: 1 + random.below(most) }, make)
}

function report(random: Random, deploymentId: string): object {
  const part = (index: number) => ({
    name: `part-${index}`,
    state: random.choose(states),
    error: random.choose(errors),
  })
  const components = Array.from({ length: random.choose([0, 1, 3, 20]) }, (_, index) => part(index))
  const status = { state: random.choose(states), error: random.choose(errors) }
  return { deploymentId, status, components, ...(random.chance(20) && { metadata: { seq: random.below(1_000) } }) }
}

function capabilities(random: Random, id: string): object {
  const properties = { id, vendor: 'v', modelNumber: `m-${random.below(9)}`, serialNumber: 's', roles: ['x'] }
  return { apiVersion: 'device.margo/v1', kind: 'DeviceCapabilitiesManifest', properties }
}

function resource(random: Random): object {
  const status = random.choose(['Applied', 'Pending', 'Failed', 'Retrying', 'Deleted'])
  return {
    ...{ app: `a-${random.below(3)}`, cluster: 'p+c', GVK: random.choose(kinds), name: `n-${random.below(50)}` },
    rsyncStatus: status,
  }
}

function object(random: Random): object {
  const ready = random.choose(['True', 'False', 'Unknown'])
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `n-${random.below(50)}`, namespace: random.choose(['default', 'other']) },
    status: { phase: random.choose(['Running', 'Pending', 'Failed']), conditions: [{ type: 'Ready', status: ready }] },
  }
}

function bundle(random: Random): object {
  const metadata = { labels: { 'emco/deployment-id': `c-1-a-${random.below(3)}` } }
  return { metadata, status: { podStatuses: listOf(random, 20, () => object(random)) } }
}

function instance(random: Random): object {
  const status = random.choose(['DONE', 'CREATING', 'FAILED', 'UPGRADED'])
  const request = { 'rb-name': 'rb', 'rb-version': '1', 'cloud-region': 'region' }
  const resources = listOf(random, 10, () => ({ GVK: random.choose(kinds), Name: `n-${random.below(50)}` }))
  return { request, status, resources }
}

function shown(random: Random): object {
  return { name: `n-${random.below(50)}`, GVK: random.choose(kinds), status: object(random) }
}
