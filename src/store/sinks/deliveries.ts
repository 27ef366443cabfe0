/** Deliveries to webhooks: stored so that operators can inspect them and have them sent again. */
import { sql } from 'drizzle-orm'
import type { Millis } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { isAnyOf } from '../sql/parameters.ts'
import { iso } from '../sql/record-set.ts'
import { fieldsBut, type ObjectOf, type RowOf, rowMapper } from '../sql/row-mapping.ts'
import { deliveries } from '../tables/schema.ts'

const fields = fieldsBut(deliveries, 'isWanted')
type DeliveryRecord = RowOf<typeof deliveries>
export type Delivery = ObjectOf<typeof deliveries, (typeof fields)[number]>
const toDelivery: (row: DeliveryRecord) => Delivery = rowMapper(deliveries, fields)

/** Records an attempt. Attempts with the same event id belong to one delivery. Only the newest `kept` of a sink are retained. */
export async function noteDelivery(
  session: Session,
  delivery: Pick<Delivery, 'sinkKey' | 'eventId' | 'revision' | 'body' | 'lastStatus' | 'lastError'>,
  now: Millis,
  kept: number,
): Promise<void> {
  const { sinkKey, eventId, revision, body, lastStatus, lastError } = delivery
  await session.run(
    `insert into deliveries (sink_key, event_id, revision, body, attempts, created_at, delivered_at, last_status, last_error)
     values ($1::bigint, $2, $3::bigint, $4, 1, $5::timestamptz, case when $7::text is null then $5::timestamptz end, $6::int, $7)
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

/** Newest first. */
export async function deliveriesOf(
  session: Session,
  sinkKey: number,
  limit: number,
  before: number | null,
): Promise<Delivery[]> {
  const older = before === null ? sql`true` : sql`${deliveries.key} < ${before}::bigint`
  const rows = await session.rows<DeliveryRecord>(
    sql`select ${deliveries}.* from ${deliveries} where ${deliveries.sinkKey} = ${sinkKey}::bigint and ${older}
      order by ${deliveries.key} desc limit ${limit}::int`,
  )
  return rows.map(toDelivery)
}

/** Requests that it is sent again. Null: it does not exist. */
export async function wantDelivery(session: Session, key: number): Promise<Delivery | null> {
  const [row] = await session.run<DeliveryRecord>(
    'update deliveries set is_wanted = true where key = $1::bigint returning *',
    [key],
  )
  return row ? toDelivery(row) : null
}

export async function wantedDeliveries(session: Session, sinkKeys: readonly number[]): Promise<Delivery[]> {
  const rows = await session.rows<DeliveryRecord>(
    sql`select ${deliveries}.* from ${deliveries}
      where ${deliveries.isWanted} and ${isAnyOf(deliveries.sinkKey, sinkKeys, 'bigint')} order by ${deliveries.key} limit 100`,
  )
  return rows.map(toDelivery)
}
