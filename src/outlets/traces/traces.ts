/**
 * Exports the rollouts as traces, from a durable cursor into the log. One replica at a time holds the lease.
 *
 *   lease → read the log after the cursor → spans of what began or ended → the collector has them → note the cursor
 *
 * A replica that dies after the collector has the spans sends them again, with the same IDs.
 */
import { randomUUID } from 'node:crypto'
import type { Change } from '../../domain/change.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import { sizeOf } from '../../feed/change-size.ts'
import type { Hub } from '../../feed/hub.ts'
import type { Log } from '../../platform/log/log.ts'
import { createRounds } from '../../platform/timing/rounds.ts'
import { readHead } from '../../store/connection/log-head.ts'
import type { Database, Session } from '../../store/database.ts'
import { noteDuty, readCursor } from '../../store/duties.ts'
import { holdLeases, releaseLeases } from '../../store/leases.ts'
import { pageChanges, readLog } from '../../store/read/changes/changes.ts'
import { deploymentNames } from '../../store/read/export/names.ts'
import { type RolloutRow, rolloutsByKey } from '../../store/read/rollouts/rollouts.ts'
import { partBytes } from '../../store/sql/parts.ts'
import type { TracesConfig } from './config.ts'
import { sendAll } from './delivery.ts'
import { createExporter, type Exporter } from './exporter.ts'
import { attemptSpans, beginsAttempt, endsAttempt, rolloutSpan, type Span, type TracedRollout } from './spans.ts'

export interface TracesOptions {
  readonly config: TracesConfig
  readonly database: Database
  readonly hub: Pick<Hub, 'onMove'>
  readonly log: Log
  readonly clock: () => Millis
  /** Milliseconds between rounds without a change, and after a failure. A lease lasts six of them. */
  readonly interval?: number
}

export interface Traces {
  stop(): Promise<void>
}

/** The name of the cursor and of the lease. */
const name = 'traces'
/** Entries of the log that are read at a time. */
const step = 500
/** Changes of an attempt, and their bytes. An attempt with more begins with the oldest of them. */
const longest = { changes: 1_000, bytes: partBytes }

export async function createTraces({
  config,
  database,
  hub,
  log,
  clock,
  interval = 5_000,
}: TracesOptions): Promise<Traces> {
  const { session } = database
  const fine = (seconds: number) => ({ name, at: clock(), seconds, isFine: true })
  // Changes from before traces were configured are not exported.
  if ((await readCursor(session, name)) === null)
    await noteDuty(session, { ...fine(0), cursor: (await readHead(session)).revision })
  const holder = randomUUID()
  const exporter = createExporter(config)
  /** The server must not wait at its end for each remaining request to a collector that does not answer. */
  const whileRunning: Pick<Exporter, 'send'> = {
    send: async (spans) => {
      if (isStopped) throw new Error('the server stops')
      await exporter.send(spans)
    },
  }
  let isStopped = false
  let isFailing = false

  async function exportNext(): Promise<void> {
    const now = clock()
    const held = await holdLeases(session, { names: [name], holder, now, term: 6 * interval })
    if (!held.has(name)) return
    const began = performance.now()
    const head = await readHead(session)
    let cursor = (await readCursor(session, name)) ?? head.revision
    let missing = cursor < head.tail ? { from: cursor, to: head.tail } : null
    cursor = Math.min(Math.max(cursor, head.tail), head.revision)
    do {
      const changes = await readLog(session, cursor, step, head.revision)
      const reached = changes.at(-1)?.revision ?? head.revision
      for await (const spans of spansOf(session, changes, cursor)) await sendAll(whileRunning, log, spans)
      // Logged only after something was sent: while the collector does not answer, each round would log it.
      if (missing) log.warn(missing, 'traces are missing: their changes have expired')
      missing = null
      cursor = reached
      await noteDuty(session, { ...fine((performance.now() - began) / 1_000), cursor })
    } while (cursor < head.revision && !isStopped && performance.now() < began + 3 * interval)
    if (cursor < head.revision) rounds.request()
    if (isFailing) log.info('traces are exported again')
    isFailing = false
  }

  async function round(): Promise<boolean> {
    try {
      await exportNext()
      return true
    } catch (error) {
      if (!isFailing && !isStopped) log.warn({ error }, 'traces were not exported: trying again')
      isFailing = true
      await noteDuty(session, { ...fine(0), isFine: false }).catch(() => undefined)
      return false
    }
  }

  const rounds = createRounds(round, interval)
  const leave = hub.onMove(() => {
    if (!isFailing) rounds.request()
  })
  rounds.request()

  return {
    async stop() {
      isStopped = true
      leave()
      await rounds.stop()
      await releaseLeases(session, [name], holder).catch(() => undefined)
      await exporter.close()
    },
  }
}

/** The spans that `changes` complete, in parts of bounded bytes: the attempt that a small change ends may have large ones. `after`: the revision before them. */
async function* spansOf(session: Session, changes: readonly Change[], after: Revision): AsyncGenerator<Span[]> {
  const last = changes.at(-1)?.revision ?? after
  const keys = [...new Set(changes.flatMap(({ rolloutKey }) => rolloutKey ?? []))]
  const rollouts = await rolloutsByKey(session, keys, null)
  const traced = new Map([...rollouts].map(([key, row]) => [key, toTraced(row, changes)]))
  // A rollout from before its creation was recorded has no time for a span.
  const begun = [...traced.values()].filter(
    ({ created: { revision, at } }) => at !== null && revision > after && revision <= last,
  )
  const ended = changes.filter(endsAttempt)
  const deployments = await deploymentNames(
    session,
    ended.flatMap((one) => one.deploymentKey ?? []),
  )
  let [spans, size] = [begun.map(rolloutSpan), 0]
  for (const end of ended) {
    const deployment = deployments.get(end.deploymentKey ?? 0)
    const rollout = traced.get(end.rolloutKey ?? 0)
    if (!deployment || !rollout) continue
    const attempt = [...(await attemptOf(session, end)), ...restOfReport(changes, end)]
    const found = attemptSpans(attempt, { ...deployment, rollout })
    spans.push(...found)
    size += sizeOf(found)
    if (size < partBytes) continue
    yield spans
    ;[spans, size] = [[], 0]
  }
  yield spans
}

/** The log has no change for the creation itself, only the first change that was made with it. */
function toTraced(
  { key, name: title, kind, project, life: { created } }: RolloutRow,
  changes: readonly Change[],
): TracedRollout {
  const first = changes.find(({ rolloutKey }) => rolloutKey === key)
  const traceparent = first && first.at === created.at ? first.traceparent : null
  return { ...{ key, name: title, kind, project }, created: { ...created, traceparent } }
}

/** What the report that ended an attempt says about components, which follows the change of the deployment. */
function restOfReport(changes: readonly Change[], end: Change): readonly Change[] {
  const following = changes.slice(changes.indexOf(end) + 1)
  const other = following.findIndex(
    ({ at, deploymentKey, kind }) =>
      at !== end.at || deploymentKey !== end.deploymentKey || kind === 'DEPLOYMENT_STATE_CHANGED',
  )
  return other === -1 ? following : following.slice(0, other)
}

/** The changes of an attempt, from its beginning to its end. Retention may have removed the beginning. */
async function attemptOf(session: Session, end: Change): Promise<readonly Change[]> {
  const key = end.deploymentKey ?? 0
  const found: Change[] = [end]
  let [before, size] = [end.revision, 0]
  while (found.length < longest.changes && size < longest.bytes && !found.some(beginsAttempt)) {
    const page = { size: 50, after: null, before: String(before), backward: true }
    const pages = await pageChanges(session, { of: 'deployment', keys: [key] }, {}, page, null)
    const older = (pages.get(key)?.edges ?? []).map(({ node }) => node)
    if (older.length === 0) break
    found.unshift(...older)
    before = older[0]?.revision ?? before
    size += sizeOf(older)
  }
  return found.slice(Math.max(found.findLastIndex(beginsAttempt), 0))
}
