/**
 * Sinks, their positions in the log, and the replicas that hold them. Single statements outside the writer's transactions: sinks are not
 * part of the log. Each update by a replica checks that it still holds the sink.
 */
import { sql } from 'drizzle-orm'
import { DomainError } from '../../domain/errors.ts'
import { storableJson } from '../../domain/text.ts'
import type { Millis } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { isAnyOf, listParameter } from '../sql/parameters.ts'
import { iso } from '../sql/record-set.ts'
import { fieldsBut, type ObjectOf, type RowOf, rowMapper } from '../sql/row-mapping.ts'
import { epochs, resources, sinks } from '../tables/schema.ts'

const fields = fieldsBut(sinks, 'holder', 'heldUntil')
export type Sink = ObjectOf<typeof sinks, (typeof fields)[number]>
export type SinkKind = Sink['kind']
export type SinkRecord = RowOf<typeof sinks>
export const toSink: (row: SinkRecord) => Sink = rowMapper(sinks, fields)

type NewSink = Pick<Sink, 'kind' | 'name' | 'instanceKey' | 'url' | 'secret' | 'filter' | 'settings' | 'cursor'>
type SinkChange = Partial<Pick<Sink, 'name' | 'url' | 'secret' | 'filter' | 'settings' | 'paused'>>

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

/**
 * A changed sink is tried at once. Null: it does not exist. Settings are merged, because a round may note its own meanwhile. `request`: only if
 * no other request came meanwhile.
 */
export async function changeSink(
  session: Session,
  key: number,
  change: SinkChange,
  request: string | null = null,
): Promise<Sink | null> {
  const given = <K extends keyof SinkChange>(field: K) => (change[field] === undefined ? null : change[field])
  const [row] = await session.run<SinkRecord>(
    `update sinks set name = coalesce($2, name), url = coalesce($3, url), filter = coalesce($4::text::json, filter),
       settings = ((settings::jsonb || coalesce($5::text::jsonb, '{}')) - 'failingSince')::json, paused = coalesce($6::boolean, paused),
       secret = case when $7::boolean then $8 else secret end, next_at = null, failures = 0
     where key = $1::bigint and ($9::text is null or settings ->> 'request' = $9) returning *`,
    [
      key,
      given('name'),
      given('url'),
      change.filter === undefined ? null : storableJson(change.filter),
      change.settings === undefined ? null : storableJson(change.settings),
      given('paused'),
      change.secret !== undefined,
      given('secret'),
      request,
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
  from ${epochs} cross join log_head head cross join lateral (select case when ${sinks.kind}::text in ('WEBHOOK', 'ALERTMANAGER') then head.revision else (
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
