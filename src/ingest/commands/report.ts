/** Decides the verdict of a status report. */
import type { Deployment } from '../../domain/deployment.ts'
import type { Deviation } from '../../domain/deviation.ts'
import type { OrderKey, ReportOutcome, StatusReport } from '../../domain/report.ts'
import { implicitRollout } from '../../domain/rollout.ts'
import { applyReport } from '../../domain/transition/transition.ts'
import type { Placement } from '../../domain/transition/transition-result.ts'
import type { Command } from '../command.ts'
import { ensureChild, isNamedBehind, newParent, parentName, refuseEnded, refuseStrangers } from '../devices.ts'
import { isUnclaimed } from '../unit-of-work/deployment-rows.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { changeConnectivity, hear, hearKnown, isExcused } from './connectivity.ts'

/** Margo's gateway error code for "child device unreachable". */
const childUnreachable = '102'

/**
 * `caller`: the device of the credential, which may report for itself and for devices behind it. Null: no credential was required.
 * `deviations`: counted for the reporter, whose agent wrote the report, with any verdict.
 */
export function recordReport(
  report: StatusReport,
  caller: string | null = null,
  deviations: readonly Deviation[] = [],
): Command<ReportOutcome> {
  const { deploymentId, reporter } = report
  const device = report.deviceId ?? reporter
  const isForOthers = caller !== null && caller !== reporter
  const isByRegistration = caller !== null && !(isNamedBehind(reporter, caller) && isNamedBehind(device, caller))
  return {
    portable: { kind: 'report', report, caller, deviations },
    needs: {
      deployments: [{ deploymentId, reporter, device, otherwise: implicitRollout(deploymentId) }],
      devices: [
        ...(device === reporter ? [device] : [reporter, device, parentName(device) ?? reporter]),
        ...(isForOthers ? [caller] : []),
      ],
      ...(isByRegistration && { ancestors: true }),
    },
    decide(work) {
      if (caller !== null) refuseStrangers(work, caller, [reporter, device])
      refuseEnded(work.device(reporter), work.device(device), ...(isForOthers ? [work.device(caller)] : []))
      if (device !== reporter) refuseEnded(newParent(work, device, parentName(device) ?? reporter))
      const from = work.ensureDevice(reporter)
      const target = device === reporter ? from : ensureChild(work, device, parentName(device) ?? reporter)
      const known = work.deployment(deploymentId, reporter) ?? declaredOn(work, deploymentId, target.key, reporter)
      const place = {
        key: known?.key ?? work.newKey(),
        targetKey: target.key,
        rolloutKey: known?.rolloutKey ?? work.ensureRollout(implicitRollout(deploymentId)).key,
      }
      const before = work.revision()
      // First: the end of an absence takes a revision before those of the deployment.
      hear(work, from.key, report.observedAt)
      if (isForOthers) hearKnown(work, caller)
      work.countDeviations(from.key, deviations)
      const { verdict, staleBy, deployment, changes } = applyReport(known, report, place, work.moment())
      if (staleBy) {
        keep(work, report, place, staleBy)
        return { verdict: 'STALE', revision: work.revision(), staleBy }
      }
      work.apply(known, { verdict, staleBy, deployment, changes }, report.observedAt)
      noteChild(work, target.key, from.key, report)
      // A report that repeats the known state of the deployment may still end its device's absence.
      if (work.revision() === before) {
        work.countRepeat(deployment)
        return { verdict: 'UNCHANGED', revision: before }
      }
      keep(work, report, place, null)
      return { verdict: 'APPLIED', revision: work.revision() }
    },
  }
}

/**
 * Finds a declared deployment that is not reported yet. The first report takes it over, also that of a gateway. A gateway may run a
 * deployment of its manifest on another child than the declared one.
 */
function declaredOn(work: UnitOfWork, deploymentId: string, targetKey: number, reporter: string): Deployment | null {
  const onTarget = work.deploymentsOn(deploymentId, targetKey).find(isUnclaimed)
  // Listed deployments are loaded only for a reporter that reports about another device.
  const isOfItself = work.targetByKey(targetKey).name === reporter
  return onTarget ?? (isOfItself ? null : (work.unclaimedOf(reporter, deploymentId)[0] ?? null))
}

/** Counts the deviations of a refused report, only for a known device: a refusal creates no device. */
export function countDeviations(name: string, deviations: readonly Deviation[]): Command<null> {
  return {
    portable: { kind: 'countDeviations', device: name, deviations },
    needs: { devices: [name] },
    decide(work) {
      const device = work.device(name)
      if (device && device.retiredAt === null) work.countDeviations(device.key, deviations)
      return null
    },
  }
}

function keep(work: UnitOfWork, report: StatusReport, place: Placement, staleBy: OrderKey | null): void {
  const shared = { deploymentKey: place.key, staleBy, receivedAt: work.now, report }
  if (staleBy) work.keepReport({ ...shared, verdict: 'STALE', place, revision: null })
  else work.keepReport({ ...shared, verdict: 'APPLIED', place: null, revision: work.revision() })
}

/** A gateway's 102 makes its child OFFLINE, and any other report about that child ends it. Silence alone proves nothing. */
function noteChild(work: UnitOfWork, targetKey: number, reporterKey: number, report: StatusReport): void {
  if (targetKey === reporterKey) return
  const target = work.targetByKey(targetKey)
  const codes = [report.error, ...report.components.map((component) => component.error)].map((error) => error?.code)
  if (codes.includes(childUnreachable)) {
    if (!isExcused(target, 'OFFLINE')) changeConnectivity(work, target, 'OFFLINE', 'GATEWAY', report.observedAt)
    return
  }
  // Otherwise the silence of the child itself makes it OFFLINE again and again, while its gateway reaches it.
  const isAwaited = target.lastHeardAt !== null || target.expectedInterval !== null
  const heard = isAwaited ? { ...target, lastHeardAt: work.now } : target
  if (isAwaited) work.putTarget(heard, 'heard')
  if (target.connectivity === 'OFFLINE' || (target.expectedInterval !== null && target.connectivity === 'UNKNOWN'))
    changeConnectivity(work, heard, 'ONLINE', 'GATEWAY', report.observedAt)
}
