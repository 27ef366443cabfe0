/**
 * The devices, clusters and sites below that a server of a site sends to the one above it: those that have changed since a batch of the writer, and those that other rows
 * refer to.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { SiteTarget } from '../../../domain/sites/batch.ts'
import type { Target } from '../../../domain/target.ts'
import type { Session } from '../../database.ts'
import { isAnyOf } from '../../sql/parameters.ts'
import { bytesOf, partBytes } from '../../sql/parts.ts'
import { type TargetRecord, toTarget } from '../../sql/rows.ts'
import { targets } from '../../tables/schema.ts'

export interface ChangedTargets {
  readonly targets: readonly SiteTarget[]
  /** Those that changed up to this batch are among them. */
  readonly writes: number
}

interface SentRecord extends TargetRecord {
  /** The path of the site that it belongs to, below this server. Null: this server's own. */
  readonly site_path: string | null
}

const columns = sql`${targets}.*, (select site.name from ${targets} as site where site.key = ${targets.siteKey}) as site_path`

interface ChangedRecord extends SentRecord {
  /** Of the last row that was looked at, in this part or not. */
  readonly last_write: number
}

/** Those that changed in batches later than `after`, up to `upTo`: of about `most`, and of fewer if they are large, but always of whole batches. */
export async function changedTargets(
  session: Session,
  after: number,
  upTo: number,
  most: number,
): Promise<ChangedTargets> {
  const found = sql`select ${columns}, ${bytesOf(sql`labels`)} as part_size from ${targets}
    where ${targets.changedWrite} > ${after}::bigint and ${targets.changedWrite} <= ${upTo}::bigint
    order by ${targets.changedWrite} fetch first (${most}::int) rows with ties`
  const rows = await session.rows<ChangedRecord>(
    sql`select part.* from (select part.*, max(changed_write) over () as last_write,
        sum(part_size) over (order by changed_write groups between unbounded preceding and 1 preceding) as part_before from (${found}) as part) as part
      where coalesce(part_before, 0) < ${partBytes}::bigint order by changed_write, key`,
  )
  const last = rows.at(-1)
  const isLevel = last === undefined || (rows.length < most && last.changed_write === last.last_write)
  const writes = isLevel ? upTo : last.changed_write
  // Of what changed up to `writes`, the receiver has what is not here.
  const later = isLevel ? [] : await withParents(session, rows, sql`${targets.changedWrite} > ${writes}::bigint`)
  return { targets: [...later, ...rows].map(toSent), writes }
}

/** Those with these keys, and their parents. */
export async function targetsOf(session: Session, keys: readonly number[]): Promise<SiteTarget[]> {
  if (keys.length === 0) return []
  const rows = await session.rows<SentRecord>(
    sql`select ${columns} from ${targets} where ${isAnyOf(targets.key, keys, 'bigint')}`,
  )
  return [...(await withParents(session, rows, sql`true`)), ...rows].map(toSent)
}

/** Targets with their present, which a log that is not sent would have said. */
export async function presentTargets(
  session: Session,
  after: number,
  to: number,
  referred: readonly number[],
): Promise<SiteTarget[]> {
  const isWithin = sql`${targets.key} > ${after}::bigint and ${targets.key} <= ${to}::bigint`
  const rows = await session.rows<SentRecord>(
    sql`select ${columns} from ${targets} where ${isWithin} or ${isAnyOf(targets.key, referred, 'bigint')} order by ${targets.key}`,
  )
  const parents = await withParents(session, rows, sql`${targets.key} > ${to}::bigint`)
  return [...parents, ...rows].map((row) => ({ ...toSent(row), present: presentOf(toTarget(row)) }))
}

/** The parents of the rows that are not among them, and theirs, those without a parent first. Only those for which `isMissing`. */
async function withParents(session: Session, rows: readonly SentRecord[], isMissing: SQL): Promise<SentRecord[]> {
  const known = new Set(rows.map(({ key }) => key))
  const levels: SentRecord[][] = []
  for (let children = rows; ; ) {
    const wanted = children.flatMap(({ parent_key: parent }) => (parent === null || known.has(parent) ? [] : [parent]))
    if (wanted.length === 0) return levels.reverse().flat()
    const parents = await session.rows<SentRecord>(
      sql`select ${columns} from ${targets} where ${isAnyOf(targets.key, [...new Set(wanted)], 'bigint')} and ${isMissing}`,
    )
    for (const key of wanted) known.add(key)
    levels.push(parents)
    children = parents
  }
}

function toSent(row: SentRecord): SiteTarget {
  const { key, kind, provider, name, displayName, labels, registered, expectedInterval, parentKey, revokedAt } =
    toTarget(row)
  return {
    ...{ key, kind, name },
    ...(row.site_path !== null && { site: row.site_path }),
    ...(provider !== '' && { provider }),
    ...(displayName !== null && { displayName }),
    ...(labels.length > 0 && { labels }),
    ...(registered && { registered }),
    ...(expectedInterval !== null && { expectedInterval }),
    ...(parentKey !== null && { parent: parentKey }),
    ...(revokedAt !== null && { revokedAt }),
  }
}

function presentOf(target: Target): NonNullable<SiteTarget['present']> {
  const { connectivity, retiredAt, retiredReason, maintenanceReason, maintenanceSince, maintenanceUntil } = target
  return { connectivity, retiredAt, retiredReason, maintenanceReason, maintenanceSince, maintenanceUntil }
}
