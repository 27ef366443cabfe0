/**
 * A batch's unit of work: what was loaded under the lock, what the batch's commands have made of it so far, and everything
 * that must be written. Pure bookkeeping: commands decide, store/batch.ts writes.
 */
import type { Change, ChangeBody } from '../domain/change.ts'
import {
  type Deployment,
  type DeploymentState,
  deploymentStates,
  type Millis,
  type Revision,
} from '../domain/deployment.ts'
import type { OrderKey, StatusReport, Verdict } from '../domain/report.ts'
import { type Rollout, type RolloutName, rolloutIdentity } from '../domain/rollout.ts'
import type { Target } from '../domain/target.ts'
import type { Moment, Transition } from '../domain/transition.ts'

export type StateDelta = Record<DeploymentState, number>

/** One row of change_log, with what the feed needs to know about its subject. */
export interface Entry {
  readonly firstRevision: Revision
  readonly observedAt: Millis | null
  readonly deployment: Deployment | null
  readonly target: Target
  readonly fromTarget: Target | null
  readonly fromRolloutKey: number | null
  readonly before: Deployment | null
  readonly changes: readonly ChangeBody[]
}

export interface KeptReport {
  readonly key: number
  readonly deploymentKey: number
  readonly verdict: Verdict
  readonly staleBy: OrderKey | null
  readonly receivedAt: Millis
  readonly revision: Revision | null
  readonly report: StatusReport
}

export interface Head {
  readonly revision: Revision
  readonly at: Millis
  readonly nextKey: number
}

export interface Loaded {
  readonly deployments: readonly Deployment[]
  readonly targets: readonly Target[]
  readonly rollouts: readonly Rollout[]
}

/** How much of a row moved: nothing but "heard again" leaves its indexes alone. */
export type Touch = 'created' | 'changed' | 'heard'

export interface World {
  readonly now: Millis
  /** Seconds of silence after which any device counts as offline; null: only those that promised to be heard. */
  readonly offlineAfter: number | null
  /** The newest revision so far, this batch's included. */
  revision(): Revision
  moment(): Moment
  deployment(deploymentId: string, reporter: string): Deployment | null
  /** Those of that id that run on that device, whoever reports them; forgotten ones too. */
  deploymentsOn(deploymentId: string, targetKey: number): readonly Deployment[]
  deploymentByKey(key: number): Deployment | null
  deploymentsOf(reporter: string): readonly Deployment[]
  device(name: string): Target | null
  targetByKey(key: number): Target
  findTarget(key: number): Target | null
  /** The device, made if it does not exist yet. */
  ensureDevice(name: string): Target
  ensureRollout(name: RolloutName): Rollout
  newKey(): number
  putTarget(target: Target, touch: Touch): void
  /** Takes a transition's outcome over: rows, counters and log. `known` is what the transition started from. */
  commit(known: Deployment | null, outcome: Transition, observedAt: Millis | null): void
  countRepeat(deployment: Deployment): void
  recordTarget(target: Target, change: ChangeBody, observedAt: Millis | null): void
  keepReport(report: Omit<KeptReport, 'key'>): void
  readonly effects: Effects
}

export interface Effects {
  readonly entries: readonly Entry[]
  readonly reports: readonly KeptReport[]
  readonly deployments: ReadonlyMap<
    number,
    { readonly row: Deployment; readonly touch: Touch; readonly repeats: number }
  >
  readonly targets: ReadonlyMap<number, { readonly row: Target; readonly touch: Touch }>
  readonly rollouts: readonly Rollout[]
  readonly rolloutDeltas: ReadonlyMap<number, StateDelta>
  readonly fleetDelta: StateDelta
  readonly revision: Revision
  readonly at: Millis
  readonly nextKey: number
}

export function createWorld(head: Head, loaded: Loaded, now: Millis, offlineAfter: number | null = null): World {
  const at = Math.max(now, head.at)
  let revision = head.revision
  let nextKey = head.nextKey

  const byKey = new Map(loaded.deployments.map((deployment) => [deployment.key, deployment]))
  const byName = new Map(loaded.deployments.map((d) => [nameOf(d.deploymentId, d.reporter), d.key]))
  /** Made when first asked for: a report that finds its own never does. Those that have moved away stay in it. */
  let byPlace: Map<string, Set<number>> | null = null
  const targets = new Map(loaded.targets.map((target) => [target.key, target]))
  const devices = new Map(loaded.targets.filter((t) => t.kind === 'DEVICE').map((target) => [target.name, target.key]))
  const rollouts = new Map(loaded.rollouts.map((rollout) => [identityOf(rollout), rollout]))

  const entries: Entry[] = []
  const reports: KeptReport[] = []
  const touchedDeployments = new Map<number, { row: Deployment; touch: Touch; repeats: number }>()
  const touchedTargets = new Map<number, { row: Target; touch: Touch }>()
  const newRollouts: Rollout[] = []
  const rolloutDeltas = new Map<number, StateDelta>()
  const fleetDelta = zeroDelta()

  const putPlace = (places: Map<string, Set<number>>, deployment: Deployment): void => {
    const place = nameOf(deployment.deploymentId, String(deployment.targetKey))
    const there = places.get(place)
    if (there) there.add(deployment.key)
    else places.set(place, new Set([deployment.key]))
  }

  const places = (): ReadonlyMap<string, ReadonlySet<number>> => {
    if (byPlace) return byPlace
    byPlace = new Map()
    for (const deployment of byKey.values()) putPlace(byPlace, deployment)
    return byPlace
  }

  const targetByKey = (key: number): Target => {
    const target = targets.get(key)
    if (!target) throw new Error(`target ${key} was not loaded`)
    return target
  }

  const putTarget = (target: Target, touch: Touch): void => {
    targets.set(target.key, target)
    if (target.kind === 'DEVICE') devices.set(target.name, target.key)
    touchedTargets.set(target.key, { row: target, touch: stronger(touchedTargets.get(target.key)?.touch, touch) })
  }

  const count = (deployment: Deployment | null, by: 1 | -1): void => {
    if (!deployment || deployment.forgottenAt !== null) return
    fleetDelta[deployment.state] += by
    const delta = rolloutDeltas.get(deployment.rolloutKey) ?? zeroDelta()
    delta[deployment.state] += by
    rolloutDeltas.set(deployment.rolloutKey, delta)
  }

  const device = (name: string): Target | null => {
    const key = devices.get(name)
    return key === undefined ? null : targetByKey(key)
  }

  return {
    now,
    offlineAfter,
    revision: () => revision,
    moment: () => ({ now, at, revision: revision + 1 }),
    deployment: (deploymentId, reporter) => byKey.get(byName.get(nameOf(deploymentId, reporter)) ?? -1) ?? null,
    deploymentsOn: (deploymentId, targetKey) =>
      [...(places().get(nameOf(deploymentId, String(targetKey))) ?? [])]
        .flatMap((key) => byKey.get(key) ?? [])
        .filter((deployment) => deployment.targetKey === targetKey)
        .toSorted((a, b) => a.key - b.key),
    deploymentByKey: (key) => byKey.get(key) ?? null,
    deploymentsOf: (reporter) => [...byKey.values()].filter((deployment) => deployment.reporter === reporter),
    device,
    targetByKey,
    findTarget: (key) => targets.get(key) ?? null,
    ensureDevice(name) {
      const known = device(name)
      if (known) return known
      const created = newDevice(nextKey++, name)
      putTarget(created, 'created')
      return created
    },
    ensureRollout(name) {
      const known = rollouts.get(identityOf(name))
      if (known) return known
      const created = { ...name, key: nextKey++ }
      rollouts.set(identityOf(name), created)
      newRollouts.push(created)
      return created
    },
    newKey: () => nextKey++,
    putTarget,
    commit(known, outcome, observedAt) {
      const { deployment, changes } = outcome
      const touched = touchedDeployments.get(deployment.key)
      const touch = known === null ? 'created' : changes.length > 0 ? 'changed' : 'heard'
      const strongest = stronger(touched?.touch, touch)
      touchedDeployments.set(deployment.key, { row: deployment, touch: strongest, repeats: touched?.repeats ?? 0 })
      if (known && known.reporter !== deployment.reporter) byName.delete(nameOf(known.deploymentId, known.reporter))
      byName.set(nameOf(deployment.deploymentId, deployment.reporter), deployment.key)
      byKey.set(deployment.key, deployment)
      if (byPlace) putPlace(byPlace, deployment)
      if (changes.length === 0) return
      entries.push({
        firstRevision: revision + 1,
        observedAt,
        deployment,
        target: targetByKey(deployment.targetKey),
        fromTarget: known && known.targetKey !== deployment.targetKey ? targetByKey(known.targetKey) : null,
        fromRolloutKey: known && known.rolloutKey !== deployment.rolloutKey ? known.rolloutKey : null,
        before: known,
        changes,
      })
      revision += changes.length
      count(known, -1)
      count(deployment, 1)
    },
    countRepeat(deployment) {
      const touched = touchedDeployments.get(deployment.key)
      if (touched) touchedDeployments.set(deployment.key, { ...touched, repeats: touched.repeats + 1 })
    },
    recordTarget(target, change, observedAt) {
      putTarget(target, 'changed')
      const subject = { deployment: null, target, fromTarget: null, fromRolloutKey: null, before: null }
      entries.push({ ...subject, firstRevision: revision + 1, observedAt, changes: [change] })
      revision += 1
    },
    keepReport: (report) => void reports.push({ ...report, key: nextKey++ }),
    get effects() {
      const written = { entries, reports, deployments: touchedDeployments, targets: touchedTargets }
      return { ...written, rollouts: newRollouts, rolloutDeltas, fleetDelta, revision, at, nextKey }
    },
  }
}

/** What subscribers are told, a change a revision. */
export function changesOf(effects: Effects): Change[] {
  return effects.entries.flatMap((entry) => {
    const { deployment, target, fromTarget, fromRolloutKey, observedAt } = entry
    const subject = {
      deploymentKey: deployment?.key ?? null,
      deploymentId: deployment?.deploymentId ?? null,
      targetKey: target.key,
      targetName: target.name,
      fromTargetName: fromTarget?.name ?? null,
      labels: target.labels,
      rolloutKey: deployment?.rolloutKey ?? null,
      fromRolloutKey,
      instanceKey: deployment?.instanceKey ?? null,
      instanceId: null,
      at: effects.at,
      observedAt,
    }
    return entry.changes.map((body, index) => ({ ...subject, ...body, revision: entry.firstRevision + index }))
  })
}

export function zeroDelta(): StateDelta {
  return { PENDING: 0, INSTALLING: 0, INSTALLED: 0, FAILED: 0, REMOVING: 0, REMOVED: 0 }
}

export function isZeroDelta(delta: StateDelta): boolean {
  return deploymentStates.every((state) => delta[state] === 0)
}

function stronger(known: Touch | undefined, touch: Touch): Touch {
  const strength: readonly Touch[] = ['heard', 'changed', 'created']
  return known && strength.indexOf(known) > strength.indexOf(touch) ? known : touch
}

function nameOf(deploymentId: string, reporter: string): string {
  return `${deploymentId}\n${reporter}`
}

function identityOf(rollout: RolloutName): string {
  return `${rollout.kind}${rolloutIdentity(rollout)}`
}

function newDevice(key: number, name: string): Target {
  return {
    key,
    kind: 'DEVICE',
    provider: '',
    name,
    displayName: null,
    labels: [],
    registered: false,
    expectedInterval: null,
    parentKey: null,
    connectivity: 'UNKNOWN',
    lastHeardAt: null,
    revokedAt: null,
  }
}
