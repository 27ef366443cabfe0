/** The deployments as of a revision, by ascending key. */
import { sql } from 'drizzle-orm'
import type { Component } from '../../../domain/deployment.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all } from '../../sql/parameters.ts'
import { bytesOf, untilBytes } from '../../sql/parts.ts'
import { exportedColumns, type ShownDeployment, type ShownRecord, toShown } from '../../sql/rows.ts'
import { deployments } from '../../tables/schema.ts'
import { isListed } from '../deployment-scope.ts'
import { type DeploymentFilter, d, filterAt, matchesFound } from '../filters/deployment-filter.ts'
import { openPast } from '../past.ts'
import { fromPast, present } from '../past-rows.ts'

export type ExportedDeployment = ShownDeployment & { readonly components: readonly Component[] }

interface DeploymentPart {
  readonly rows: readonly ExportedDeployment[]
  /** Whether their texts were too large for one part. */
  readonly isCut: boolean
  /** The key to continue after. Null: there are no more. */
  readonly next: number | null
}

type ExportedRecord = Omit<ShownRecord, 'components'> & {
  readonly components: readonly Component[]
  /** The last row of the window that matches, in this part or not. */
  readonly last_key: number
}

/**
 * At most `size` deployments are looked at, whether they match or not: no statement grows with the fleet, and a filter that few deployments match
 * does not hold a snapshot for long. Fewer are returned if they are large (parts.ts).
 */
export async function readDeployments(
  session: Session,
  revision: Revision,
  filter: DeploymentFilter,
  after: number,
  size: number,
): Promise<DeploymentPart> {
  const last = await endOfWindow(session, after + 1, size)
  if (last === null) return { rows: [], isCut: false, next: null }
  const past = await openPast(session, revision)
  const window = sql`${present.key} > ${after}::bigint and ${present.key} <= ${last.key}::bigint`
  const conditions = [...isListed(session, { of: 'fleet' }, filter), matchesFound(filterAt(filter, revision))]
  const found = sql`select ${d}.*, max(${d.key}) over () as last_key ${fromPast(past, window)} and ${all(conditions)}`
  const texts = bytesOf(sql`part.components`, sql`part.error`)
  const records = await session.rows<ExportedRecord>(
    sql`select ${exportedColumns('part')}, last_key ${untilBytes(found, texts, sql`key`)} order by key`,
  )
  const rows = records.map((record) => ({ ...toShown(record), components: record.components }))
  const end = records.at(-1)
  if (end && end.key < end.last_key) return { rows, isCut: true, next: end.key }
  return { rows, isCut: false, next: last.isFull ? last.key : null }
}

/** The key of the last of the next `size` deployments from a key on. Null: there is none. */
export async function endOfWindow(
  session: Session,
  from: number,
  size: number,
): Promise<{ readonly key: number; readonly isFull: boolean } | null> {
  const [row] = await session.rows<{ readonly key: number | null; readonly n: number }>(
    sql`select max(key) as key, count(*)::int as n from (
      select ${deployments.key} from ${deployments} where ${deployments.key} >= ${from}::bigint order by ${deployments.key} limit ${size}) as next`,
  )
  return row && row.key !== null ? { key: row.key, isFull: row.n === size } : null
}
