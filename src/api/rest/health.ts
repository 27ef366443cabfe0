import type { Millis } from '../../domain/values.ts'
import type { Writer } from '../../ingest/writer.ts'
import { build } from '../../platform/version.ts'
import { coalesce } from '../../store/connection/coalesce.ts'
import { describeOutage, isTransient } from '../../store/connection/failure.ts'
import { answerWithin } from '../../store/connection/timeout.ts'
import { isReadOnly, probeWriting } from '../../store/connection/writable.ts'
import type { Database, StandbyState } from '../../store/database.ts'
import { ageOf, type DutyState, listDuties } from '../../store/duties.ts'
import { whatIsMissing } from '../../store/migration/complete.ts'
import { answer, type Exchange, searchOf } from './exchange.ts'

export interface HealthDeps {
  readonly database: Database
  readonly writer: Pick<Writer, 'failure'>
  readonly isClosing: () => boolean
  /** The state of this server's connections to other systems, by name. The route is public: no name of anything in the fleet, and no address. */
  readonly connections: () => Readonly<Record<string, object>>
  readonly clock: () => Millis
}

/** Liveness: the process responds. It checks nothing else. */
export async function sendLiveness(exchange: Exchange): Promise<void> {
  answer(exchange, 200, 'application/json', '{"status":"alive"}')
}

/** Not public: who looks for servers of a version with a known defect needs a credential. */
export async function sendVersion(exchange: Exchange): Promise<void> {
  answer(exchange, 200, 'application/json', JSON.stringify(build))
}

/** Milliseconds. The embedded database runs statements in turn, so a busy one responds late. */
const checkTimeout = 5_000

/**
 * Readiness: the database has the tables and accepts writes, and the server is not shutting down. `?verbose` adds the state of the
 * background duties, of the standbys and of connections to other systems. A failing duty does not affect readiness: another replica would fail too, and devices can still report.
 */
export function createReadiness(deps: HealthDeps): (exchange: Exchange) => Promise<void> {
  const { database, writer, isClosing, connections, clock } = deps
  let checking: Promise<string | null> | null = null
  const duties = coalesce(() => answerWithin(checkTimeout, listDuties(database.session), []).catch(() => []))
  return async (exchange) => {
    // The route is public, so concurrent requests share one check of the database.
    checking ??= answerWithin(checkTimeout, findProblem(database, writer), 'the database does not answer').finally(
      () => {
        checking = null
      },
    )
    const found = await checking
    const problem = isClosing() ? 'the server is shutting down' : found
    const body = problem === null ? { status: 'ready' } : { status: 'not ready', reason: problem }
    const isVerbose = new URLSearchParams(searchOf(exchange.request.url)).has('verbose')
    const details = isVerbose
      ? {
          duties: (found === null ? await duties() : []).map((duty) => describeDuty(duty, clock())),
          ...(database.standbys && { standbys: database.standbys.states().map(describeStandby) }),
          ...connections(),
        }
      : {}
    answer(exchange, problem === null ? 200 : 503, 'application/json', JSON.stringify({ ...body, ...details }))
  }
}

function describeDuty({ name, succeededAt, failures, seconds, cursor }: DutyState, now: Millis): object {
  return {
    name,
    lastSuccess: succeededAt === null ? null : new Date(succeededAt).toISOString(),
    ageSeconds: ageOf(succeededAt, now),
    failures,
    seconds,
    cursor: cursor === null ? null : String(cursor),
  }
}

/** The route is public, so it does not show where the standby is. */
function describeStandby({ number, problem, lag, reads }: StandbyState): object {
  return { number, state: problem === null ? 'used' : 'left out', problem, lag, reads }
}

/** Null: none. */
async function findProblem(database: Database, { failure }: HealthDeps['writer']): Promise<string | null> {
  try {
    // On the embedded database a write goes before the reads that wait: the check of a busy server is not the last of them.
    const { missing, readOnly } = await database.transaction(async (session) => ({
      missing: await whatIsMissing(session),
      readOnly: await isReadOnly(session),
    }))
    if (missing !== null) return missing
    if (readOnly) return 'the database is read-only'
    // Only a write detects a full disk. A write in every probe would cost too much, so it runs only after a failure.
    if (failure) await probeWriting(database)
    return null
  } catch (error) {
    return isTransient(error) ? describeOutage(error) : 'the database lacks our tables'
  }
}
