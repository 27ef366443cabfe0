/** The deployments of a unit of work, by name, by target and by manifest, with the changes of the batch. */
import { type Counters, convergenceCounter, isCounted, stateCounter, zeroCounters } from '../../domain/counters.ts'
import type { Deployment } from '../../domain/deployment.ts'
import { manifestOwner } from '../../domain/desired.ts'
import { ownSite } from '../../domain/target.ts'
import { noMarks } from '../../domain/transition/order.ts'
import { type Effects, type Loaded, stronger, type Touch } from '../../store/write/contract.ts'

interface DeploymentRows {
  byKey(key: number): Deployment | null
  byName(deploymentId: string, reporter: string): Deployment | null
  /** The same of a site, as far as it was loaded. The one on that target, or the only one: an orchestrator has one name on many clusters. */
  ofSite(siteKey: number, deploymentId: string, reporter: string, targetKey: number): Deployment | null
  /** Deployments with that deploymentId on that target, of any reporter, forgotten ones included. */
  on(deploymentId: string, targetKey: number): readonly Deployment[]
  /** Deployments with that deploymentId that the device's manifest lists or listed, and that are not reported yet. A desired one comes first. */
  unclaimedOf(owner: string, deploymentId: string): readonly Deployment[]
  all(): Iterable<Deployment>
  /** The next report of each deployment of the reporter is the newest. Returns their number, also of those that are not loaded. */
  clearMarks(reporter: string): number
  filter(isWanted: (deployment: Deployment) => boolean): readonly Deployment[]
  put(known: Deployment | null, deployment: Deployment, isChanged: boolean): void
  countRepeat(deployment: Deployment): void
  effects(): Pick<Effects, 'deployments' | 'clearedMarks' | 'rolloutDeltas' | 'fleetDelta'>
}

/** Keys by deploymentId and target, by deploymentId and the owner of the manifest, and by reporter. */
interface Index {
  readonly places: Map<string, Set<number>>
  readonly owners: Map<string, Set<number>>
  readonly reporters: Map<string, Set<number>>
}

export function createDeploymentRows({
  deployments,
  reported,
}: Pick<Loaded, 'deployments' | 'reported'>): DeploymentRows {
  const rows = new Map(deployments.map((deployment) => [deployment.key, deployment]))
  const names = new Map(deployments.filter(isReported).map((d) => [nameOf(d.deploymentId, d.reporter), d.key]))
  const ofSites = new Map<string, Set<number>>()
  for (const deployment of deployments) addToSite(deployment)
  /** Built on first use: a report that finds its own deployment needs no index. Deployments that moved away stay in it. */
  let index: Index | null = null
  const touched = new Map<number, { row: Deployment; touch: Touch; repeats: number }>()
  const clearedMarks = new Set<string>()
  const rolloutDeltas = new Map<number, Counters>()
  const fleetDelta = zeroCounters()

  function addTo(keys: Map<string, Set<number>>, name: string, key: number): void {
    const there = keys.get(name)
    if (there) there.add(key)
    else keys.set(name, new Set([key]))
  }

  function addToSite({ key, siteKey, deploymentId, reporter }: Deployment): void {
    if (siteKey !== ownSite) addTo(ofSites, `${siteKey}\n${nameOf(deploymentId, reporter)}`, key)
  }

  function addToIndex(to: Index, { key, deploymentId, targetKey, reporter, siteKey }: Deployment): void {
    if (siteKey !== ownSite) return
    addTo(to.places, nameOf(deploymentId, String(targetKey)), key)
    addTo(to.owners, nameOf(deploymentId, manifestOwner(reporter)), key)
    addTo(to.reporters, reporter, key)
  }

  function found(by: keyof Index, name: string): Deployment[] {
    if (!index) {
      index = { places: new Map(), owners: new Map(), reporters: new Map() }
      for (const deployment of rows.values()) addToIndex(index, deployment)
    }
    return [...(index[by].get(name) ?? [])].flatMap((key) => rows.get(key) ?? [])
  }

  function count(deployment: Deployment | null, by: 1 | -1): void {
    if (!deployment || !isCounted(deployment)) return
    const delta = rolloutDeltas.get(deployment.rolloutKey) ?? zeroCounters()
    for (const counter of [stateCounter(deployment.state), convergenceCounter(deployment.convergence)]) {
      fleetDelta[counter] += by
      delta[counter] += by
    }
    rolloutDeltas.set(deployment.rolloutKey, delta)
  }

  function put(known: Deployment | null, deployment: Deployment, isChanged: boolean): void {
    const before = touched.get(deployment.key)
    const touch = known === null ? 'created' : isChanged ? 'changed' : 'heard'
    touched.set(deployment.key, {
      row: deployment,
      touch: stronger(before?.touch, touch),
      repeats: before?.repeats ?? 0,
    })
    if (known && known.reporter !== deployment.reporter) names.delete(nameOf(known.deploymentId, known.reporter))
    if (isReported(deployment)) names.set(nameOf(deployment.deploymentId, deployment.reporter), deployment.key)
    rows.set(deployment.key, deployment)
    addToSite(deployment)
    if (index) addToIndex(index, deployment)
    if (!isChanged) return
    count(known, -1)
    count(deployment, 1)
  }

  return {
    byKey: (key) => rows.get(key) ?? null,
    byName: (deploymentId, reporter) => rows.get(names.get(nameOf(deploymentId, reporter)) ?? -1) ?? null,
    ofSite(siteKey, deploymentId, reporter, targetKey) {
      const keys = ofSites.get(`${siteKey}\n${nameOf(deploymentId, reporter)}`) ?? new Set()
      const named = [...keys].flatMap((key) => rows.get(key) ?? [])
      return named.find((one) => one.targetKey === targetKey) ?? (named.length === 1 ? (named[0] ?? null) : null)
    },
    on: (deploymentId, targetKey) =>
      found('places', nameOf(deploymentId, String(targetKey)))
        .filter((deployment) => deployment.targetKey === targetKey)
        .toSorted((a, b) => a.key - b.key),
    unclaimedOf: (owner, deploymentId) =>
      found('owners', nameOf(deploymentId, owner))
        .filter((d) => d.targetManifestVersion !== null && isUnclaimed(d))
        .toSorted((a, b) => Number(b.documentDigest !== null) - Number(a.documentDigest !== null) || a.key - b.key),
    all: () => rows.values(),
    clearMarks(reporter) {
      clearedMarks.add(reporter)
      let created = 0
      for (const known of found('reporters', reporter)) {
        if (known.reporter !== reporter || !isReported(known)) continue
        if (touched.get(known.key)?.touch === 'created') created += 1
        put(known, { ...known, marks: noMarks }, false)
      }
      return (reported?.get(reporter) ?? 0) + created
    },
    filter: (isWanted) => [...rows.values()].filter(isWanted),
    put,
    countRepeat(deployment) {
      const before = touched.get(deployment.key)
      if (before) touched.set(deployment.key, { ...before, repeats: before.repeats + 1 })
    },
    effects: () => ({ deployments: touched, clearedMarks, rolloutDeltas, fleetDelta }),
  }
}

/** Declared, and not reported yet. */
export function isUnclaimed({ claimed, forgottenAt }: Deployment): boolean {
  return !claimed && forgottenAt === null
}

/** Excludes deployments of orchestrators, which are found by instance and target, and those of sites, which have keys of their own. */
function isReported({ instanceKey, siteKey }: Deployment): boolean {
  return instanceKey === null && siteKey === ownSite
}

function nameOf(deploymentId: string, other: string): string {
  return `${deploymentId}\n${other}`
}
