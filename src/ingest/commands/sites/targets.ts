/** Devices, clusters and sites that the server of a site has. */
import { notInMaintenance } from '../../../domain/maintenance.ts'
import type { SiteTarget } from '../../../domain/sites/batch.ts'
import { pathOf } from '../../../domain/sites/stored-site.ts'
import { inService, type Target, type TargetName } from '../../../domain/target.ts'
import type { Revision } from '../../../domain/values.ts'
import type { EndedPeriod } from '../../../store/write/maintenance.ts'
import type { UnitOfWork } from '../../unit-of-work/unit-of-work.ts'
import type { Sender } from './sender.ts'

/** Periods of targets in maintenance that a batch begins and ends. */
export interface Periods {
  readonly begun: { readonly target: Target; readonly revision: Revision }[]
  readonly ended: EndedPeriod[]
}

export function siteTargetName({ kind, provider = '', name }: SiteTarget): TargetName {
  return { kind, provider, name }
}

/** As it is now. Facts follow that say what became of it. */
export function applyTarget(work: UnitOfWork, sender: Sender, sent: SiteTarget, periods: Periods): void {
  const { key, displayName, labels, registered, expectedInterval, parent, revokedAt, present } = sent
  const known = findTarget(work, sender, sent)
  work.sites.putTarget(sender.key, key, known.key)
  const parentKey = parent === undefined ? null : work.sites.target(sender.key, parent)
  const next: Target = {
    ...known,
    ...{ displayName: displayName ?? null, labels: labels ?? [] },
    // A site is registered with this server only by its operators.
    ...(known.kind !== 'SITE' && { registered: registered ?? false, expectedInterval: expectedInterval ?? null }),
    ...(known.kind !== 'SITE' && { parentKey, revokedAt: revokedAt ?? null }),
  }
  work.putTarget(next, 'changed')
  if (present) applyPresent(work, sender, next, present, periods)
}

/** Its name identifies it: after a restore of the sender, its key may be another's. */
function findTarget(work: UnitOfWork, sender: Sender, sent: SiteTarget): Target {
  const { kind, provider, name } = siteTargetName(sent)
  if (kind === 'SITE') return work.ensureTarget('SITE', '', pathOf(sender.path, name))
  const site = sent.site === undefined ? sender.key : work.ensureTarget('SITE', '', pathOf(sender.path, sent.site)).key
  return work.ensureTargetOf(site, kind, provider, name)
}

/** Of a snapshot: what facts would have said. */
function applyPresent(
  work: UnitOfWork,
  { key: site }: Sender,
  target: Target,
  present: NonNullable<SiteTarget['present']>,
  periods: Periods,
): void {
  const { connectivity, retiredAt, retiredReason, maintenanceReason, maintenanceSince, maintenanceUntil } = present
  if (connectivity !== target.connectivity)
    work.recordTarget(
      { ...work.targetByKey(target.key), connectivity },
      { kind: 'CONNECTIVITY_CHANGED', from: target.connectivity, to: connectivity, source: 'REPORT' },
      null,
    )
  if (retiredAt !== null && target.retiredAt === null) retire(work, target.key, retiredReason ?? '', null)
  if (retiredAt === null && target.retiredAt !== null) reinstate(work, target.key)
  const isInside = maintenanceSince !== null && maintenanceUntil !== null
  if (isInside && target.maintenanceKey === null)
    enter(
      work,
      site,
      target.key,
      { reason: maintenanceReason ?? '', since: maintenanceSince, until: maintenanceUntil },
      periods,
    )
  if (!isInside && target.maintenanceKey !== null) leave(work, target.key, periods)
}

export function retire(work: UnitOfWork, key: number, reason: string, replacedByKey: number | null): void {
  const target = work.targetByKey(key)
  const { at } = work.moment()
  const retired = { ...target, retiredAt: at, retiredReason: reason, replacedByKey }
  work.recordTarget(retired, { kind: 'DEVICE_RETIRED', reason, replacedByKey }, null)
}

export function reinstate(work: UnitOfWork, key: number): void {
  work.recordTarget({ ...work.targetByKey(key), ...inService }, { kind: 'DEVICE_REINSTATED' }, null)
}

interface Window {
  readonly reason: string
  readonly since: number
  readonly until: number
}

/** A window of the site. It is none of this server's: its key is that of the site, negative. */
export function enter(work: UnitOfWork, site: number, key: number, window: Window, { begun }: Periods): void {
  const { reason, since, until } = window
  const { revision } = work.moment()
  const facts = { maintenanceKey: -site, maintenanceReason: reason, maintenanceSince: since, maintenanceUntil: until }
  const target = { ...work.targetByKey(key), ...facts }
  work.recordTarget(target, { kind: 'MAINTENANCE_STARTED', maintenanceKey: -site, reason, since, until }, null)
  begun.push({ target, revision })
}

export function leave(work: UnitOfWork, key: number, { ended }: Periods): void {
  const target = work.targetByKey(key)
  const { maintenanceKey, maintenanceReason, maintenanceSince, maintenanceUntil } = target
  if (maintenanceKey === null) return
  const { at, revision } = work.moment()
  const left = { ...target, ...notInMaintenance, maintenanceEndedAt: at }
  const window = { reason: maintenanceReason ?? '', since: maintenanceSince ?? 0, until: maintenanceUntil ?? 0 }
  work.recordTarget(left, { kind: 'MAINTENANCE_ENDED', maintenanceKey, ...window }, null)
  ended.push({ targetKey: key, endedRevision: revision, endedAt: at })
}
