/**
 * Signs of life, and what makes a target ONLINE or OFFLINE:
 *
 *   REPORT         a device sent something that was accepted or refused for its content
 *   SILENCE        a device that must send heartbeats did not
 *   BROKER         its birth, or its last will, at the MQTT broker
 *   GATEWAY        a report of its gateway (report.ts)
 *   ORCHESTRATOR   an orchestrator says so, or the watch of a cluster
 *
 * Within a maintenance window nothing makes a target OFFLINE. What brokers and orchestrators say meanwhile is kept (tables/maintenance.ts), and counts
 * after the window if the target was not heard since. A gateway says it again with its next report.
 */
import type { ReportOutcome, Verdict } from '../../domain/report.ts'
import type { Connectivity, ConnectivitySource, Target, TargetName } from '../../domain/target.ts'
import { isOlderConnection, orderConnection } from '../../domain/transition/order.ts'
import type { Millis } from '../../domain/values.ts'
import type { Statement } from '../../store/write/contract.ts'
import { type GoneTarget, keepGone, settleGone } from '../../store/write/maintenance.ts'
import type { Command } from '../command.ts'
import { eachPart } from '../command-parts.ts'
import { isNamedBehind, refuseEnded, refuseStrangers } from '../devices.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'

/** A request with a valid credential and without a valid report still shows that its device is alive. */
export function hearDevice(name: string): Command<null> {
  return hearDevices([name])
}

export function hearDevices(names: readonly string[]): Command<null> {
  return {
    portable: { kind: 'hear', names },
    needs: { devices: names },
    decide(work) {
      for (const name of names) hearKnown(work, name)
      return null
    },
    async ifTooLarge(write) {
      await eachPart(names, (part) => write(hearDevices(part)))
      return null
    },
  }
}

export function hearKnown(work: UnitOfWork, name: string): void {
  const device = work.device(name)
  if (device && device.revokedAt === null && device.retiredAt === null) hear(work, device.key, null)
}

/** A sign of life. It ends an absence, and makes a device ONLINE that promised heartbeats or must send them. */
export function hear(work: UnitOfWork, reporterKey: number, observedAt: Millis | null): void {
  const device = { ...work.targetByKey(reporterKey), lastHeardAt: work.now }
  work.putTarget(device, 'heard')
  const isExpected = device.expectedInterval !== null || work.offlineAfter !== null
  if (device.connectivity === 'OFFLINE' || (isExpected && device.connectivity === 'UNKNOWN'))
    changeConnectivity(work, device, 'ONLINE', 'REPORT', observedAt)
}

/**
 * Marks devices and sites OFFLINE that must send heartbeats, and are still silent when the command is decided. Within a maintenance window silence is expected. `listeningSince`: our own downtime is not their
 * silence.
 */
export function markSilent(
  targets: readonly TargetName[],
  listeningSince: Millis,
): Command<{ readonly marked: number }> {
  return {
    needs: { targets },
    decide(work) {
      let marked = 0
      for (const { kind, provider, name } of targets) {
        const device = work.target(kind, provider, name)
        const seconds = device?.expectedInterval ?? work.offlineAfter
        if (!device || seconds === null || device.lastHeardAt === null || device.connectivity === 'OFFLINE') continue
        if (device.retiredAt !== null || device.maintenanceKey !== null) continue
        const heardSince = Math.max(device.lastHeardAt, device.maintenanceEndedAt ?? 0, listeningSince)
        if (work.now - heardSince <= seconds * 1000) continue
        changeConnectivity(work, device, 'OFFLINE', 'SILENCE', null)
        marked += 1
      }
      return { marked }
    },
    async ifTooLarge(write) {
      const parts = await eachPart(targets, (part) => write(markSilent(part, listeningSince)))
      return { marked: parts.reduce((sum, { marked }) => sum + marked, 0) }
    },
  }
}

interface ConnectionMessage {
  readonly caller: string
  /** When the connection began, by the device's clock. */
  readonly connectedAt: Millis | null
  /** Whether the broker delivers the messages of a device in their order. */
  readonly isInOrder: boolean
}

/** A birth or a last will of a device at its broker: the birth ends an absence, the will begins one. A will creates no device. */
export function recordConnection(
  name: string,
  to: 'ONLINE' | 'OFFLINE',
  { caller, connectedAt, isInOrder }: ConnectionMessage,
): Command<ReportOutcome> {
  let gone: Gone | null = null
  return {
    needs: {
      devices: [name, ...(caller === name ? [] : [caller])],
      ...(!isNamedBehind(name, caller) && { ancestors: true }),
    },
    decide(work) {
      refuseStrangers(work, caller, [name])
      refuseEnded(work.device(name), work.device(caller))
      const before = work.revision()
      const device = to === 'ONLINE' ? work.ensureDevice(name) : work.device(name)
      const order = orderConnection(connectedAt, to, work.now)
      if (device && isOlderConnection(device.connectionOrder, order, { to, now: work.now, isInOrder }))
        return { verdict: 'STALE', revision: before, staleBy: 'observedAt' }
      if (device) {
        const heard = to === 'ONLINE' ? { lastHeardAt: work.now } : {}
        work.putTarget({ ...device, ...heard, connectionOrder: order ?? device.connectionOrder }, 'heard')
        gone = changeUnlessExcused(work, work.targetByKey(device.key), to, 'BROKER')
      }
      return { verdict: work.revision() === before ? 'UNCHANGED' : 'APPLIED', revision: work.revision() }
    },
    statements: () => noteGone(gone),
  }
}

/** Records the connectivity of a cluster. Creates the cluster if it is unknown. */
export function reportConnectivity(
  target: TargetName,
  to: Connectivity,
): Command<{ readonly revision: number; readonly verdict: Verdict; readonly targetKey: number }> {
  let gone: Gone | null = null
  return {
    needs: { targets: [target] },
    decide(work) {
      const known = work.ensureTarget(target.kind, target.provider, target.name)
      const before = work.revision()
      const heard = { ...known, lastHeardAt: to === 'ONLINE' ? work.now : known.lastHeardAt }
      work.putTarget(heard, 'heard')
      gone = changeUnlessExcused(work, heard, to, 'ORCHESTRATOR')
      const verdict = work.revision() > before ? 'APPLIED' : 'UNCHANGED'
      return { revision: work.revision(), verdict, targetKey: known.key }
    },
    statements: () => noteGone(gone),
  }
}

/** What was said of a target in a maintenance window. `at` null: it is not gone. */
interface Gone {
  readonly targetKey: number
  readonly at: Millis | null
  readonly source: ConnectivitySource
}

function changeUnlessExcused(
  work: UnitOfWork,
  target: Target,
  to: Connectivity,
  source: ConnectivitySource,
): Gone | null {
  if (!isExcused(target, to)) changeConnectivity(work, target, to, source, null)
  return target.maintenanceKey === null
    ? null
    : { targetKey: target.key, at: to === 'OFFLINE' ? work.now : null, source }
}

/** Absence within a maintenance window is planned. */
export function isExcused({ maintenanceKey }: Target, to: Connectivity): boolean {
  return to === 'OFFLINE' && maintenanceKey !== null
}

const noteGone = (gone: Gone | null): readonly Statement[] => (gone ? [keepGone(gone)] : [])

/** After the window: those that were said to be gone, and were not heard since, are OFFLINE. */
export function tellGone(found: readonly GoneTarget[]): Command<readonly GoneTarget[]> {
  return {
    needs: { targets: found.map(({ target }) => target) },
    decide(work) {
      const settled: GoneTarget[] = []
      for (const gone of found) {
        const target = work.target(gone.target.kind, gone.target.provider, gone.target.name)
        // It has entered another window, after which it is found again.
        if (target?.maintenanceKey) continue
        settled.push(gone)
        if (!target || target.retiredAt !== null || (target.lastHeardAt ?? 0) >= gone.at) continue
        changeConnectivity(work, target, 'OFFLINE', gone.source, null)
      }
      return settled
    },
    statements: (settled) => (settled.length > 0 ? [settleGone(settled)] : []),
  }
}

export function changeConnectivity(
  work: UnitOfWork,
  target: Target,
  to: Connectivity,
  source: ConnectivitySource,
  observedAt: Millis | null,
): void {
  if (target.connectivity === to) return
  const change = { kind: 'CONNECTIVITY_CHANGED', from: target.connectivity, to, source } as const
  work.recordTarget({ ...target, connectivity: to }, change, observedAt)
}
