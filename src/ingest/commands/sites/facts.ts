/** An entry of a site's log, as an entry of this one. */
import type { ChangeBody } from '../../../domain/change.ts'
import type { Deployment } from '../../../domain/deployment.ts'
import { imageAt } from '../../../domain/fold.ts'
import type { RolloutName } from '../../../domain/rollout.ts'
import type { SiteFact, SiteReport } from '../../../domain/sites/batch.ts'
import { newDeployment } from '../../../domain/transition/transition-result.ts'
import type { UnitOfWork } from '../../unit-of-work/unit-of-work.ts'
import type { Sender } from './sender.ts'
import { enter, leave, type Periods, reinstate, retire } from './targets.ts'

export function applyFact(work: UnitOfWork, sender: Sender, fact: SiteFact, periods: Periods): void {
  work.trace(fact.traceparent ?? null)
  if (fact.deployment === undefined) applyToTarget(work, sender, fact, periods)
  else applyToDeployment(work, sender, fact.deployment, fact)
}

function applyToDeployment(work: UnitOfWork, sender: Sender, theirs: number, fact: SiteFact): void {
  const stored = work.sites.deployment(sender.key, theirs)
  // A snapshot had it already.
  if (stored && fact.revision <= stored.since) return
  const known = stored && work.deploymentByKey(stored.key)
  const target = fact.target === undefined ? known?.targetKey : work.sites.target(sender.key, fact.target)
  const start = known ?? newAt(work, fact, target ?? null)
  if (!stored) work.sites.putDeployment(sender.key, theirs, start.key, 0)
  const rolloutKey = fact.rollout ? work.ensureRollout(fact.rollout).key : start.rolloutKey
  const changes = fact.changes.map((change) => translated(work, sender, change, rolloutKey))
  const deployment = become(work, known ?? null, start, {
    ...{ changes, targetKey: target ?? start.targetKey, rolloutKey, observedAt: fact.observedAt ?? fact.at },
  })
  if (deployment && fact.report) keepReport(work, deployment, fact.report, fact.observedAt ?? null)
}

interface Becoming {
  readonly changes: readonly ChangeBody[]
  readonly targetKey: number
  readonly rolloutKey: number
  readonly observedAt: number | null
}

/** Replays the changes. What a reader of the log would make of them is what is stored. */
export function become(
  work: UnitOfWork,
  known: Deployment | null,
  start: Deployment,
  { changes, observedAt, ...place }: Becoming,
): Deployment | null {
  const { at, revision } = work.moment()
  const entry = { ...place, instanceKey: null, firstRevision: revision, at, observedAt, changes }
  const image = imageAt(known, entry, Number.MAX_SAFE_INTEGER)
  if (image === null || changes.length === 0) return null
  const { siteKey } = work.targetByKey(image.targetKey)
  const deployment = { ...start, ...image, siteKey, claimed: true, receivedAt: work.now }
  work.apply(known, { verdict: 'APPLIED', staleBy: null, deployment, changes }, observedAt)
  return deployment
}

function newAt(work: UnitOfWork, { named, rollout }: SiteFact, targetKey: number | null): Deployment {
  if (!named || !rollout || targetKey === null) throw new Error('an unknown deployment was not refused')
  return newAtPlace(work, named, rollout, targetKey)
}

export function newAtPlace(
  work: UnitOfWork,
  { deploymentId, reporter }: NonNullable<SiteFact['named']>,
  rollout: RolloutName,
  targetKey: number,
): Deployment {
  const place = { key: work.newKey(), targetKey, rolloutKey: work.ensureRollout(rollout).key, instanceKey: null }
  return { ...newDeployment(place, deploymentId, reporter), siteKey: work.targetByKey(targetKey).siteKey }
}

/** The keys of this server, instead of the sender's. */
function translated(work: UnitOfWork, { key: site }: Sender, change: ChangeBody, rolloutKey: number): ChangeBody {
  const targetOf = (theirs: number): number => work.sites.target(site, theirs) ?? 0
  if (change.kind === 'DEPLOYMENT_REVISED') return { ...change, rolloutKey }
  if (change.kind !== 'DEPLOYMENT_MOVED') return change
  return { ...change, fromTargetKey: targetOf(change.fromTargetKey), toTargetKey: targetOf(change.toTargetKey) }
}

function keepReport(work: UnitOfWork, deployment: Deployment, report: SiteReport, observedAt: number | null): void {
  const { verdict, staleBy = null, adoptedManifestVersion = null, seq = null, boot = null, dialect } = report
  const { deploymentId, reporter, state, error } = deployment
  work.keepReport({
    ...{
      deploymentKey: deployment.key,
      verdict,
      staleBy,
      place: null,
      receivedAt: work.now,
      revision: work.revision(),
    },
    report: {
      ...{ reporter, deploymentId, deviceId: null, state, error, components: [] },
      ...{ adoptedManifestVersion, seq, boot, observedAt, dialect },
    },
  })
}

/** What happened to a device or cluster. What it was before is what this server has: facts may repeat what a snapshot said. */
function applyToTarget(work: UnitOfWork, sender: Sender, fact: SiteFact, periods: Periods): void {
  const key = fact.target === undefined ? null : work.sites.target(sender.key, fact.target)
  if (key === null) return
  for (const change of fact.changes) {
    const target = work.targetByKey(key)
    switch (change.kind) {
      case 'CONNECTIVITY_CHANGED':
        if (target.connectivity !== change.to)
          work.recordTarget(
            { ...target, connectivity: change.to },
            { ...change, from: target.connectivity },
            fact.observedAt ?? fact.at,
          )
        break
      case 'DEVICE_RETIRED':
        if (target.retiredAt === null) {
          const replaced = change.replacedByKey === null ? null : work.sites.target(sender.key, change.replacedByKey)
          retire(work, key, change.reason, replaced)
        }
        break
      case 'DEVICE_REINSTATED':
        if (target.retiredAt !== null) reinstate(work, key)
        break
      case 'MAINTENANCE_STARTED':
        if (target.maintenanceKey === null) enter(work, sender.key, key, change, periods)
        break
      case 'MAINTENANCE_ENDED':
        leave(work, key, periods)
        break
      default:
    }
  }
}
