/**
 * Devices that fetch their desired state, and what an orchestrator desires of them over time. Pure: the seed decides everything,
 * including which documents cannot be installed.
 */
import type { SimulatedDevice } from '../fleet.ts'
import { createRandom } from '../random.ts'

export interface SimulatedAgent extends Pick<SimulatedDevice, 'deviceId' | 'reporter' | 'site' | 'model'> {
  /** The same in every run. */
  readonly name: string
  /** How it fetches its desired state: over REST, or with git where git is installed. */
  readonly fetches: 'manifests' | 'repositories'
  /** Stays on the first version that it adopts, whatever is desired later. */
  readonly isKeptBack: boolean
  readonly deploymentIds: readonly string[]
}

/** The content of one request to the server, and so of one version of the agent's manifest. */
export interface Order {
  readonly at: number
  readonly agent: SimulatedAgent
  /** By deploymentId. Null: it should no longer run. */
  readonly documents: ReadonlyMap<string, string | null>
  readonly reason: string
}

interface Workload {
  readonly name: string
  readonly components: readonly string[]
}

const workloads = [
  { name: 'telemetry', components: ['collector', 'forwarder'] },
  { name: 'line-vision', components: ['camera-feed', 'model-server'] },
  { name: 'gateway-ui', components: ['web'] },
] as const satisfies readonly Workload[]

const second = 1_000

export function planAgents(options: { readonly agents: number; readonly seed: number; readonly run: string }) {
  const { agents: count, seed, run } = options
  return Array.from({ length: count }, (_, index): SimulatedAgent => {
    const name = `agent-${String(index + 1).padStart(2, '0')}`
    const deviceId = `${name}-${run}`
    const random = createRandom(`${seed}/agents/${name}`)
    const own = workloads.slice(0, 1 + random.index(workloads.length))
    return {
      name,
      deviceId,
      reporter: deviceId,
      site: random.pick(['hamburg', 'lyon', 'porto', 'gdansk']),
      model: 'cabinet',
      fetches: index % 4 === 1 ? 'repositories' : 'manifests',
      isKeptBack: index % 7 === 3,
      deploymentIds: own.map((workload) => `${workload.name}-${deviceId}`),
    }
  })
}

/** Endless: all deployments at first; later, single ones change, are removed and return. */
export function* playOrders(agent: SimulatedAgent, seed: number): Generator<Order, never> {
  const random = createRandom(`${seed}/orders/${agent.name}`)
  const releases = new Map(agent.deploymentIds.map((id) => [id, 0]))
  const running = new Set(agent.deploymentIds)
  const next = (id: string): string => {
    const release = (releases.get(id) ?? 0) + 1
    releases.set(id, release)
    // The first can be installed everywhere.
    return documentOf(agent, id, `1.${release}.0${release > 1 && random.chance(0.2) ? brokenMark : ''}`)
  }
  let at = random.between(1, 6) * second
  yield { at, agent, documents: new Map(agent.deploymentIds.map((id) => [id, next(id)])), reason: 'commissioned' }
  for (let round = 1; ; round += 1) {
    at += random.skewed(40) * second
    // In order at first, so that each agent gets both kinds.
    const isRemoval = running.size > 0 && (round === 2 || (round > 2 && random.chance(0.25)))
    const id = random.pick(isRemoval ? [...running] : agent.deploymentIds)
    if (isRemoval) running.delete(id)
    else running.add(id)
    const reason = isRemoval ? 'no longer needed here' : `${nameOf(agent, id)} has a new release`
    yield { at, agent, documents: new Map([[id, isRemoval ? null : next(id)]]), reason }
  }
}

/** A release of that kind cannot be installed. */
const brokenMark = '-broken'
export const isBroken = (revision: string): boolean => revision.endsWith(brokenMark)

const nameOf = ({ deviceId }: SimulatedAgent, deploymentId: string): string =>
  deploymentId.slice(0, -deviceId.length - 1)

/** Margo's ApplicationDeployment, usually in YAML, for some applications in JSON. */
function documentOf(agent: SimulatedAgent, deploymentId: string, revision: string): string {
  const name = nameOf(agent, deploymentId)
  const { components } = workloads.find((workload) => workload.name === name) ?? { components: [] }
  const repository = (component: string): string => `oci://registry.example/charts/${component}`
  if (name === 'gateway-ui')
    return `${JSON.stringify(
      {
        apiVersion: 'application.margo.org/v1alpha1',
        kind: 'ApplicationDeployment',
        metadata: { annotations: { id: deploymentId, applicationId: name }, name, namespace: 'plant' },
        spec: {
          deploymentProfile: {
            type: 'helm',
            components: components.map((component) => ({
              name: component,
              properties: { repository: repository(component), revision },
            })),
          },
          parameters: {},
        },
      },
      null,
      2,
    )}\n`
  return `apiVersion: application.margo.org/v1alpha1
kind: ApplicationDeployment
metadata:
  annotations:
    id: ${deploymentId}
    applicationId: ${name}
  name: ${name}
  namespace: plant
spec:
  deploymentProfile:
    type: helm
    components:
${components
  .map(
    (component) => `      - name: ${component}
        properties:
          repository: ${repository(component)}
          revision: ${revision}
          wait: true
`,
  )
  .join('')}  parameters:
    site:
      value: ${agent.site}
      targets:
        - pointer: global.site
          components: [${components.join(', ')}]
`
}

/** How often an agent wakes. */
export function* playWakes(
  agent: SimulatedAgent,
  seed: number,
): Generator<{ at: number; agent: SimulatedAgent }, never> {
  const random = createRandom(`${seed}/wakes/${agent.name}`)
  for (let at = random.between(0, 4) * second; ; at += random.skewed(4) * second) yield { at, agent }
}
