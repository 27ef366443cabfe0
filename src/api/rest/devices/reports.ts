/**
 * Reports of devices: one in a request, and a backlog in one request. Credentials are checked before the body is read. For several
 * errors, the response has the first in the order of docs/wire.md §1.3 (body, fields, credential, device), if the body is small.
 */

import { DomainError, errorCodes } from '../../../domain/errors.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Series } from '../../../ingest/command.ts'
import { hearDevice } from '../../../ingest/commands/connectivity.ts'
import { spend } from '../../../ingest/commands/spend.ts'
import type { BacklogFormat, BacklogItem, DeviceMethod } from '../../../ingest/dialects/devices.ts'
import { paced } from '../../../platform/limits/pace.ts'
import type { Log } from '../../../platform/log/log.ts'
import type { DeviceIdentity } from '../../auth/devices/device-auth.ts'
import { answer, decodeBody, type Exchange, lazyBody, type ReadBody, requireMediaType } from '../exchange.ts'
import { problemMembers } from '../problem.ts'
import { authenticate, claim } from './device-caller.ts'
import { admit, type Caller, noteRefusal, type RecordDeps, record, requireIdentity, takeBody } from './record-report.ts'

/** Bytes of a body whose credential was refused. They are read only to find an error of higher precedence. */
const refusedLimit = 64 << 10

/** Reports of a backlog that are written at a time, and bytes of their text. Reports of other devices run between the steps. */
const backlogStep = { items: 500, size: 1 << 20 }

export interface ReportDeps extends RecordDeps {
  readonly log: Log
  /** The newest revision, for the response to a backlog without changes. */
  readonly newestRevision: () => Revision
}

export async function takeReport(
  deps: ReportDeps,
  exchange: Exchange,
  { format, route, success }: Extract<DeviceMethod, { does: 'report' }>,
): Promise<void> {
  requireMediaType(exchange.request, format.media)
  const { caller, body } = await receive(deps, exchange, format.limit)
  const take = () => takeBody(deps, format, exchange.request, caller, body, route)
  const outcome = await ('refusal' in caller ? take() : claim(deps, exchange, caller, take))
  answer(exchange, success, 'application/json', JSON.stringify(format.acknowledge(outcome)))
}

async function receive(deps: ReportDeps, exchange: Exchange, limit: number): Promise<{ caller: Caller; body: Buffer }> {
  const read = lazyBody(exchange, limit)
  const caller = await identify(deps, exchange, read)
  if (!('refusal' in caller)) return { caller, body: await decodeBody(exchange, await read(), limit) }
  const reading = read(refusedLimit).then((sent) => decodeBody(exchange, sent, refusedLimit))
  const body = await reading.catch((error: unknown) => {
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

/**
 * Responds with one verdict for each item, in order. An invalid item does not affect the others. An item that cannot be written *now* makes
 * the whole response a 503, because devices retry on the status alone. Items that were written already are safe to repeat.
 */
export async function takeBacklog(deps: ReportDeps, exchange: Exchange, format: BacklogFormat): Promise<void> {
  const { request } = exchange
  requireMediaType(request, format.media)
  const { caller, body } = await receive(deps, exchange, format.limit)
  const items = await paced(format.read(body, request.headers['content-type'], caller.device))
  const identity = requireIdentity(caller)
  admit(
    deps,
    identity,
    items.flatMap((item) => (item.ok ? [item.reporter] : [])),
  )
  const results = await claim(deps, exchange, identity, () => takeItems(deps, format, exchange, identity, items))
  const newest = results.reduce((revision, result) => Math.max(revision, result.revision), 0)
  const revision = String(newest || deps.newestRevision())
  answer(
    exchange,
    200,
    'application/json',
    JSON.stringify({ revision, results: results.map(({ members }) => members) }),
  )
}

async function takeItems(
  deps: ReportDeps,
  format: BacklogFormat,
  exchange: Exchange,
  identity: DeviceIdentity,
  items: readonly BacklogItem[],
): Promise<readonly ItemResult[]> {
  const results: ItemResult[] = []
  const series: Series = { isBroken: false }
  // The items of a step are submitted in one turn, so the writer's queue keeps their order.
  for (const step of stepsOf(items))
    results.push(...(await Promise.all(step.map((item) => takeItem(deps, format, exchange, identity, item, series)))))
  if (identity.device !== null && !results.some(({ isTaken }) => isTaken))
    await deps.writer.submit(hearDevice(identity.device)).catch(() => undefined)
  // The proof is spent last: a device that receives a 503 sends the same backlog with the same signature.
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
  readonly members: object
}

async function takeItem(
  deps: ReportDeps,
  { reports, resultOf }: BacklogFormat,
  exchange: Exchange,
  identity: DeviceIdentity,
  item: BacklogItem,
  series: Series,
): Promise<ItemResult> {
  const { id } = exchange
  try {
    if (!item.ok) throw item.error
    const outcome = await record(deps, reports, exchange.request, identity, item.read(), null, series)
    return { isTaken: true, revision: outcome.revision, members: resultOf(outcome) }
  } catch (error) {
    if (error instanceof DomainError && errorCodes[error.code].retryable) throw error
    if (!(error instanceof DomainError))
      deps.log.error({ requestId: id, error }, 'an item of a backlog failed with an unexpected error')
    else await noteRefusal(deps, reports, identity.device, error)
    const members = problemMembers(error, id)
    deps.metrics.reportRefused(members.status)
    return { isTaken: false, revision: 0, members: { verdict: 'REFUSED', ...members } }
  }
}
