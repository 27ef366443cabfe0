/**
 * A batch's unit of work: what was loaded under the lock, what the batch's commands have made of it so far, and everything
 * that must be written. Pure bookkeeping: commands decide, store/write/save.ts writes.
 */
import type { Change, ChangeBody } from '../domain/change.ts'
import { type Counters, convergenceCounter, stateCounter, zeroCounters } from '../domain/counters.ts'
import type { Deployment } from '../domain/deployment.ts'
import { manifestOwner } from '../domain/desired.ts'
import type { Deviation } from '../domain/deviation.ts'
import type { Instance } from '../domain/instance.ts'
import type { LifecycleAction } from '../domain/lifecycle.ts'
import type { Resource } from '../domain/resource.ts'
import { newRollout, type Rollout, type RolloutName, rolloutUniqueName } from '../domain/rollout.ts'
import { inService, type Target, type TargetKind } from '../domain/target.ts'
import type { Moment, Transition } from '../domain/transition-result.ts'
import type { Millis, Revision } from '../domain/values.ts'
import type {
  DeviationDelta,
  Effects,
  Entry,
  Head,
  KeptReport,
  Loaded,
  Subject,
  Touch,
} from '../store/write/contract.ts'
import { createDesiredState, type DesiredState, nothingLoaded } from './desired.ts'
import { createOrchestration, nothingOrchestrated, type Orchestration } from './orchestration.ts'

const emptySubject: Subject = {
  deploymentKey: null,
  deploymentId: null,
  target: null,
  fromTarget: null,
  rolloutKey: null,
  fromRolloutKey: null,
  instanceKey: null,
  instanceId: null,
  resourceKey: null,
}

/** Keys by deploymentId and target, and by deploymentId and whose manifest they would be in. */
interface Names {
  readonly places: Map<string, Set<number>>
  readonly owners: Map<string, Set<number>>
}

export interface UnitOfWork {
  readonly now: Millis
  /** Seconds of silence after which any device counts as offline; null: only those that promised to be heard. */
  readonly offlineAfter: number | null
  /** The newest revision so far, this batch's included. */
  revision(): Revision
  moment(): Moment
  deployment(deploymentId: string, reporter: string): Deployment | null
  /** Those of that id that run on that device, whoever reports them; forgotten ones too. */
  deploymentsOn(deploymentId: string, targetKey: number): readonly Deployment[]
  /** Those of that id that its manifest lists or once listed, and nobody has reported on: the one that should run is the first. */
  freeOf(owner: string, deploymentId: string): readonly Deployment[]
  deploymentByKey(key: number): Deployment | null
  deploymentsOf(reporter: string): readonly Deployment[]
  /** All that were loaded or made. */
  deployments(): Iterable<Deployment>
  targets(): Iterable<Target>
  device(name: string): Target | null
  targetByKey(key: number): Target
  findTarget(key: number): Target | null
  /** The device, made if it does not exist yet. */
  ensureDevice(name: string): Target
  ensureTarget(kind: TargetKind, provider: string, name: string): Target
  target(kind: TargetKind, provider: string, name: string): Target | null
  /** Whose public key or SPIFFE id it is. */
  holderOf(identity: string): Target | null
  /** For those who decide after this in the batch; writing it is its command's. Null: nobody's any more. */
  giveIdentity(identity: string, target: Target | null): void
  rollout(name: RolloutName): Rollout | null
  rolloutByKey(key: number): Rollout | null
  ensureRollout(name: RolloutName): Rollout
  putRollout(rollout: Rollout): void
  deploymentsOfInstance(instanceKey: number): readonly Deployment[]
  readonly orchestration: Orchestration
  readonly desired: DesiredState
  newKey(): number
  putTarget(target: Target, touch: Touch): void
  /** Takes a transition's outcome over: rows, counters and log. `known` is what the transition started from. */
  commit(known: Deployment | null, outcome: Transition, observedAt: Millis | null): void
  countRepeat(deployment: Deployment): void
  countDeviations(targetKey: number, deviations: readonly Deviation[]): void
  recordTarget(target: Target, change: ChangeBody, observedAt: Millis | null): void
  recordResource(resource: Resource, before: Resource | null, instance: Instance, change: ChangeBody): void
  recordInstance(instance: Instance, change: ChangeBody): void
  recordAction(action: LifecycleAction, instance: Instance | null, change: ChangeBody, observedAt: Millis | null): void
  keepReport(report: Omit<KeptReport, 'key'>): void
  effects(): Effects
}

export function createUnitOfWork(
  head: Head,
  loaded: Loaded,
  now: Millis,
  offlineAfter: number | null = null,
): UnitOfWork {
  const at = Math.max(now, head.at)
  let revision = head.revision
  let nextKey = head.nextKey

  const byKey = new Map(loaded.deployments.map((deployment) => [deployment.key, deployment]))
  const byName = new Map(loaded.deployments.filter(isReported).map((d) => [nameOf(d.deploymentId, d.reporter), d.key]))
  /** Made when first asked for: a report that finds its own never does. Those that have moved away stay in it. */
  let names: Names | null = null
  const targets = new Map(loaded.targets.map((target) => [target.key, target]))
  const devices = new Map(loaded.targets.filter((t) => t.kind === 'DEVICE').map((target) => [target.name, target.key]))
  const others = new Map(loaded.targets.filter((t) => t.kind !== 'DEVICE').map((t) => [placeName(t), t.key]))
  const rollouts = new Map(loaded.rollouts.map((rollout) => [uniqueNameOf(rollout), rollout]))
  const identities = new Map(loaded.identities)
  const orchestration = createOrchestration(loaded.orchestration ?? nothingOrchestrated)
  const desired = createDesiredState(loaded.desired ?? nothingLoaded)

  const entries: Entry[] = []
  const reports: KeptReport[] = []
  const touchedDeployments = new Map<number, { row: Deployment; touch: Touch; repeats: number }>()
  const touchedTargets = new Map<number, { row: Target; touch: Touch }>()
  const touchedRollouts = new Map<number, { row: Rollout; isNew: boolean }>()
  const rolloutDeltas = new Map<number, Counters>()
  const fleetDelta = zeroCounters()
  const deviationDeltas = new Map<string, DeviationDelta>()

  const putName = (names: Map<string, Set<number>>, name: string, key: number): void => {
    const there = names.get(name)
    if (there) there.add(key)
    else names.set(name, new Set([key]))
  }
  const put = (index: Names, { key, deploymentId, targetKey, reporter }: Deployment): void => {
    putName(index.places, nameOf(deploymentId, String(targetKey)), key)
    putName(index.owners, nameOf(deploymentId, manifestOwner(reporter)), key)
  }
  const found = (by: keyof Names, deploymentId: string, name: string): Deployment[] => {
    if (!names) {
      names = { places: new Map(), owners: new Map() }
      for (const deployment of byKey.values()) put(names, deployment)
    }
    return [...(names[by].get(nameOf(deploymentId, name)) ?? [])].flatMap((key) => byKey.get(key) ?? [])
  }

  const targetByKey = (key: number): Target => {
    const target = targets.get(key)
    if (!target) throw new Error(`target ${key} was not loaded`)
    return target
  }

  const putTarget = (target: Target, touch: Touch): void => {
    targets.set(target.key, target)
    if (target.kind === 'DEVICE') devices.set(target.name, target.key)
    else others.set(placeName(target), target.key)
    touchedTargets.set(target.key, { row: target, touch: stronger(touchedTargets.get(target.key)?.touch, touch) })
  }

  const count = (deployment: Deployment | null, by: 1 | -1): void => {
    if (!deployment || deployment.forgottenAt !== null || !deployment.isCurrent) return
    const delta = rolloutDeltas.get(deployment.rolloutKey) ?? zeroCounters()
    for (const counter of [stateCounter(deployment.state), convergenceCounter(deployment.convergence)]) {
      fleetDelta[counter] += by
      delta[counter] += by
    }
    rolloutDeltas.set(deployment.rolloutKey, delta)
  }

  const findTarget = (kind: TargetKind, provider: string, name: string): Target | null => {
    const key = kind === 'DEVICE' ? devices.get(name) : others.get(placeName({ kind, provider, name }))
    return key === undefined ? null : targetByKey(key)
  }
  const device = (name: string): Target | null => findTarget('DEVICE', '', name)

  const ensureTarget = (kind: TargetKind, provider: string, name: string): Target => {
    const known = findTarget(kind, provider, name)
    if (known) return known
    const created = newTarget(nextKey++, kind, provider, name)
    putTarget(created, 'created')
    return created
  }

  const record = (entry: Omit<Entry, 'firstRevision'>): void => {
    entries.push({ ...entry, firstRevision: revision + 1 })
    revision += entry.changes.length
  }

  return {
    now,
    offlineAfter,
    revision: () => revision,
    moment: () => ({ now, at, revision: revision + 1 }),
    deployment: (deploymentId, reporter) => byKey.get(byName.get(nameOf(deploymentId, reporter)) ?? -1) ?? null,
    deploymentsOn: (deploymentId, targetKey) =>
      found('places', deploymentId, String(targetKey))
        .filter((deployment) => deployment.targetKey === targetKey)
        .toSorted((a, b) => a.key - b.key),
    freeOf: (owner, deploymentId) =>
      found('owners', deploymentId, owner)
        .filter((d) => d.targetManifestVersion !== null && isFree(d))
        .toSorted((a, b) => Number(b.documentDigest !== null) - Number(a.documentDigest !== null) || a.key - b.key),
    deploymentByKey: (key) => byKey.get(key) ?? null,
    deploymentsOf: (reporter) => [...byKey.values()].filter((deployment) => deployment.reporter === reporter),
    deployments: () => byKey.values(),
    targets: () => targets.values(),
    device,
    targetByKey,
    findTarget: (key) => targets.get(key) ?? null,
    ensureDevice: (name) => ensureTarget('DEVICE', '', name),
    ensureTarget,
    target: findTarget,
    holderOf: (identity) => targets.get(identities.get(identity) ?? -1) ?? null,
    giveIdentity(identity, target) {
      if (target) identities.set(identity, target.key)
      else identities.delete(identity)
    },
    rollout: (name) => rollouts.get(uniqueNameOf(name)) ?? null,
    rolloutByKey: (key) => [...rollouts.values()].find((rollout) => rollout.key === key) ?? null,
    ensureRollout(name) {
      const known = rollouts.get(uniqueNameOf(name))
      if (known) return known
      const created = newRollout(nextKey++, name)
      rollouts.set(uniqueNameOf(name), created)
      touchedRollouts.set(created.key, { row: created, isNew: true })
      return created
    },
    putRollout(rollout) {
      rollouts.set(uniqueNameOf(rollout), rollout)
      touchedRollouts.set(rollout.key, { row: rollout, isNew: touchedRollouts.get(rollout.key)?.isNew ?? false })
    },
    deploymentsOfInstance: (instanceKey) =>
      [...byKey.values()].filter((deployment) => deployment.instanceKey === instanceKey),
    orchestration,
    desired,
    newKey: () => nextKey++,
    putTarget,
    commit(known, outcome, observedAt) {
      const { deployment, changes } = outcome
      const touched = touchedDeployments.get(deployment.key)
      const touch = known === null ? 'created' : changes.length > 0 ? 'changed' : 'heard'
      const strongest = stronger(touched?.touch, touch)
      touchedDeployments.set(deployment.key, { row: deployment, touch: strongest, repeats: touched?.repeats ?? 0 })
      if (known && known.reporter !== deployment.reporter) byName.delete(nameOf(known.deploymentId, known.reporter))
      if (isReported(deployment)) byName.set(nameOf(deployment.deploymentId, deployment.reporter), deployment.key)
      byKey.set(deployment.key, deployment)
      if (names) put(names, deployment)
      if (changes.length === 0) return
      record({
        observedAt,
        subject: {
          deploymentKey: deployment.key,
          deploymentId: deployment.deploymentId,
          target: targetByKey(deployment.targetKey),
          fromTarget: known && known.targetKey !== deployment.targetKey ? targetByKey(known.targetKey) : null,
          rolloutKey: deployment.rolloutKey,
          fromRolloutKey: known && known.rolloutKey !== deployment.rolloutKey ? known.rolloutKey : null,
          instanceKey: deployment.instanceKey,
          instanceId: deployment.instanceKey === null ? null : deployment.deploymentId,
          resourceKey: null,
        },
        before: known && { deployment: known },
        changes,
      })
      count(known, -1)
      count(deployment, 1)
    },
    countRepeat(deployment) {
      const touched = touchedDeployments.get(deployment.key)
      if (touched) touchedDeployments.set(deployment.key, { ...touched, repeats: touched.repeats + 1 })
    },
    countDeviations(targetKey, deviations) {
      for (const { kind, example } of deviations) {
        const identity = `${targetKey} ${kind}`
        const count = (deviationDeltas.get(identity)?.count ?? 0) + 1
        deviationDeltas.set(identity, { targetKey, kind, count, lastAt: now, example })
      }
    },
    recordTarget(target, change, observedAt) {
      putTarget(target, 'changed')
      record({ subject: { ...emptySubject, target }, before: null, observedAt, changes: [change] })
    },
    recordResource(resource, before, { instanceId }, change) {
      const { key: resourceKey, deploymentKey, instanceKey, rolloutKey } = resource
      orchestration.putResource({ ...resource, changedAt: at, revision: revision + 1 }, before)
      const target = targetByKey(resource.targetKey)
      const subject = {
        deploymentKey,
        deploymentId: instanceId,
        target,
        rolloutKey,
        instanceKey,
        instanceId,
        resourceKey,
      }
      record({
        subject: { ...emptySubject, ...subject },
        before: before && { resource: before },
        observedAt: null,
        changes: [change],
      })
    },
    recordInstance(instance, change) {
      const { key: instanceKey, instanceId, rolloutKey } = instance
      orchestration.putInstance({ ...instance, revision: revision + 1 })
      const subject = { ...emptySubject, rolloutKey, instanceKey, instanceId }
      record({ subject, before: null, observedAt: null, changes: [change] })
    },
    recordAction(action, instance, change, observedAt) {
      orchestration.putAction({ ...action, revision: revision + 1 })
      const subject = { ...emptySubject, rolloutKey: action.rolloutKey, instanceKey: instance?.key ?? null }
      record({
        subject: { ...subject, instanceId: instance?.instanceId ?? null },
        before: null,
        observedAt,
        changes: [change],
      })
    },
    keepReport: (report) => void reports.push({ ...report, key: nextKey++ }),
    effects() {
      const written = { entries, reports, deployments: touchedDeployments, targets: touchedTargets }
      const orchestrated = orchestration.effects()
      const deviations = [...deviationDeltas.values()]
      const counted = { deviations, rolloutDeltas, fleetDelta, revision, at, nextKey }
      const held = { orchestration: orchestrated, desired: desired.effects() }
      return { ...written, ...counted, ...held, rollouts: touchedRollouts }
    },
  }
}

/** What subscribers are told, a change a revision. */
export function changesOf(effects: Effects): Change[] {
  return effects.entries.flatMap(({ subject, observedAt, firstRevision, changes }) => {
    const { target, fromTarget } = subject
    const shared = {
      deploymentKey: subject.deploymentKey,
      deploymentId: subject.deploymentId,
      rolloutKey: subject.rolloutKey,
      fromRolloutKey: subject.fromRolloutKey,
      instanceKey: subject.instanceKey,
      instanceId: subject.instanceId,
      resourceKey: subject.resourceKey,
      targetKey: target?.key ?? null,
      targetKind: target?.kind ?? null,
      targetName: target?.name ?? null,
      fromTargetKey: fromTarget?.key ?? null,
      fromTargetName: fromTarget?.name ?? null,
      labels: target?.labels ?? [],
      at: effects.at,
      observedAt,
    }
    return changes.map((body, index) => ({ ...shared, ...body, revision: firstRevision + index }))
  })
}

function stronger(known: Touch | undefined, touch: Touch): Touch {
  const strength: readonly Touch[] = ['heard', 'changed', 'created']
  return known && strength.indexOf(known) > strength.indexOf(touch) ? known : touch
}

function nameOf(deploymentId: string, reporter: string): string {
  return `${deploymentId}\n${reporter}`
}

function uniqueNameOf(rollout: RolloutName): string {
  return `${rollout.kind}${rolloutUniqueName(rollout)}`
}

/** Declared, and nobody has reported on it yet. */
export function isFree({ claimed, forgottenAt }: Deployment): boolean {
  return !claimed && forgottenAt === null
}

/** Not run by an orchestrator: those are found by their instance and target. */
function isReported({ instanceKey }: Deployment): boolean {
  return instanceKey === null
}

function placeName({ kind, provider, name }: Pick<Target, 'kind' | 'provider' | 'name'>): string {
  return `${kind}\n${provider}\n${name}`
}

function newTarget(key: number, kind: TargetKind, provider: string, name: string): Target {
  return {
    key,
    kind,
    provider,
    name,
    displayName: null,
    labels: [],
    registered: false,
    expectedInterval: null,
    parentKey: null,
    connectivity: 'UNKNOWN',
    lastHeardAt: null,
    revokedAt: null,
    ...inService,
  }
}
