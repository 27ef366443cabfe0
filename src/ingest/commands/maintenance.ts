/**
 * Planned downtime, in the log:
 *
 *   MAINTENANCE_PLANNED, MAINTENANCE_CANCELLED           what operators decide: no device's, so callers with an access scope do not see them
 *   MAINTENANCE_STARTED, MAINTENANCE_ENDED               a device or a cluster enters or leaves a window
 *
 * The duty `windows` finds what is due. The command repeats its checks under the log's lock, so a device enters a window once, whatever replicas evaluate.
 */
import { DomainError } from '../../domain/errors.ts'
import {
  type MaintenancePlan,
  type MaintenanceWindow,
  mostWindows,
  notInMaintenance,
} from '../../domain/maintenance.ts'
import type { Target, TargetName } from '../../domain/target.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import type { Statement } from '../../store/write/contract.ts'
import { type EndedPeriod, endPeriods, endWindow, insertPeriods, insertWindow } from '../../store/write/maintenance.ts'
import type { Command } from '../command.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'

export function planMaintenance(plan: MaintenancePlan, by: string): Command<MaintenanceWindow> {
  return {
    needs: { maintenance: [] },
    decide(work) {
      if (work.maintenance.count() >= mostWindows)
        throw new DomainError('CONFLICT', `there are ${mostWindows} maintenance windows: end some first`)
      const { at, revision } = work.moment()
      const { reason, beginsAt, endsAt, repeat, timeZone } = plan
      const window: MaintenanceWindow = {
        ...{ ...plan, key: work.newKey(), nextAt: beginsAt, nextEnd: endsAt, begun: false },
        ...{ plannedRevision: revision, plannedAt: at, plannedBy: by },
        ...{ endedRevision: null, endedAt: null, endedBy: null },
      }
      work.maintenance.put(window)
      const planned = { maintenanceKey: window.key, reason, from: beginsAt, until: endsAt, repeat, timeZone, by }
      work.recordOfFleet({ kind: 'MAINTENANCE_PLANNED', ...planned })
      return window
    },
    statements: (window) => [insertWindow(window)],
  }
}

/** Ends a window early, with all its further occurrences. Its devices leave it with the next round of the duty. */
export function endMaintenance(key: number, by: string): Command<MaintenanceWindow> {
  return {
    needs: { maintenance: [key] },
    decide(work) {
      const window = work.maintenance.of(key)
      if (!window) throw refusal('NOT_FOUND', 'there is no such maintenance window')
      if (window.endedBy === by) return window
      if (window.endedBy !== null) throw refusal('CONFLICT', `${window.endedBy} has ended this maintenance window`)
      if (window.nextAt === null) throw refusal('CONFLICT', 'this maintenance window is over')
      const { at, revision } = work.moment()
      const ended = { ...window, endedRevision: revision, endedAt: at, endedBy: by }
      work.maintenance.put(ended)
      work.recordOfFleet({ kind: 'MAINTENANCE_CANCELLED', maintenanceKey: key, reason: window.reason, by })
      return ended
    },
    statements: (window) => [endWindow(window)],
  }
}

/** A device or a cluster, and the window that it should be in. Null: none. */
export interface MaintenanceMove {
  readonly target: TargetName
  readonly windowKey: number | null
}

interface Moved {
  readonly moved: number
  readonly ended: readonly EndedPeriod[]
  readonly begun: readonly { readonly target: Target; readonly revision: Revision }[]
}

export function moveMaintenance(moves: readonly MaintenanceMove[]): Command<Moved> {
  return {
    needs: {
      targets: moves.map(({ target }) => target),
      maintenance: [...new Set(moves.flatMap(({ windowKey }) => windowKey ?? []))],
    },
    decide(work) {
      const ended: EndedPeriod[] = []
      const begun: Moved['begun'][number][] = []
      for (const { target, windowKey } of moves) {
        const device = work.target(target.kind, target.provider, target.name)
        if (!device || device.maintenanceKey === windowKey) continue
        const window = windowKey === null ? null : work.maintenance.of(windowKey)
        const enters = window !== null && lasts(window, work.now) && device.retiredAt === null ? window : null
        if (device.maintenanceKey !== null) ended.push(leave(work, device))
        if (enters) begun.push(enter(work, work.targetByKey(device.key), enters))
      }
      return { moved: ended.length + begun.length, ended, begun }
    },
    statements: ({ ended, begun }): readonly Statement[] => [
      ...(ended.length > 0 ? [endPeriods(ended)] : []),
      ...(begun.length > 0 ? [insertPeriods(begun)] : []),
    ],
  }
}

/** It has begun, and is not over: another server may have passed on to its next occurrence. A clock that was set back does not end it. */
function lasts({ endedRevision, begun, nextAt, nextEnd }: MaintenanceWindow, now: Millis): boolean {
  return endedRevision === null && nextAt !== null && (begun || nextAt <= now) && (nextEnd ?? 0) > now
}

/** Also for a device that is retired: one that is out of service is in no window. Its period is ended by `endPeriods`. */
export function leave(work: UnitOfWork, device: Target): EndedPeriod {
  const { at, revision } = work.moment()
  const left = { ...device, ...notInMaintenance, maintenanceEndedAt: at }
  work.recordTarget(left, { kind: 'MAINTENANCE_ENDED', ...factsOf(device) }, null)
  return { targetKey: device.key, endedRevision: revision, endedAt: at }
}

function enter(work: UnitOfWork, device: Target, { key, reason, nextEnd, endsAt }: MaintenanceWindow) {
  const { at, revision } = work.moment()
  const inside = {
    maintenanceKey: key,
    maintenanceReason: reason,
    maintenanceSince: at,
    maintenanceUntil: nextEnd ?? endsAt,
  }
  const target = { ...device, ...inside }
  work.recordTarget(target, { kind: 'MAINTENANCE_STARTED', ...factsOf(target) }, null)
  return { target, revision }
}

function factsOf(device: Target) {
  const { maintenanceKey, maintenanceReason, maintenanceSince, maintenanceUntil } = device
  return {
    maintenanceKey: maintenanceKey ?? 0,
    reason: maintenanceReason ?? '',
    since: maintenanceSince ?? 0,
    until: maintenanceUntil ?? 0,
  }
}

function refusal(code: 'NOT_FOUND' | 'CONFLICT', message: string): DomainError {
  return new DomainError(code, message, { problems: [{ field: 'maintenanceId', message }] })
}
