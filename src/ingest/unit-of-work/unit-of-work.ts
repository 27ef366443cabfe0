/**
 * A batch's unit of work: the rows that were loaded, the changes of the commands so far, and everything that must be written.
 * Pure bookkeeping: commands decide, store/write/save/save.ts writes.
 */
import { type Alert, fleetScope } from '../../domain/alerts/alert.ts'
import type { ChangeBody } from '../../domain/change.ts'
import type { Deployment } from '../../domain/deployment.ts'
import type { Deviation } from '../../domain/deviation.ts'
import type { Instance } from '../../domain/orchestration/instance.ts'
import type { LifecycleAction } from '../../domain/orchestration/lifecycle.ts'
import type { Resource } from '../../domain/orchestration/resource.ts'
import {
  newRollout,
  type Rollout,
  type RolloutLabels,
  type RolloutName,
  rolloutUniqueName,
} from '../../domain/rollout.ts'
import { ownSite, type Target, type TargetKind } from '../../domain/target.ts'
import type { Moment, Transition } from '../../domain/transition/transition-result.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import {
  type DeviationDelta,
  type Effects,
  type Entry,
  type Head,
  type KeptReport,
  type Loaded,
  type LoadedBranches,
  noSubject,
  type Subject,
  type Touch,
} from '../../store/write/contract.ts'
import { type AlertRows, createAlertRows, noAlerts } from './alert-rows.ts'
import { createDeploymentRows } from './deployment-rows.ts'
import { createDesiredState, type DesiredState, nothingLoaded } from './desired-state.ts'
import { createMaintenanceRows, type MaintenanceRows, noMaintenance } from './maintenance-rows.ts'
import { createOrchestration, nothingOrchestrated, type Orchestration } from './orchestration.ts'
import { createRolloutLabelRows, type RolloutLabelRows } from './rollout-label-rows.ts'
import { createRolloutLives } from './rollout-lives.ts'
import { createSiteRows, noSites, type SiteRows } from './site-rows.ts'
import { createTargetRows, newTarget } from './target-rows.ts'

export interface UnitOfWork {
  readonly now: Millis
  /** Seconds of silence after which any device counts as OFFLINE. Null: only devices that promised a heartbeat. */
  readonly offlineAfter: number | null
  /** The newest revision so far, this batch's included. */
  revision(): Revision
  moment(): Moment
  deployment(deploymentId: string, reporter: string): Deployment | null
  /** Deployments with that deploymentId on that device, of any reporter, forgotten ones included. */
  deploymentsOn(deploymentId: string, targetKey: number): readonly Deployment[]
  /** Deployments with that deploymentId that the device's manifest lists or listed, and that are not reported yet. A desired one comes first. */
  unclaimedOf(owner: string, deploymentId: string): readonly Deployment[]
  deploymentByKey(key: number): Deployment | null
  /** The next report of each deployment of the reporter is the newest. Returns their number. */
  clearMarks(reporter: string): number
  branches(): LoadedBranches
  device(name: string): Target | null
  targetByKey(key: number): Target
  findTarget(key: number): Target | null
  /** The device. Creates it if it does not exist. */
  ensureDevice(name: string): Target
  ensureTarget(kind: TargetKind, provider: string, name: string): Target
  target(kind: TargetKind, provider: string, name: string): Target | null
  /** Of a site: names are unique there. Creates it if it does not exist. */
  ensureTargetOf(siteKey: number, kind: TargetKind, provider: string, name: string): Target
  /** Of a site, as far as it was loaded: a deployment with this id and reporter. */
  deploymentOf(siteKey: number, deploymentId: string, reporter: string, targetKey: number): Deployment | null
  /** The target that holds this public key or SPIFFE id. */
  holderOf(identity: string): Target | null
  /** For later commands of the batch. The command itself writes the change. Null: no target holds the credential any more. */
  giveIdentity(identity: string, target: Target | null): void
  rollout(name: RolloutName): Rollout | null
  rolloutByKey(key: number): Rollout | null
  ensureRollout(name: RolloutName): Rollout
  putRollout(rollout: Rollout): void
  readonly rolloutLabels: Pick<RolloutLabelRows, 'of'>
  deploymentsOfInstance(instanceKey: number): readonly Deployment[]
  readonly orchestration: Orchestration
  readonly desired: DesiredState
  readonly alerts: AlertRows
  readonly maintenance: MaintenanceRows
  readonly sites: Omit<SiteRows, 'effects'>
  newKey(): number
  putTarget(target: Target, touch: Touch): void
  /** Adds a transition's outcome: rows, counters and log. `known` is what the transition started from. */
  apply(known: Deployment | null, outcome: Transition, observedAt: Millis | null): void
  countRepeat(deployment: Deployment): void
  countDeviations(targetKey: number, deviations: readonly Deviation[]): void
  recordTarget(target: Target, change: ChangeBody, observedAt: Millis | null): void
  recordResource(resource: Resource, before: Resource | null, instance: Instance, change: ChangeBody): void
  recordInstance(instance: Instance, change: ChangeBody): void
  recordAction(action: LifecycleAction, instance: Instance | null, change: ChangeBody, observedAt: Millis | null): void
  recordAlert(alert: Alert, change: ChangeBody): void
  /** A change of no device and no rollout. */
  recordOfFleet(change: ChangeBody): void
  recordRolloutLabels(labels: Omit<RolloutLabels, 'since'>, change: ChangeBody): void
  keepReport(report: Omit<KeptReport, 'key'>): void
  /** The trace context of the entries that follow: that of their command. */
  trace(traceparent: string | null): void
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
  let traceparent: string | null = null

  const deployments = createDeploymentRows(loaded)
  const targets = createTargetRows(loaded)
  const rollouts = new Map(loaded.rollouts.map((rollout) => [uniqueNameOf(rollout), rollout]))
  const orchestration = createOrchestration(loaded.orchestration ?? nothingOrchestrated)
  const desired = createDesiredState(loaded.desired ?? nothingLoaded)
  const alerts = createAlertRows(loaded.alerts ?? noAlerts)

  const maintenance = createMaintenanceRows(loaded.maintenance ?? noMaintenance)
  const sites = createSiteRows(loaded.sites ?? noSites)
  const rolloutLabels = createRolloutLabelRows(loaded.rolloutLabels ?? [])
  const lives = createRolloutLives()
  const entries: Entry[] = []
  const reports: KeptReport[] = []
  const touchedRollouts = new Map<number, { row: Rollout; isNew: boolean }>()
  const deviationDeltas = new Map<string, DeviationDelta>()

  const ensureTargetOf = (siteKey: number, kind: TargetKind, provider: string, name: string): Target => {
    const known = targets.byName(kind, provider, name, siteKey)
    if (known) return known
    const created = newTarget(nextKey++, kind, provider, name, revision + 1, siteKey)
    targets.put(created, 'created')
    return created
  }

  const ensureTarget = (kind: TargetKind, provider: string, name: string): Target =>
    ensureTargetOf(ownSite, kind, provider, name)

  const record = (entry: Omit<Entry, 'firstRevision' | 'traceparent'>): void => {
    entries.push({ ...entry, traceparent, firstRevision: revision + 1 })
    revision += entry.changes.length
    if (entry.subject.rolloutKey !== null) lives.touch(entry.subject.rolloutKey, revision)
  }

  const recordOf = (subject: Partial<Subject>, change: ChangeBody, observedAt: Millis | null = null): void =>
    record({ subject: { ...noSubject, ...subject }, before: null, after: null, observedAt, changes: [change] })

  return {
    now,
    offlineAfter,
    revision: () => revision,
    moment: () => ({ now, at, revision: revision + 1 }),
    deployment: deployments.byName,
    deploymentsOn: deployments.on,
    unclaimedOf: deployments.unclaimedOf,
    deploymentByKey: deployments.byKey,
    clearMarks: deployments.clearMarks,
    branches: () => loaded.branches ?? { devices: [], places: [] },
    device: (name) => targets.byName('DEVICE', '', name),
    targetByKey: targets.byKey,
    findTarget: targets.find,
    ensureDevice: (name) => ensureTarget('DEVICE', '', name),
    ensureTarget,
    ensureTargetOf,
    deploymentOf: deployments.ofSite,
    target: targets.byName,
    holderOf: targets.holderOf,
    giveIdentity: targets.giveIdentity,
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
    rolloutLabels,
    deploymentsOfInstance: (instanceKey) => deployments.filter((deployment) => deployment.instanceKey === instanceKey),
    orchestration,
    desired,
    alerts,
    maintenance,
    sites,
    newKey: () => nextKey++,
    putTarget: targets.put,
    apply(known, { deployment, changes }, observedAt) {
      deployments.put(known, deployment, changes.length > 0)
      if (changes.length === 0) return
      record({
        observedAt,
        subject: {
          deploymentKey: deployment.key,
          deploymentId: deployment.deploymentId,
          target: targets.byKey(deployment.targetKey),
          fromTarget: known && known.targetKey !== deployment.targetKey ? targets.byKey(known.targetKey) : null,
          rolloutKey: deployment.rolloutKey,
          fromRolloutKey: known && known.rolloutKey !== deployment.rolloutKey ? known.rolloutKey : null,
          instanceKey: deployment.instanceKey,
          instanceId: deployment.instanceKey === null ? null : deployment.deploymentId,
          resourceKey: null,
        },
        before: known && { deployment: known },
        after: deployment,
        changes,
      })
      lives.take(known, deployment, changes, revision)
    },
    countRepeat: deployments.countRepeat,
    countDeviations(targetKey, deviations) {
      for (const { kind, example } of deviations) {
        const id = `${targetKey} ${kind}`
        const count = (deviationDeltas.get(id)?.count ?? 0) + 1
        deviationDeltas.set(id, { targetKey, kind, count, lastAt: now, example })
      }
    },
    recordTarget(target, change, observedAt) {
      targets.put(target, 'changed')
      recordOf({ target }, change, observedAt)
    },
    recordResource(resource, before, { instanceId, rolloutKey }, change) {
      const { key: resourceKey, deploymentKey, instanceKey } = resource
      orchestration.putResource({ ...resource, changedAt: at, revision: revision + 1 }, before)
      const target = targets.byKey(resource.targetKey)
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
        subject: { ...noSubject, ...subject },
        before: before && { resource: before },
        after: null,
        observedAt: null,
        changes: [change],
      })
    },
    recordInstance(instance, change) {
      const { key: instanceKey, instanceId, rolloutKey } = instance
      orchestration.putInstance({ ...instance, revision: revision + 1 })
      recordOf({ rolloutKey, instanceKey, instanceId }, change)
    },
    recordAction(action, instance, change, observedAt) {
      orchestration.putAction({ ...action, revision: revision + 1 })
      const { key: instanceKey = null, instanceId = null } = instance ?? {}
      recordOf({ rolloutKey: action.rolloutKey, instanceKey, instanceId }, change, observedAt)
    },
    recordAlert(alert, change) {
      alerts.putAlert(alert)
      recordOf({ rolloutKey: alert.rolloutKey === fleetScope ? null : alert.rolloutKey }, change)
    },
    recordOfFleet: (change) => recordOf({}, change),
    recordRolloutLabels(labels, change) {
      rolloutLabels.put({ ...labels, since: revision + 1 })
      recordOf({ rolloutKey: labels.rolloutKey }, change)
    },
    keepReport: (report) => void reports.push({ ...report, key: nextKey++ }),
    trace(given) {
      traceparent = given
    },
    effects: () => ({
      entries,
      reports,
      ...deployments.effects(),
      rolloutLives: lives.effects(),
      targets: targets.effects(revision),
      rollouts: touchedRollouts,
      rolloutLabels: rolloutLabels.effects(),
      orchestration: orchestration.effects(),
      desired: desired.effects(),
      alerts: alerts.effects(),
      sites: sites.effects(),
      deviations: [...deviationDeltas.values()],
      revision,
      at,
      nextKey,
    }),
  }
}

function uniqueNameOf(rollout: RolloutName): string {
  return `${rollout.kind}${rolloutUniqueName(rollout)}`
}
