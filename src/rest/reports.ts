/**
 * Where devices report: Margo's seven routes, and a backlog in one request. Of several things that are wrong the first of WIRE §1.3
 * is told: the body, its fields, the credential, whose it is.
 */
import type { DeviceAuth, DeviceIdentity } from '../auth/devices/device-auth.ts'
import { acknowledgement } from '../dialects/margo/acknowledge.ts'
import { type BacklogItem, backlogMediaTypes, parseBacklog } from '../dialects/margo/backlog.ts'
import { parseJson } from '../dialects/margo/json.ts'
import { anonymous, nonConforming, parseMargoBody } from '../dialects/margo/parse.ts'
import type { MargoRoute } from '../dialects/margo/routes.ts'
import type { Revision } from '../domain/deployment.ts'
import { DomainError, errorCodes } from '../domain/errors.ts'
import type { ReportOutcome, StatusReport } from '../domain/report.ts'
import { type Proof, spend, spending } from '../ingest/commands/device.ts'
import { hearDevice, recordReport } from '../ingest/commands/report.ts'
import type { Writer } from '../ingest/writer.ts'
import type { Gate } from '../limits/gate.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { authenticate } from './device-caller.ts'
import { answer, type Exchange, readBody, requireMediaType } from './exchange.ts'
import { problemMembers } from './problem.ts'

/** Bytes. A deployment's report is a few hundred; a backlog is what a device collected while it was away. */
const reportLimit = 1 << 20
const backlogLimit = 32 << 20

/** Of a backlog, so many are written at a time: other devices' reports come between. */
const backlogStep = 500

export interface ReportDeps {
  readonly writer: Writer
  readonly metrics: Metrics
  readonly log: Log
  readonly gate: Pick<Gate, 'admitDevice'>
  readonly devices: DeviceAuth
  /** The newest revision there is: what a backlog that changed nothing answers. */
  readonly newestRevision: () => Revision
}

export async function takeReport(deps: ReportDeps, exchange: Exchange, route: MargoRoute): Promise<void> {
  requireMediaType(exchange.request, ['application/json'])
  const body = await readBody(exchange.request, reportLimit)
  const caller = await identify(deps, exchange, body)
  const outcome = await hearing(deps, caller, async () => {
    const report = parseMargoBody(parseJson(body), { ...route, reporter: route.reporter ?? caller.device })
    const identity = requireIdentity(caller)
    admit(deps, identity, [report])
    return record(deps, exchange, identity, report, identity.proof)
  })
  answer(exchange, route.success, 'application/json', JSON.stringify(acknowledgement(outcome)))
}

/** Nobody yet, and why: what is wrong with the body is told before. */
interface NobodyYet {
  readonly device: null
  readonly refusal: unknown
}
type Caller = DeviceIdentity | NobodyYet

async function identify(deps: ReportDeps, exchange: Exchange, body: Uint8Array): Promise<Caller> {
  try {
    return await authenticate(deps, exchange, body)
  } catch (refusal) {
    if (!(refusal instanceof DomainError) || refusal.code === 'INVALID_REQUEST') throw refusal
    return { device: null, refusal }
  }
}

function requireIdentity(caller: Caller): DeviceIdentity {
  if ('refusal' in caller) throw caller.refusal
  return caller
}

/** Whoever proved who it is was heard, whatever becomes of the rest. */
async function hearing<T>({ writer }: ReportDeps, caller: Caller, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isRefused = error instanceof DomainError && !errorCodes[error.code].retryable
    if (caller.device !== null && isRefused)
      await writer.submit(spending(hearDevice(caller.device), caller.proof)).catch(() => undefined)
    throw error
  }
}

/**
 * A verdict an item, in their order: one bad item spoils no other. But what cannot be written *now* makes the whole answer a 503:
 * the status alone must tell a device to come again, and repeating what was written does no harm.
 */
export async function takeBacklog(deps: ReportDeps, exchange: Exchange): Promise<void> {
  const { request } = exchange
  requireMediaType(request, backlogMediaTypes)
  const body = await readBody(request, backlogLimit)
  const caller = await identify(deps, exchange, body)
  const items = parseBacklog(body, request.headers['content-type'], caller.device)
  const identity = requireIdentity(caller)
  admit(
    deps,
    identity,
    items.flatMap((item) => (item.ok ? [item.report] : [])),
  )
  const results: ItemResult[] = []
  // Those of a step are submitted in one turn, so their order is theirs in the writer's queue too.
  for (let start = 0; start < items.length; start += backlogStep)
    results.push(
      ...(await Promise.all(
        items.slice(start, start + backlogStep).map((item) => takeItem(deps, exchange, identity, item)),
      )),
    )
  if (identity.device !== null && !results.some(({ isTaken }) => isTaken))
    await deps.writer.submit(hearDevice(identity.device)).catch(() => undefined)
  // Last: whoever was told to come again sends the same backlog, with the same signature.
  if (identity.proof) await deps.writer.submit(spend(identity.proof))
  const newest = results.reduce((revision, result) => Math.max(revision, result.revision), 0)
  const revision = String(newest || deps.newestRevision())
  answer(exchange, 200, 'application/json', JSON.stringify({ revision, results: results.map(({ said }) => said) }))
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
    const outcome = await record(deps, exchange, identity, item.report, null)
    const { acknowledgement: _, ...said } = acknowledgement(outcome)
    return { isTaken: true, revision: outcome.revision, said }
  } catch (error) {
    if (error instanceof DomainError && errorCodes[error.code].retryable) throw error
    if (!(error instanceof DomainError))
      deps.log.error({ requestId: id, error }, 'an item of a backlog met an unexpected error')
    const members = problemMembers(error, id)
    deps.metrics.reportRefused(members.status)
    return { isTaken: false, revision: 0, said: { verdict: 'REFUSED', ...members } }
  }
}

/**
 * Whose share it is of: whoever has proved who it is cannot use up another's, and one that does not say who it is is not counted with
 * the others of that kind. Whoever reports in one request what it has collected is not faster than it would have been.
 */
function admit({ gate }: ReportDeps, { device }: DeviceIdentity, reports: readonly StatusReport[]): void {
  const names = device === null ? new Set(reports.map(({ reporter }) => reporter)) : [device]
  for (const name of names) if (name !== anonymous) gate.admitDevice(name)
}

async function record(
  { writer, metrics, devices }: ReportDeps,
  { request }: Exchange,
  identity: DeviceIdentity,
  report: StatusReport,
  proof: Proof | null,
): Promise<ReportOutcome> {
  const command = spending(recordReport(report, identity.device), proof)
  const outcome = await writer.submit(command).catch((error: unknown) => {
    if (identity.device !== null && error instanceof DomainError && error.code === 'FORBIDDEN')
      devices.noteStranger(identity, request, error.message)
    throw error
  })
  const { dialect, reporter } = report
  metrics.reportRecorded({ verdict: outcome.verdict, dialect, reporter, isNonConforming: nonConforming(report) })
  return outcome
}
