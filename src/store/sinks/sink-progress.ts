/** The progress of deliveries: which replica holds a sink, how far it has come, and which sinks differ from what they were sent. */
import { sql } from 'drizzle-orm'
import { storableJson } from '../../domain/text.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { latestEnd } from '../leases.ts'
import { isAnyOf } from '../sql/parameters.ts'
import { iso } from '../sql/record-set.ts'
import { resources, sinkMarks, sinks } from '../tables/schema.ts'
import { type Sink, type SinkRecord, toSink } from './sinks.ts'

interface Held {
  readonly sinks: readonly Sink[]
  /** The newest revision when they were read. A filter that is changed later applies to later changes. 0: there are no sinks. */
  readonly head: Revision
}

/** Takes or renews holds: on the sinks that this replica holds, and on up to `more` that no replica holds. */
export async function holdSinks(
  session: Session,
  lease: { readonly holder: string; readonly now: Millis; readonly term: Millis; readonly more: number },
): Promise<Held> {
  const { holder, now, term, more } = lease
  const rows = await session.run<SinkRecord & { readonly head: Revision }>(
    `update sinks set holder = $1, held_until = $3::timestamptz
     where not paused and (holder = $1 or key in (
       select key from sinks where not paused and (held_until is null or held_until < $2::timestamptz or held_until > $5::timestamptz)
       order by random() limit $4::int for update skip locked))
     returning *, (select revision from log_head) as head`,
    [holder, iso(now), iso(now + term), more, iso(latestEnd(now, term))],
  )
  return { sinks: rows.map(toSink), head: rows[0]?.head ?? 0 }
}

export async function releaseSinks(session: Session, holder: string): Promise<void> {
  await session.run('update sinks set holder = null, held_until = null where holder = $1', [holder])
}

/** Notes the cursor of a running round. */
export async function moveCursor(session: Session, key: number, holder: string, cursor: Revision): Promise<void> {
  await session.run(
    'update sinks set cursor = $3::bigint where key = $1::bigint and holder = $2 and cursor < $3::bigint',
    [key, holder, cursor],
  )
}

/** A round that says something about the receiver. */
export interface Attempt {
  readonly at: Millis
  readonly cursor: Revision
  readonly status: number | null
  readonly error: string | null
  readonly nextAt: Millis | null
  /** Whether anything was sent. */
  readonly isSent: boolean
  /** Whether some of it was accepted. */
  readonly isAccepted: boolean
  /** Merged into the present settings, which may have changed meanwhile. */
  readonly settings?: object
  /** Pauses the sink. */
  readonly isGivenUp: boolean
}

/** Records the result of an attempt, unless another replica holds the sink now. That may have come further, also if it has released the sink since. */
export async function noteAttempt(session: Session, key: number, holder: string, attempt: Attempt): Promise<void> {
  const { at, cursor, status, error, nextAt, isSent, isAccepted, settings, isGivenUp } = attempt
  await session.run(
    `update sinks set cursor = greatest(cursor, $3::bigint),
       attempted_at = case when $7::boolean then $4::timestamptz else attempted_at end,
       succeeded_at = case when $7::boolean and ($6::text is null or $11::boolean) then $4::timestamptz else succeeded_at end,
       last_status = case when $7::boolean then $5::int else last_status end,
       last_error = $6, failures = case when $6::text is null then 0 when $11::boolean then 1 else failures + 1 end, next_at = $8::timestamptz,
       settings = (settings::jsonb || coalesce($9::text::jsonb, '{}'))::json, paused = paused or $10::boolean
     where key = $1::bigint and holder = $2`,
    [
      key,
      holder,
      cursor,
      iso(at),
      status,
      error,
      isSent,
      nextAt === null ? null : iso(nextAt),
      settings === undefined ? null : storableJson(settings),
      isGivenUp,
      isAccepted,
    ],
  )
}

/** The reconciled sinks whose instance differs from what they got. */
export async function sinksBehind(session: Session, keys: readonly number[]): Promise<Set<number>> {
  const rows = await session.rows<{ key: number }>(
    sql`select ${sinks.key} from ${sinks} where ${isAnyOf(sinks.key, keys, 'bigint')} and (
      exists (select 1 from ${resources} where ${resources.instanceKey} = ${sinks.instanceKey} and ${resources.revision} > ${sinks.cursor})
      or exists (select 1 from ${sinkMarks} join ${resources} on ${resources.key} = ${sinkMarks.resourceKey}
        where ${sinkMarks.sinkKey} = ${sinks.key} and ${resources.detailHash} is distinct from ${sinkMarks.detailHash})
      or ${sinks.succeededAt} is null or ${sinks.failures} > 0
      or ${sinks.settings} ->> 'request' is distinct from ${sinks.settings} ->> 'toldRequest')`,
  )
  return new Set(rows.map(({ key }) => key))
}
