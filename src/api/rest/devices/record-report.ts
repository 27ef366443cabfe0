/** The steps of a report that do not depend on its transport: the rate of its device, its record, and the sign of life in a refused one. */
import type { IncomingMessage } from 'node:http'
import type { Deviation } from '../../../domain/deviation.ts'
import { DomainError, errorCodes } from '../../../domain/errors.ts'
import { anonymous, type RecordedReport, type StatusReport } from '../../../domain/report.ts'
import { type Series, spending } from '../../../ingest/command.ts'
import { hearDevice } from '../../../ingest/commands/connectivity.ts'
import { countDeviations, recordReport } from '../../../ingest/commands/report.ts'
import type { ReportFormat, ReportRoute } from '../../../ingest/dialects/devices.ts'
import type { Writer } from '../../../ingest/writer.ts'
import type { Metrics } from '../../../outlets/metrics/metrics.ts'
import { refusal } from '../../../platform/body/problems.ts'
import type { Admission } from '../../../platform/limits/admission.ts'
import type { Proof } from '../../../store/signature-claims.ts'
import type { DeviceAuth, DeviceIdentity } from '../../auth/devices/device-auth.ts'
import { tracedBy } from '../exchange.ts'

export interface RecordDeps {
  readonly writer: Writer
  readonly metrics: Metrics
  readonly admission: Pick<Admission, 'admitDevice'>
  readonly devices: DeviceAuth
  /** STRICT_REPORTS: a report that could only be taken otherwise than sent is refused. */
  readonly isStrict: boolean
}

/** A caller whose credential was refused. The refusal is thrown later, because errors of the body take precedence. */
interface RefusedCaller {
  readonly device: null
  readonly refusal: unknown
}
export type Caller = DeviceIdentity | RefusedCaller

export function requireIdentity(caller: Caller): DeviceIdentity {
  if ('refusal' in caller) throw caller.refusal
  return caller
}

/** Parses one report and records it. `route.reporter` null: the caller's credential names the reporter. */
export function takeBody(
  deps: RecordDeps,
  format: ReportFormat,
  request: IncomingMessage,
  caller: Caller,
  body: Uint8Array,
  route: ReportRoute,
): Promise<RecordedReport> {
  return hearIfRefused(deps, format, caller, route.reporter, async () => {
    const named = { ...route, reporter: route.reporter ?? caller.device }
    const report = await format.read(body, request.headers['content-type'], named)
    const identity = requireIdentity(caller)
    admit(deps, identity, [report.reporter])
    return record(deps, format, request, identity, report, identity.proof)
  })
}

/** Runs `work`, and records a refused report as a sign of life of its authenticated device. */
async function hearIfRefused<T>(
  deps: RecordDeps,
  format: ReportFormat,
  caller: Caller,
  reporter: string | null,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof DomainError) || errorCodes[error.code].retryable || 'refusal' in caller) throw error
    await noteRefusal(deps, format, caller.device ?? reporter, error)
    if (caller.device !== null)
      await deps.writer.submit(spending(hearDevice(caller.device), caller.proof)).catch(() => undefined)
    throw error
  }
}

export async function noteRefusal(
  deps: RecordDeps,
  { deviationsOfRefusal }: ReportFormat,
  device: string | null,
  error: DomainError,
): Promise<void> {
  await noteDeviations(deps, device, deviationsOfRefusal(error.problems))
}

/** Of a message that is no report. */
export async function noteDeviations(
  { writer, metrics }: Pick<RecordDeps, 'metrics'> & { readonly writer: Pick<Writer, 'submit'> },
  device: string | null,
  deviations: readonly Deviation[],
): Promise<void> {
  for (const { kind } of deviations) metrics.deviated(kind)
  if (device === null || deviations.length === 0) return
  await writer.submit(countDeviations(device, deviations)).catch(() => undefined)
}

/**
 * Counts the request for the rate of its device. An authenticated device uses only its own rate. Anonymous reporters are not counted: they
 * would share one rate. A backlog counts once for each reporter, regardless of its number of reports.
 */
export function admit({ admission }: RecordDeps, { device }: DeviceIdentity, reporters: readonly string[]): void {
  const names = device === null ? new Set(reporters) : [device]
  for (const name of names) if (name !== anonymous) admission.admitDevice(name)
}

export async function record(
  { writer, metrics, devices, isStrict }: RecordDeps,
  { deviationsOf, isNonConforming }: ReportFormat,
  request: IncomingMessage,
  identity: DeviceIdentity,
  report: StatusReport,
  proof: Proof | null,
  series?: Series,
): Promise<RecordedReport> {
  const { warnings } = report
  if (isStrict && warnings) throw refusal(warnings)
  const deviations = deviationsOf(report)
  const recorded = recordReport(report, identity.device, deviations)
  const command = tracedBy({ request }, spending({ ...recorded, ...(series && { series }) }, proof))
  const outcome = await writer.submit(command).catch((error: unknown) => {
    if (identity.device !== null && error instanceof DomainError && error.code === 'FORBIDDEN')
      devices.noteStranger(identity, request, error.message)
    throw error
  })
  const { dialect, reporter } = report
  metrics.reportRecorded({
    verdict: outcome.verdict,
    dialect,
    reporter,
    isNonConforming: isNonConforming(report),
    deviations: deviations.map(({ kind }) => kind),
  })
  return warnings ? { ...outcome, warnings } : outcome
}
