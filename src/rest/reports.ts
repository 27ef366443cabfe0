/**
 * Where devices report: Margo's seven routes, and a backlog in one request. Credentials are looked at before the body is read. Of several
 * things that are wrong the first of docs/wire.md §1.3 is told all the same (the body, its fields, the credential, whose it is), as long as the
 * body is small.
 */
import type { DeviceAuth, DeviceIdentity } from '../auth/devices/device-auth.ts'
import { acknowledgement } from '../dialects/margo/acknowledge.ts'
import { type BacklogItem, backlogMediaTypes, largestReport, parseBacklog } from '../dialects/margo/backlog.ts'
import { deviationsOf, deviationsOfRefusal } from '../dialects/margo/deviations.ts'
import { anonymous, nonConforming, parseMargoBody, parseReportText, reportMediaTypes } from '../dialects/margo/parse.ts'
import type { MargoRoute } from '../dialects/margo/routes.ts'
import { DomainError, errorCodes } from '../domain/errors.ts'
import type { ReportOutcome, StatusReport } from '../domain/report.ts'
import type { Revision } from '../domain/values.ts'
import { spend, spending } from '../ingest/commands/device.ts'
import { countDeviations, hearDevice, recordReport } from '../ingest/commands/report.ts'
import type { Writer } from '../ingest/writer.ts'
import type { Admission } from '../limits/admission.ts'
import { paced } from '../limits/pace.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { Proof } from '../store/signature-claims.ts'
import { authenticate, claim } from './device-caller.ts'
import { answer, type Exchange, lazyBody, type ReadBody, requireMediaType } from './exchange.ts'
import { problemMembers } from './problem.ts'

/** Bytes: of what a device collected while it was away. */
const backlogLimit = 32 << 20
/** Of a caller whose credential was refused: enough to say what else is wrong. */
const strangersLimit = 64 << 10

/** Reports of a backlog that are written at a time, and bytes of their text: other devices' reports come between. */
const backlogStep = { items: 500, size: 1 << 20 }

export interface ReportDeps {
  readonly writer: Writer
  readonly metrics: Metrics
  readonly log: Log
  readonly admission: Pick<Admission, 'admitDevice'>
  readonly devices: DeviceAuth
  /** The newest revision there is: what a backlog that changed nothing answers. */
  readonly newestRevision: () => Revision
}

export async function takeReport(deps: ReportDeps, exchange: Exchange, route: MargoRoute): Promise<void> {
  requireMediaType(exchange.request, reportMediaTypes)
  const { caller, body } = await receive(deps, exchange, largestReport)
  const take = () =>
    hearing(deps, caller, route.reporter, async () => {
      const report = parseMargoBody(await parseReportText(body, exchange.request.headers['content-type']), {
        ...route,
        reporter: route.reporter ?? caller.device,
      })
      const identity = requireIdentity(caller)
      admit(deps, identity, [report.reporter])
      return record(deps, exchange, identity, report, identity.proof)
    })
  const outcome = await ('refusal' in caller ? take() : claim(deps, exchange, caller, take))
  answer(exchange, route.success, 'application/json', JSON.stringify(acknowledgement(outcome)))
}

/** Nobody yet, and why: what is wrong with the body is told before. */
interface NobodyYet {
  readonly device: null
  readonly refusal: unknown
}
type Caller = DeviceIdentity | NobodyYet

async function receive(deps: ReportDeps, exchange: Exchange, limit: number): Promise<{ caller: Caller; body: Buffer }> {
  const read = lazyBody(exchange, limit)
  const caller = await identify(deps, exchange, read)
  if (!('refusal' in caller)) return { caller, body: await read() }
  const body = await read(strangersLimit).catch((error: unknown) => {
    throw error instanceof DomainError && error.code === 'TOO_LARGE' ? caller.refusal : error
  })
  return { caller, body }
}

async function identify(deps: ReportDeps, exchange: Exchange, read: ReadBody): Promise<Caller> {
  try {
    return await authenticate(deps, exchange, read)
  } catch (refusal) {
    if (!(refusal instanceof DomainError) || refusal.code === 'INVALID_REQUEST') throw refusal
    return { device: null, refusal }
  }
}

function requireIdentity(caller: Caller): DeviceIdentity {
  if ('refusal' in caller) throw caller.refusal
  return caller
}

/** A device that has proved which one it is was heard, also when its report is refused. */
async function hearing<T>(
  deps: ReportDeps,
  caller: Caller,
  reporter: string | null,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof DomainError) || errorCodes[error.code].retryable || 'refusal' in caller) throw error
    await noteRefusal(deps, caller.device ?? reporter, error)
    if (caller.device !== null)
      await deps.writer.submit(spending(hearDevice(caller.device), caller.proof)).catch(() => undefined)
    throw error
  }
}

async function noteRefusal({ writer, metrics }: ReportDeps, device: string | null, error: DomainError): Promise<void> {
  const deviations = deviationsOfRefusal(error.problems)
  for (const { kind } of deviations) metrics.deviated(kind)
  if (device === null || deviations.length === 0) return
  await writer.submit(countDeviations(device, deviations)).catch(() => undefined)
}

/**
 * A verdict an item, in their order: one bad item spoils no other. But what cannot be written *now* makes the whole answer a 503:
 * the status alone must tell a device to come again, and repeating what was written does no harm.
 */
export async function takeBacklog(deps: ReportDeps, exchange: Exchange): Promise<void> {
  const { request } = exchange
  requireMediaType(request, backlogMediaTypes)
  const { caller, body } = await receive(deps, exchange, backlogLimit)
  const items = await paced(parseBacklog(body, request.headers['content-type'], caller.device))
  const identity = requireIdentity(caller)
  admit(
    deps,
    identity,
    items.flatMap((item) => (item.ok ? [item.reporter] : [])),
  )
  const results = await claim(deps, exchange, identity, () => takeItems(deps, exchange, identity, items))
  const newest = results.reduce((revision, result) => Math.max(revision, result.revision), 0)
  const revision = String(newest || deps.newestRevision())
  answer(exchange, 200, 'application/json', JSON.stringify({ revision, results: results.map(({ said }) => said) }))
}

async function takeItems(
  deps: ReportDeps,
  exchange: Exchange,
  identity: DeviceIdentity,
  items: readonly BacklogItem[],
): Promise<readonly ItemResult[]> {
  const results: ItemResult[] = []
  // Those of a step are submitted in one turn, so their order is theirs in the writer's queue too.
  for (const step of stepsOf(items))
    results.push(...(await Promise.all(step.map((item) => takeItem(deps, exchange, identity, item)))))
  if (identity.device !== null && !results.some(({ isTaken }) => isTaken))
    await deps.writer.submit(hearDevice(identity.device)).catch(() => undefined)
  // Last: whoever was told to come again sends the same backlog, with the same signature.
  if (identity.proof) await deps.writer.submit(spend(identity.proof))
  return results
}

function* stepsOf(items: readonly BacklogItem[]): Generator<readonly BacklogItem[]> {
  let step: BacklogItem[] = []
  let size = 0
  for (const item of items) {
    const own = item.ok ? item.size : 0
    if (step.length === backlogStep.items || (step.length > 0 && size + own > backlogStep.size)) {
      yield step
      ;[step, size] = [[], 0]
    }
    step.push(item)
    size += own
  }
  if (step.length > 0) yield step
}

interface ItemResult {
  readonly isTaken: boolean
  readonly revision: Revision
  readonly said: object
}

async function takeItem(
  deps: ReportDeps,
  exchange: Exchange,
  identity: DeviceIdentity,
  item: BacklogItem,
): Promise<ItemResult> {
  const { id } = exchange
  try {
    if (!item.ok) throw item.error
    const outcome = await record(deps, exchange, identity, item.read(), null)
    const { acknowledgement: _, ...said } = acknowledgement(outcome)
    return { isTaken: true, revision: outcome.revision, said }
  } catch (error) {
    if (error instanceof DomainError && errorCodes[error.code].retryable) throw error
    if (!(error instanceof DomainError))
      deps.log.error({ requestId: id, error }, 'an item of a backlog met an unexpected error')
    else await noteRefusal(deps, identity.device, error)
    const members = problemMembers(error, id)
    deps.metrics.reportRefused(members.status)
    return { isTaken: false, revision: 0, said: { verdict: 'REFUSED', ...members } }
  }
}

/**
 * Whose share it is of: whoever has proved who it is cannot use up another's, and one that does not say who it is is not counted with
 * the others of that kind. Whoever reports in one request what it has collected is not faster than it would have been.
 */
function admit({ admission }: ReportDeps, { device }: DeviceIdentity, reporters: readonly string[]): void {
  const names = device === null ? new Set(reporters) : [device]
  for (const name of names) if (name !== anonymous) admission.admitDevice(name)
}

async function record(
  { writer, metrics, devices }: ReportDeps,
  { request }: Exchange,
  identity: DeviceIdentity,
  report: StatusReport,
  proof: Proof | null,
): Promise<ReportOutcome> {
  const deviations = deviationsOf(report)
  const command = spending(recordReport(report, identity.device, deviations), proof)
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
    isNonConforming: nonConforming(report),
    deviations: deviations.map(({ kind }) => kind),
  })
  return outcome
}
