/** Deliveries to webhooks: stored so that operators can inspect them and have them sent again. */
import { sql } from 'drizzle-orm'
import type { Millis } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import type { Order, Page, PageRequest } from '../sql/order.ts'
import { pageOf, sorted, within } from '../sql/page.ts'
import { all, isAnyOf } from '../sql/parameters.ts'
import { bytesOf, untilBytes } from '../sql/parts.ts'
import { iso } from '../sql/record-set.ts'
import { fieldsBut, type ObjectOf, type RowOf, rowMapper } from '../sql/row-mapping.ts'
import { deliveries } from '../tables/schema.ts'

const fields = fieldsBut(deliveries, 'isWanted')
type DeliveryRecord = RowOf<typeof deliveries>
export type Delivery = ObjectOf<typeof deliveries, (typeof fields)[number]>
const toDelivery: (row: DeliveryRecord) => Delivery = rowMapper(deliveries, fields)

/** Records an attempt, unless the sink is deleted. Attempts with the same event id belong to one delivery. Only the newest `kept` of a sink are retained. */
export async function noteDelivery(
  session: Session,
  delivery: Pick<Delivery, 'sinkKey' | 'eventId' | 'revision' | 'body' | 'lastStatus' | 'lastError'>,
  now: Millis,
  kept: number,
): Promise<void> {
  const { sinkKey, eventId, revision, body, lastStatus, lastError } = delivery
  await session.run(
    `insert into deliveries (sink_key, event_id, revision, body, attempts, created_at, delivered_at, last_status, last_error)
     select key, $2, $3::bigint, $4, 1, $5::timestamptz, case when $7::text is null then $5::timestamptz end, $6::int, $7
     from sinks where key = $1::bigint
     on conflict (sink_key, event_id) do update set attempts = deliveries.attempts + 1, last_status = excluded.last_status,
       last_error = excluded.last_error, delivered_at = coalesce(excluded.delivered_at, deliveries.delivered_at), is_wanted = false`,
    [sinkKey, eventId, revision, body, iso(now), lastStatus, lastError],
  )
  await session.run(
    `delete from deliveries where sink_key = $1::bigint and not is_wanted and key <= (
       select key from deliveries where sink_key = $1::bigint order by key desc offset $2::int limit 1)`,
    [sinkKey, kept],
  )
}

const newestFirst: Order<Pick<Delivery, 'key'>> = {
  name: 'DELIVERY_DESC',
  keys: [{ by: deliveries.key, type: 'bigint', descending: true, of: ({ key }) => key }],
}

/** By sink, newest first. */
export function pageDeliveries(
  session: Session,
  sinkKeys: readonly number[],
  page: PageRequest,
): Promise<Map<number, Page<Delivery>>> {
  return pageOf<Delivery, DeliveryRecord>(session, {
    parents: [...new Set(sinkKeys)],
    order: newestFirst,
    page,
    select: (stretch) =>
      sql`select ${deliveries}.* from ${deliveries}
        where ${all([sql`${deliveries.sinkKey} = parent.key`, ...within(newestFirst, stretch)])} ${sorted(newestFirst, stretch)}`,
    toNode: toDelivery,
  })
}

/** By sink. A sink without deliveries is absent. */
export async function countDeliveries(session: Session, sinkKeys: readonly number[]): Promise<Map<number, number>> {
  const rows = await session.rows<{ sink_key: number; n: number }>(
    sql`select ${deliveries.sinkKey}, count(*)::int as n from ${deliveries}
      where ${isAnyOf(deliveries.sinkKey, sinkKeys, 'bigint')} group by ${deliveries.sinkKey}`,
  )
  return new Map(rows.map((row) => [row.sink_key, row.n]))
}

/** By key. */
export async function deliveriesByKey(session: Session, keys: readonly number[]): Promise<Map<number, Delivery>> {
  const rows = await session.rows<DeliveryRecord>(
    sql`select ${deliveries}.* from ${deliveries} where ${isAnyOf(deliveries.key, keys, 'bigint')}`,
  )
  return new Map(rows.map((row) => [row.key, toDelivery(row)]))
}

/** Requests that it is sent again. Null: it does not exist. */
export async function wantDelivery(session: Session, key: number): Promise<Delivery | null> {
  const [row] = await session.run<DeliveryRecord>(
    'update deliveries set is_wanted = true where key = $1::bigint returning *',
    [key],
  )
  return row ? toDelivery(row) : null
}

/** The sinks with deliveries that are wanted again. */
export async function sinksWithWanted(session: Session, sinkKeys: readonly number[]): Promise<number[]> {
  const rows = await session.rows<{ readonly key: number }>(
    sql`select distinct ${deliveries.sinkKey} as key from ${deliveries}
      where ${deliveries.isWanted} and ${isAnyOf(deliveries.sinkKey, sinkKeys, 'bigint')}`,
  )
  return rows.map(({ key }) => key)
}

/** The first of them, by key. More may follow. */
export async function wantedDeliveries(session: Session, sinkKeys: readonly number[]): Promise<Delivery[]> {
  const wanted = sql`select ${deliveries}.* from ${deliveries}
    where ${deliveries.isWanted} and ${isAnyOf(deliveries.sinkKey, sinkKeys, 'bigint')} order by ${deliveries.key} limit 100`
  const rows = await session.rows<DeliveryRecord>(
    sql`select part.* ${untilBytes(wanted, bytesOf(sql`part.body`), sql`key`)} order by key`,
  )
  return rows.map(toDelivery)
}
