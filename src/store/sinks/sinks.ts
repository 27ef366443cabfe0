/**
 * Sinks, their positions in the log, and the replicas that hold them. Single statements outside the writer's transactions: sinks are not
 * part of the log. Each update by a replica checks that it still holds the sink.
 */
import { sql } from 'drizzle-orm'
import { DomainError } from '../../domain/errors.ts'
import { storableJson } from '../../domain/text.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { isAnyOf, listParameter } from '../sql/parameters.ts'
import { iso } from '../sql/record-set.ts'
import { fieldsBut, type ObjectOf, type RowOf, rowMapper } from '../sql/row-mapping.ts'
import { epochs, resources, sinkMarks, sinks } from '../tables/schema.ts'

export { sinkKinds } from '../tables/columns.ts'
export type { SinkFilter } from '../tables/sinks.ts'

const fields = fieldsBut(sinks, 'holder', 'heldUntil')
export type Sink = ObjectOf<typeof sinks, (typeof fields)[number]>
export type SinkKind = Sink['kind']
type SinkRecord = RowOf<typeof sinks>
const toSink: (row: SinkRecord) => Sink = rowMapper(sinks, fields)

export type NewSink = Pick<Sink, 'kind' | 'name' | 'instanceKey' | 'url' | 'secret' | 'filter' | 'settings' | 'cursor'>
export type SinkChange = Partial<Pick<Sink, 'name' | 'url' | 'secret' | 'filter' | 'settings' | 'paused'>>

/** Throws CONFLICT if the name is taken. */
export async function createSink(session: Session, sink: NewSink, now: Millis): Promise<Sink> {
  const [row] = await session.run<SinkRecord>(
    `insert into sinks (kind, name, instance_key, url, secret, filter, settings, cursor, created_at)
     values ($1::sink_kind, $2, $3::bigint, $4, $5, $6::text::json, $7::text::json, $8::bigint, $9::timestamptz)
     on conflict do nothing returning *`,
    [
      sink.kind,
      sink.name,
      sink.instanceKey,
      sink.url,
      sink.secret,
      storableJson(sink.filter),
      storableJson(sink.settings),
      sink.cursor,
      iso(now),
    ],
  )
  if (!row) throw new DomainError('CONFLICT', `there is a subscription ${sink.name} already`)
  return toSink(row)
}

/** A changed sink is tried at once. Null: it does not exist. */
export async function changeSink(session: Session, key: number, change: SinkChange): Promise<Sink | null> {
  const given = <K extends keyof SinkChange>(field: K) => (change[field] === undefined ? null : change[field])
  const [row] = await session.run<SinkRecord>(
    `update sinks set name = coalesce($2, name), url = coalesce($3, url), filter = coalesce($4::text::json, filter),
       settings = (coalesce($5::text::jsonb, settings::jsonb) - 'failingSince')::json, paused = coalesce($6::boolean, paused),
       secret = case when $7::boolean then $8 else secret end, next_at = null, failures = 0
     where key = $1::bigint returning *`,
    [
      key,
      given('name'),
      given('url'),
      change.filter === undefined ? null : storableJson(change.filter),
      change.settings === undefined ? null : storableJson(change.settings),
      given('paused'),
      change.secret !== undefined,
      given('secret'),
    ],
  )
  return row ? toSink(row) : null
}

/** `request`: only if no other request came meanwhile. */
export async function deleteSink(session: Session, key: number, request: string | null = null): Promise<Sink | null> {
  const [row] = await session.run<SinkRecord>(
    `with gone as (delete from sinks where key = $1::bigint and ($2::text is null or settings ->> 'request' = $2) returning *),
       marks as (delete from sink_marks where sink_key in (select key from gone)),
       sent as (delete from deliveries where sink_key in (select key from gone))
     select * from gone`,
    [key, request],
  )
  return row ? toSink(row) : null
}

export async function sinksByKey(session: Session, keys: readonly number[]): Promise<Map<number, Sink>> {
  const rows = await session.rows<SinkRecord>(
    sql`select ${sinks}.* from ${sinks} where ${isAnyOf(sinks.key, keys, 'bigint')}`,
  )
  return new Map(rows.map((row) => [row.key, toSink(row)]))
}

/** By kind, and by instance if one is given. Oldest first. */
export async function listSinks(
  session: Session,
  kinds: readonly SinkKind[],
  instanceKey: number | null,
): Promise<Sink[]> {
  const ofInstance = instanceKey === null ? sql`true` : sql`${sinks.instanceKey} = ${instanceKey}::bigint`
  const rows = await session.rows<SinkRecord>(
    sql`select ${sinks}.* from ${sinks} where ${sinks.kind}::text = any(${listParameter(kinds, 'text')}) and ${ofInstance} order by ${sinks.key}`,
  )
  return rows.map(toSink)
}

/**
 * Number of revisions that a sink has not got. The gap between two epochs does not count. A reconciled sink lags only while its instance
 * has newer changes.
 */
const lag = sql`(
  select coalesce(sum(greatest(0, least(coalesce(${epochs.ended}, head.revision), newest.revision)
    - greatest(${epochs.base}, head.tail, ${sinks.cursor}))), 0)
  from ${epochs} cross join log_head head cross join lateral (select case when ${sinks.kind} = 'WEBHOOK' then head.revision else (
    select max(${resources.revision}) from ${resources} where ${resources.instanceKey} = ${sinks.instanceKey}) end as revision) newest
  where newest.revision is not null)::float8`

export async function lagsOf(session: Session, keys: readonly number[]): Promise<Map<number, number>> {
  const rows = await session.rows<{ key: number; lag: number }>(
    sql`select ${sinks.key}, ${lag} as lag from ${sinks} where ${isAnyOf(sinks.key, keys, 'bigint')}`,
  )
  return new Map(rows.map((row) => [row.key, row.lag]))
}

/** At most a thousand, failing ones first. */
export async function listSinkStates({
  session,
}: {
  readonly session: Session
}): Promise<{ key: number; kind: SinkKind; name: string; lag: number; failures: number }[]> {
  return session.rows(
    sql`select ${sinks.key}, ${sinks.kind}, ${sinks.name}, ${sinks.failures}, ${lag} as lag from ${sinks}
      order by ${sinks.failures} desc, ${sinks.key} limit 1000`,
  )
}

/** Takes or renews holds: on the sinks that this replica holds, and on up to `more` that no replica holds. */
export async function holdSinks(
  session: Session,
  lease: { readonly holder: string; readonly now: Millis; readonly term: Millis; readonly more: number },
): Promise<Sink[]> {
  const { holder, now, term, more } = lease
  const rows = await session.run<SinkRecord>(
    `update sinks set holder = $1, held_until = $3::timestamptz
     where not paused and (holder = $1 and held_until >= $2::timestamptz or key in (
       select key from sinks where not paused and (held_until is null or held_until < $2::timestamptz)
       order by random() limit $4::int for update skip locked))
     returning *`,
    [holder, iso(now), iso(now + term), more],
  )
  return rows.map(toSink)
}

export async function releaseSinks(session: Session, holder: string): Promise<void> {
  await session.run('update sinks set holder = null, held_until = null where holder = $1', [holder])
}

/** Notes how far a round that still runs has come. */
export async function moveCursor(session: Session, key: number, holder: string, cursor: Revision): Promise<void> {
  await session.run(
    'update sinks set cursor = $3::bigint where key = $1::bigint and holder = $2 and cursor < $3::bigint',
    [key, holder, cursor],
  )
}

/** Records the result of an attempt. False: another replica holds the sink now. */
export async function noteAttempt(
  session: Session,
  key: number,
  holder: string,
  attempt: {
    readonly at: Millis
    readonly cursor: Revision
    readonly status: number | null
    readonly error: string | null
    readonly nextAt: Millis | null
    /** Whether anything was sent. */
    readonly isSent: boolean
    /** Whether some of it was accepted. */
    readonly isFurther: boolean
    /** Merged into the present settings, which may have changed meanwhile. */
    readonly settings?: object
    /** Pauses the sink. */
    readonly isGivenUp: boolean
  },
): Promise<boolean> {
  const { at, cursor, status, error, nextAt, isSent, isFurther, settings, isGivenUp } = attempt
  const rows = await session.run(
    `update sinks set cursor = greatest(cursor, $3::bigint),
       attempted_at = case when $7::boolean then $4::timestamptz else attempted_at end,
       succeeded_at = case when $7::boolean and ($6::text is null or $11::boolean) then $4::timestamptz else succeeded_at end,
       last_status = case when $7::boolean then $5::int else last_status end,
       last_error = $6, failures = case when $6::text is null then 0 when $11::boolean then 1 else failures + 1 end, next_at = $8::timestamptz,
       settings = (settings::jsonb || coalesce($9::text::jsonb, '{}'))::json, paused = paused or $10::boolean
     where key = $1::bigint and holder = $2 returning key`,
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
      isFurther,
    ],
  )
  return rows.length > 0
}

/** `settings.format` of reconciled inventory sinks. A node that an older server wrote has an older format. */
export const inventoryFormat = 2

/** The reconciled sinks whose instance differs from what they got. */
export async function sinksBehind(session: Session, keys: readonly number[]): Promise<Set<number>> {
  const rows = await session.rows<{ key: number }>(
    sql`select ${sinks.key} from ${sinks} where ${isAnyOf(sinks.key, keys, 'bigint')} and (
      exists (select 1 from ${resources} where ${resources.instanceKey} = ${sinks.instanceKey} and ${resources.revision} > ${sinks.cursor})
      or exists (select 1 from ${sinkMarks} join ${resources} on ${resources.key} = ${sinkMarks.resourceKey}
        where ${sinkMarks.sinkKey} = ${sinks.key} and ${resources.detailHash} is distinct from ${sinkMarks.detailHash})
      or ${sinks.succeededAt} is null or ${sinks.failures} > 0
      or (${sinks.kind} = 'INVENTORY' and coalesce(${sinks.settings} ->> 'format', '1') <> ${String(inventoryFormat)})
      or ${sinks.settings} ->> 'request' is distinct from ${sinks.settings} ->> 'toldRequest')`,
  )
  return new Set(rows.map(({ key }) => key))
}
