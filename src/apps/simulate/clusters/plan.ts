/** What an orchestrator rolls out, and where: composite applications in deployment intent groups, each on every cluster. Pure. */
import { createRandom } from '../random.ts'

/** How a group develops over time. */
type Behaviour = 'updated' | 'terminated' | 'lasting'

export interface SimulatedGroup {
  readonly project: string
  readonly compositeApp: string
  readonly compositeAppVersion: string
  readonly name: string
  readonly habit: Behaviour
  readonly clusters: readonly string[]
  /** Distinguishes its contexts from those of other runs on the same server. */
  readonly run: string
  /** Milliseconds after the start. */
  readonly startsAt: number
}

export interface PlannedResource {
  readonly group: string
  readonly kind: string
  readonly name: string
  /** A cluster's monitor lists objects of this kind. */
  readonly showable: boolean
}

export const apps = ['collector', 'viewer'] as const
export type App = (typeof apps)[number]

const provider = 'edge'
const habits: readonly Behaviour[] = ['updated', 'terminated', 'lasting']

export function planGroups({ clusters: count, run }: { readonly clusters: number; readonly run: string }) {
  if (count === 0) return []
  const clusters = Array.from({ length: count }, (_, index) => `${provider}+cell-${String(index + 1).padStart(2, '0')}`)
  return habits.map(
    (habit, index): SimulatedGroup => ({
      project: 'plant',
      compositeApp: 'line-control',
      compositeAppVersion: 'v1',
      name: `${['assembly', 'packaging', 'welding'][index]}-${run}`,
      habit,
      clusters,
      run,
      startsAt: (2 + index * 15) * 1_000,
    }),
  )
}

export function resourcesOf(app: App): readonly PlannedResource[] {
  return [
    { group: 'apps', kind: 'Deployment', name: app, showable: true },
    { group: '', kind: 'Service', name: `${app}-service`, showable: true },
    { group: '', kind: 'ConfigMap', name: `${app}-settings`, showable: true },
    ...(app === 'viewer'
      ? [{ group: 'k8s.plugin.opnfv.org', kind: 'Network', name: `${app}-net`, showable: false }]
      : []),
  ]
}

/** The ID of an AppContext: a long number, as in EMCO. */
export function contextOf({ name, run }: SimulatedGroup, round: number): string {
  const random = createRandom(`${run}/context/${name}/${round}`)
  return `5${Array.from({ length: 18 }, () => random.index(10)).join('')}`
}

export function splitCluster(cluster: string): { readonly provider: string; readonly name: string } {
  const cut = cluster.indexOf('+')
  return { provider: cluster.slice(0, cut), name: cluster.slice(cut + 1) }
}
