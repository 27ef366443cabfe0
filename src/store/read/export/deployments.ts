/** The deployments as of a revision, by ascending key. */
import { sql } from 'drizzle-orm'
import type { Component } from '../../../domain/deployment.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all } from '../../sql/parameters.ts'
import { type ShownDeployment, type ShownRecord, shownColumns, toShown } from '../../sql/rows.ts'
import { deployments } from '../../tables/schema.ts'
import { isListed } from '../deployment-scope.ts'
import { componentsByKey } from '../deployments.ts'
import { type DeploymentFilter, d, filterAt, matchesFound } from '../filters/deployment-filter.ts'
import { fromPast, openPast, present } from '../past.ts'

export type ExportedDeployment = ShownDeployment & { readonly components: readonly Component[] }

interface DeploymentPart {
  readonly rows: readonly ExportedDeployment[]
  /** The key to continue after. Null: there are no more. */
  readonly next: number | null
}

/** Deployments whose large components are read together. */
const together = 16
/** Characters of large components in a part. */
const mostCharacters = 4_000_000

/**
 * At most `size` deployments are looked at, whether they match or not: no statement grows with the fleet, and a filter that few deployments match
 * does not hold a snapshot for long.
 */
export async function readDeployments(
  session: Session,
  revision: Revision,
  filter: DeploymentFilter,
  after: number,
  size: number,
): Promise<DeploymentPart> {
  const last = await endOfWindow(session, after + 1, size)
  if (last === null) return { rows: [], next: null }
  const past = await openPast(session, revision)
  const window = sql`${present.key} > ${after}::bigint and ${present.key} <= ${last.key}::bigint`
  const conditions = [...isListed(session, { of: 'fleet' }, filter), matchesFound(filterAt(filter, revision))]
  const records = await session.rows<ShownRecord>(
    sql`select ${shownColumns('d')} ${fromPast(past, window)} and ${all(conditions)} order by ${d.key}`,
  )
  const { rows, isCut } = await withComponents(session, records.map(toShown), revision)
  const end = isCut ? (rows.at(-1)?.key ?? last.key) : last.key
  return { rows, next: isCut || last.isFull ? end : null }
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

/** Ends early after many characters, so that the components of a page do not fill the memory. */
async function withComponents(
  session: Session,
  shown: readonly ShownDeployment[],
  revision: Revision,
): Promise<{ readonly rows: readonly ExportedDeployment[]; readonly isCut: boolean }> {
  const large = shown.filter(({ components }) => components === null).map(({ key }) => key)
  const found = new Map<number, readonly Component[]>()
  let characters = 0
  let read = 0
  while (read < large.length && characters < mostCharacters) {
    const some = large.slice(read, read + together)
    for (const [key, components] of await componentsByKey(session, some, revision)) {
      found.set(key, components)
      characters += JSON.stringify(components).length
    }
    read += some.length
  }
  const unread = large[read]
  const rows = shown
    .filter(({ key }) => unread === undefined || key < unread)
    .map((row) => ({ ...row, components: row.components ?? found.get(row.key) ?? [] }))
  return { rows, isCut: unread !== undefined }
}
