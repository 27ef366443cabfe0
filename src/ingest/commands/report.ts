/** The main job: a status report becomes a verdict. */
import type { Deployment, Millis } from '../../domain/deployment.ts'
import { DomainError } from '../../domain/errors.ts'
import type { OrderKey, ReportOutcome, StatusReport } from '../../domain/report.ts'
import { implicitRollout } from '../../domain/rollout.ts'
import type { Target } from '../../domain/target.ts'
import { applyReport } from '../../domain/transition.ts'
import type { Command } from '../command.ts'
import { ensureChild, isBehind, isNamedBehind, parentName } from '../devices.ts'
import { isFree, type World } from '../world.ts'

/** Margo's gateway error code for "child device unreachable". */
const childUnreachable = '102'

/** `caller`: whose credential it was sent with, which may speak for itself and for what is behind it; null: nobody was asked. */
export function recordReport(report: StatusReport, caller: string | null = null): Command<ReportOutcome> {
  const { deploymentId, reporter } = report
  const device = report.deviceId ?? reporter
  const isForOthers = caller !== null && caller !== reporter
  const isByRegistration = caller !== null && !(isNamedBehind(reporter, caller) && isNamedBehind(device, caller))
  return {
    needs: {
      deployments: [{ deploymentId, reporter, device, otherwise: implicitRollout(deploymentId) }],
      devices: [
        ...(device === reporter ? [device] : [reporter, device, parentName(device) ?? reporter]),
        ...(isForOthers ? [caller] : []),
      ],
      ...(isByRegistration && { ancestors: true }),
    },
    decide(world) {
      if (caller !== null) refuseStrangers(world, caller, [reporter, device])
      refuseRevoked(world.device(reporter), world.device(device), ...(isForOthers ? [world.device(caller)] : []))
      const from = world.ensureDevice(reporter)
      const target = device === reporter ? from : ensureChild(world, device, parentName(device) ?? reporter)
      const known = world.deployment(deploymentId, reporter) ?? declaredOn(world, deploymentId, target.key, reporter)
      const place = {
        key: known?.key ?? world.newKey(),
        targetKey: target.key,
        rolloutKey: known?.rolloutKey ?? world.ensureRollout(implicitRollout(deploymentId)).key,
      }
      const before = world.revision()
      // First: the end of an absence takes a revision before those of the deployment.
      hear(world, from.key, report.observedAt)
      if (isForOthers) hearKnown(world, caller)
      const { verdict, staleBy, deployment, changes } = applyReport(known, report, place, world.moment())
      if (staleBy) {
        keep(world, report, deployment.key, 'STALE', staleBy)
        return { verdict: 'STALE', revision: world.revision(), staleBy }
      }
      world.commit(known, { verdict, staleBy, deployment, changes }, report.observedAt)
      noteChild(world, target.key, from.key, report)
      // A report that repeats what is known of the deployment may still end its device's absence.
      if (world.revision() === before) {
        world.countRepeat(deployment)
        return { verdict: 'UNCHANGED', revision: before }
      }
      keep(world, report, deployment.key, 'APPLIED', null)
      return { verdict: 'APPLIED', revision: world.revision() }
    },
  }
}

/**
 * What was declared for that device and nobody has reported on yet: the first report takes it over, also a gateway's. A gateway may
 * also have put what its manifest lists on another child than the one it was declared for.
 */
function declaredOn(world: World, deploymentId: string, targetKey: number, reporter: string): Deployment | null {
  const onTarget = world.deploymentsOn(deploymentId, targetKey).find(isFree)
  // What is listed was loaded only for who speaks of another.
  const isOfItself = world.targetByKey(targetKey).name === reporter
  return onTarget ?? (isOfItself ? null : (world.freeOf(reporter, deploymentId)[0] ?? null))
}

export function refuseRevoked(...devices: readonly (Target | null)[]): void {
  const revoked = devices.find((device) => device && device.revokedAt !== null)
  if (revoked)
    throw new DomainError('FORBIDDEN', `device ${revoked.name} has been revoked: register it anew to let it report`)
}

export function refuseStrangers(world: World, caller: string, devices: readonly string[]): void {
  const stranger = devices.find((device) => !isBehind(world, device, caller))
  if (stranger !== undefined)
    throw new DomainError(
      'FORBIDDEN',
      `the credential is of ${caller}, which reports for itself and for devices behind it, and ${stranger} is not one of them`,
    )
}

/** A request with a good credential that reported nothing that could be taken: its device is alive all the same. */
export function hearDevice(name: string): Command<null> {
  return hearDevices([name])
}

export function hearDevices(names: readonly string[]): Command<null> {
  return {
    needs: { devices: names },
    decide(world) {
      for (const name of names) hearKnown(world, name)
      return null
    },
  }
}

export function hearKnown(world: World, name: string): void {
  const device = world.device(name)
  if (device && device.revokedAt === null) hear(world, device.key, null)
}

/** A sign of life: it ends an absence, and says that a device is there which promised such signs (or must give them). */
function hear(world: World, reporterKey: number, observedAt: Millis | null): void {
  const device = { ...world.targetByKey(reporterKey), lastHeardAt: world.now }
  world.putTarget(device, 'heard')
  const isExpected = device.expectedInterval !== null || world.offlineAfter !== null
  if (device.connectivity === 'OFFLINE' || (isExpected && device.connectivity === 'UNKNOWN'))
    setConnectivity(world, device, 'ONLINE', observedAt)
}

function keep(
  world: World,
  report: StatusReport,
  deploymentKey: number,
  verdict: 'APPLIED' | 'STALE',
  staleBy: OrderKey | null,
): void {
  const revision = verdict === 'APPLIED' ? world.revision() : null
  world.keepReport({ deploymentKey, verdict, staleBy, receivedAt: world.now, revision, report })
}

/** A gateway's 102 makes its child OFFLINE, and any other report about that child ends it. Silence alone proves nothing. */
function noteChild(world: World, targetKey: number, reporterKey: number, report: StatusReport): void {
  if (targetKey === reporterKey) return
  const target = world.targetByKey(targetKey)
  const codes = [report.error, ...report.components.map((component) => component.error)].map((error) => error?.code)
  if (codes.includes(childUnreachable)) setConnectivity(world, target, 'OFFLINE', report.observedAt)
  else if (target.connectivity === 'OFFLINE') setConnectivity(world, target, 'ONLINE', report.observedAt)
}

function setConnectivity(world: World, target: Target, to: 'ONLINE' | 'OFFLINE', observedAt: Millis | null): void {
  if (target.connectivity === to) return
  const change = { kind: 'CONNECTIVITY_CHANGED', from: target.connectivity, to } as const
  world.recordTarget({ ...target, connectivity: to }, change, observedAt)
}
