/**
 * The endless facts about one deployment intent group, from its approval on.
 *
 *   round:  Instantiated (or Updated, with a new instance) → every resource Pending → Applied, app by app and cluster by cluster
 *           → the cluster shows its objects: a Deployment without Pods, Pods that start, most of them ready
 *           some resources are Retrying or Failed before they are Applied; some Pods never start; some clusters are offline for a time
 */
import type { SyncStatus } from '../../../domain/orchestration/resource.ts'
import { createNetwork, type Network, spellsOf } from '../delivery.ts'
import { createRandom, type Random } from '../random.ts'
import { type ObjectList, objectsOf, type PodPlan, type PodState, replicas } from './objects.ts'
import { type App, apps, contextOf, type PlannedResource, resourcesOf, type SimulatedGroup } from './plan.ts'

export interface AppliedItem {
  readonly app: App
  readonly cluster: string
  readonly resource: PlannedResource
  readonly sync: SyncStatus
}

export type ActionState = 'Created' | 'Approved' | 'Instantiated' | 'Updated' | 'Terminated'

/** Milliseconds after the start. */
interface Due {
  readonly at: number
}

type TimedFact = Due &
  (
    | { readonly of: 'action'; readonly state: ActionState; readonly instanceId: string | null }
    | { readonly of: 'resources'; readonly instanceId: string; readonly items: readonly AppliedItem[] }
    | { readonly of: 'objects'; readonly list: ObjectList }
  )

export type GroupFact = TimedFact & { readonly group: SimulatedGroup }

interface ConnectivityFact extends Due {
  readonly of: 'connectivity'
  readonly cluster: string
  readonly isOnline: boolean
}

export type Fact = GroupFact | ConnectivityFact

/** Facts about the same object are sent in sequence. */
export function nameOf(fact: Fact): string {
  return fact.of === 'connectivity' ? fact.cluster : fact.group.name
}

const second = 1_000
/** From one round to the next. */
const period = 120 * second
/** Of one round. A list of a later round never has a lower version. */
const mostVersions = 1_000

/** The number of clusters that are always reachable. */
const reliable = 0.6

export const createClusterNetwork = (seed: number): Network => createNetwork(seed, reliable)

/** The connectivity of the clusters, for any rollout. */
export function* playConnectivity(cluster: string, seed: number): Generator<ConnectivityFact> {
  yield { at: 0, of: 'connectivity', cluster, isOnline: true }
  for (const { from, until } of spellsOf(cluster, seed, reliable)) {
    yield { at: from, of: 'connectivity', cluster, isOnline: false }
    yield { at: until, of: 'connectivity', cluster, isOnline: true }
  }
}

export function* playGroup(group: SimulatedGroup, seed: number, network: Network): Generator<GroupFact, never> {
  const random = createRandom(`${seed}/group/${group.habit}`)
  let at = group.startsAt
  let instanceId = ''
  let context = ''
  for (let round = 0; ; round += 1) {
    const begin = Math.max(at, group.startsAt + round * period)
    const facts: TimedFact[] = []
    const kind = roundOf(group, round)
    if (kind === 'install' || kind === 'update') {
      instanceId = contextOf(group, round)
      // An update keeps the labels in the cluster.
      if (kind === 'install') context = instanceId
    }
    facts.push(...actionsOf(kind, round, begin, instanceId))
    const stage = { random: random.of(round), round, begin, kind, instanceId, context, network }
    if (kind === 'install' || kind === 'update') facts.push(announce(group, stage))
    for (const cluster of group.clusters) facts.push(...playCluster(stage, cluster))
    for (const fact of facts.toSorted((a, b) => a.at - b.at)) {
      at = fact.at + second
      yield { ...fact, group }
    }
  }
}

type RoundKind = 'install' | 'update' | 'terminate' | 'disturb'

interface Stage {
  readonly random: Random
  readonly round: number
  readonly begin: number
  readonly kind: RoundKind
  readonly instanceId: string
  readonly context: string
  readonly network: Network
}

function roundOf({ habit }: SimulatedGroup, round: number): RoundKind {
  if (round === 0) return 'install'
  if (habit === 'updated') return 'update'
  if (habit === 'lasting') return 'disturb'
  return round % 2 === 1 ? 'terminate' : 'install'
}

function* actionsOf(kind: RoundKind, round: number, at: number, instanceId: string): Generator<TimedFact> {
  if (round === 0) yield { at, of: 'action', state: 'Approved', instanceId: null }
  if (kind === 'update') yield { at, of: 'action', state: 'Updated', instanceId }
  if (kind === 'install' || kind === 'update')
    yield { at: at + second, of: 'action', state: 'Instantiated', instanceId }
  if (kind === 'terminate') yield { at, of: 'action', state: 'Terminated', instanceId }
}

/** All resources that will be applied. */
function announce({ clusters }: SimulatedGroup, { begin, instanceId }: Stage): TimedFact {
  const items = clusters.flatMap((cluster) => apps.flatMap((app) => itemsOf(app, cluster, 'PENDING')))
  return { at: begin + 2 * second, of: 'resources', instanceId, items }
}

function itemsOf(app: App, cluster: string, sync: SyncStatus): AppliedItem[] {
  return resourcesOf(app).map((resource) => ({ app, cluster, resource, sync }))
}

function* playCluster(stage: Stage, cluster: string): Generator<TimedFact> {
  for (const app of apps) {
    const place = { ...stage, random: stage.random.of(cluster).of(app), cluster, app }
    const appliedAt = stage.begin + 3 * second + place.random.skewed(6) * second
    if (stage.kind !== 'disturb') yield* apply(place, appliedAt)
    yield* deliver(place, stage.kind === 'terminate' ? vanish(place, appliedAt) : appear(place, appliedAt))
  }
}

interface Place extends Stage {
  readonly cluster: string
  readonly app: App
}

/** The maximum at once. A single resource may take longer than others. */
function* apply({ random, kind, network, app, cluster, instanceId }: Place, at: number): Generator<TimedFact> {
  const goal = kind === 'terminate' ? 'DELETED' : 'APPLIED'
  const report = (time: number, items: readonly AppliedItem[]): TimedFact => ({
    at: time,
    of: 'resources',
    instanceId,
    items,
  })
  const all = itemsOf(app, cluster, goal)
  const back = network.offlineUntil(cluster, at)
  if (back !== null) {
    yield report(at, itemsOf(app, cluster, 'RETRYING'))
    yield report(back + second, all)
    return
  }
  const slow = random.index(all.length)
  const trouble = random.chance(0.12) ? 'FAILED' : random.chance(0.2) ? 'RETRYING' : null
  yield report(at, trouble ? all.map((item, index) => (index === slow ? { ...item, sync: trouble } : item)) : all)
  if (trouble) yield report(at + random.skewed(trouble === 'FAILED' ? 25 : 10) * second, all.slice(slow, slow + 1))
}

interface Moment {
  readonly at: number
  readonly pods: readonly PodPlan[] | null
}

/** Pods start one after the other. Some images are never pulled. */
function* appear({ random, round, kind, app }: Place, appliedAt: number): Generator<Moment> {
  // Later, some Pods die and are created again.
  if (kind === 'disturb' && random.chance(0.5)) return
  let at = appliedAt
  const isStuck = random.chance(0.08)
  const pods = Array.from({ length: replicas }, (_, index) => `${app}-${round}f${random.index(90) + 10}-${index}`)
  const show = (...states: readonly PodState[]): Moment => ({
    at,
    pods: states.map((state, index) => ({ name: pods[index] ?? app, state })),
  })
  for (const states of [
    [],
    ['pending', 'pending'],
    ['running', 'pending'],
    ['running', isStuck ? 'stuck' : 'running'],
  ] as const) {
    at += random.skewed(states.length === 0 ? 1 : 6) * second
    yield show(...states)
  }
}

function* vanish({ random }: Place, at: number): Generator<Moment> {
  yield { at: at + random.skewed(2) * second, pods: [] }
  yield { at: at + random.skewed(8) * second + 10 * second, pods: null }
}

/** An offline cluster shows its lists later. Some lists arrive twice, and some after a newer one. */
function* deliver(
  { random, round, network, context, app, cluster }: Place,
  moments: Iterable<Moment>,
): Generator<TimedFact> {
  let version = round * mostVersions
  for (const { at: seenAt, pods } of moments) {
    version += 1
    const objects = pods ? objectsOf(app, round + 1, pods) : []
    const list = { context, app, cluster, version, objects }
    const late = random.chance(0.08) ? random.between(5, 15) * second : 0
    const at = connected(seenAt + late, version)
    yield { at, of: 'objects', list }
    if (random.chance(0.08)) yield { at: connected(at + random.between(1, 8) * second, version), of: 'objects', list }
  }

  /** Lists that waited arrive in order. */
  function connected(at: number, place: number): number {
    const back = network.offlineUntil(cluster, at)
    return back === null ? at : back + place
  }
}
