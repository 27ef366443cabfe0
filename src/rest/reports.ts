/** Where devices report: Margo's seven routes, and a backlog in one request. */
import { acknowledgement } from '../dialects/margo/acknowledge.ts'
import { type BacklogItem, backlogMediaTypes, parseBacklog } from '../dialects/margo/backlog.ts'
import { parseJson } from '../dialects/margo/json.ts'
import { anonymous, nonConforming, parseMargoBody } from '../dialects/margo/parse.ts'
import type { MargoRoute } from '../dialects/margo/routes.ts'
import type { Revision } from '../domain/deployment.ts'
import { DomainError, errorCodes } from '../domain/errors.ts'
import type { ReportOutcome, StatusReport } from '../domain/report.ts'
import { recordReport } from '../ingest/commands/report.ts'
import type { Writer } from '../ingest/writer.ts'
import type { Gate } from '../limits/gate.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
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
  /** The newest revision there is: what a backlog that changed nothing answers. */
  readonly newestRevision: () => Revision
}

export async function takeReport(deps: ReportDeps, exchange: Exchange, route: MargoRoute): Promise<void> {
  requireMediaType(exchange.request, ['application/json'])
  const body = parseJson(await readBody(exchange.request, reportLimit))
  const report = parseMargoBody(body, route)
  admitReporter(deps, report)
  const outcome = await record(deps, report)
  answer(exchange, route.success, 'application/json', JSON.stringify(acknowledgement(outcome)))
}

/**
 * A verdict an item, in their order: one bad item spoils no other. But what cannot be written *now* makes the whole answer a 503:
 * the status alone must tell a device to come again, and repeating what was written does no harm.
 */
export async function takeBacklog(deps: ReportDeps, exchange: Exchange): Promise<void> {
  const { request } = exchange
  requireMediaType(request, backlogMediaTypes)
  const items = parseBacklog(await readBody(request, backlogLimit), request.headers['content-type'])
  // Whoever reports in one request what he has collected is not faster than he would have been.
  const reporters = new Map(items.flatMap((item) => (item.ok ? [[item.report.reporter, item.report]] : [])))
  for (const report of reporters.values()) admitReporter(deps, report)
  const results: ItemResult[] = []
  // Those of a step are submitted in one turn, so their order is theirs in the writer's queue too.
  for (let start = 0; start < items.length; start += backlogStep)
    results.push(
      ...(await Promise.all(items.slice(start, start + backlogStep).map((item) => takeItem(deps, exchange, item)))),
    )
  const newest = results.reduce((revision, result) => Math.max(revision, result.revision), 0)
  const revision = String(newest || deps.newestRevision())
  answer(exchange, 200, 'application/json', JSON.stringify({ revision, results: results.map(({ said }) => said) }))
}

interface ItemResult {
  readonly revision: Revision
  readonly said: object
}

async function takeItem(deps: ReportDeps, { id }: Exchange, item: BacklogItem): Promise<ItemResult> {
  try {
    if (!item.ok) throw item.error
    const outcome = await record(deps, item.report)
    const { acknowledgement: _, ...said } = acknowledgement(outcome)
    return { revision: outcome.revision, said }
  } catch (error) {
    if (error instanceof DomainError && errorCodes[error.code].retryable) throw error
    if (!(error instanceof DomainError))
      deps.log.error({ requestId: id, error }, 'an item of a backlog met an unexpected error')
    const members = problemMembers(error, id)
    deps.metrics.reportRefused(members.status)
    return { revision: 0, said: { verdict: 'REFUSED', ...members } }
  }
}

/** Those that do not say who they are must not be counted as one. */
function admitReporter({ gate }: ReportDeps, { reporter }: StatusReport): void {
  if (reporter !== anonymous) gate.admitDevice(reporter)
}

async function record({ writer, metrics }: ReportDeps, report: StatusReport): Promise<ReportOutcome> {
  const outcome = await writer.submit(recordReport(report))
  const { dialect, reporter } = report
  metrics.reportRecorded({ verdict: outcome.verdict, dialect, reporter, isNonConforming: nonConforming(report) })
  return outcome
}
