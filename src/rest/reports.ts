/** Where devices report: Margo's seven routes, and a backlog in one request. */
import { acknowledgement } from '../dialects/margo/acknowledge.ts'
import { type BacklogItem, backlogMediaTypes, parseBacklog } from '../dialects/margo/backlog.ts'
import { parseJson } from '../dialects/margo/json.ts'
import { nonConforming, parseMargoBody } from '../dialects/margo/parse.ts'
import type { MargoRoute } from '../dialects/margo/routes.ts'
import { DomainError } from '../domain/errors.ts'
import type { ReportOutcome, StatusReport } from '../domain/report.ts'
import { recordReport } from '../ingest/commands/report.ts'
import type { Writer } from '../ingest/writer.ts'
import type { Metrics } from '../metrics.ts'
import { answer, type Exchange, readBody, requireMediaType } from './exchange.ts'
import { problemMembers } from './problem.ts'

/** Bytes. A deployment's report is a few hundred; a backlog is what a device collected while it was away. */
const reportLimit = 1 << 20
const backlogLimit = 32 << 20

export interface ReportDeps {
  readonly writer: Writer
  readonly metrics: Metrics
}

export async function takeReport(deps: ReportDeps, exchange: Exchange, route: MargoRoute): Promise<void> {
  requireMediaType(exchange.request, ['application/json'])
  const body = parseJson(await readBody(exchange.request, reportLimit))
  const outcome = await record(deps, parseMargoBody(body, route))
  answer(exchange, route.success, 'application/json', JSON.stringify(acknowledgement(outcome)))
}

/** A verdict an item, in their order: one bad item spoils no other. */
export async function takeBacklog(deps: ReportDeps, exchange: Exchange): Promise<void> {
  const { request } = exchange
  requireMediaType(request, backlogMediaTypes)
  const items = parseBacklog(await readBody(request, backlogLimit), request.headers['content-type'])
  // Submitted in one turn, so their order is theirs in the writer's queue too.
  const results = await Promise.all(items.map((item) => takeItem(deps, item)))
  const revision = results.reduce((newest, result) => Math.max(newest, result.revision), 0)
  const answers = results.map((result) => result.answer)
  answer(exchange, 200, 'application/json', JSON.stringify({ revision: String(revision), results: answers }))
}

async function takeItem(deps: ReportDeps, item: BacklogItem): Promise<{ revision: number; answer: object }> {
  try {
    if (!item.ok) throw item.error
    const outcome = await record(deps, item.report)
    const { acknowledgement: _, ...said } = acknowledgement(outcome)
    return { revision: outcome.revision, answer: said }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    const members = problemMembers(error)
    deps.metrics.reportRefused(members.status)
    return { revision: 0, answer: { verdict: 'REFUSED', ...members } }
  }
}

async function record({ writer, metrics }: ReportDeps, report: StatusReport): Promise<ReportOutcome> {
  const outcome = await writer.submit(recordReport(report))
  const { dialect, reporter } = report
  metrics.reportRecorded({ verdict: outcome.verdict, dialect, reporter, isNonConforming: nonConforming(report) })
  return outcome
}
