/** Sites: servers that send what their devices and clusters report. */
import { sql } from 'drizzle-orm'
import type { StoredSite } from '../../domain/sites/stored-site.ts'
import type { Target } from '../../domain/target.ts'
import type { Session } from '../database.ts'
import { all, isAnyOf } from '../sql/parameters.ts'
import { type TargetRecord, toTarget } from '../sql/rows.ts'
import { type SiteRecord, toStoredSite } from '../sql/site-rows.ts'
import { sites, targets } from '../tables/schema.ts'
import { visibleTarget } from './access-scope.ts'

/** The site with this path, and how far this server has its log. Null: it is not registered. */
export async function siteOf(
  session: Session,
  path: string,
): Promise<{ readonly key: number; readonly path: string; readonly stored: StoredSite | null } | null> {
  const [row] = await session.rows<{ key: number }>(
    sql`select ${targets.key} as key from ${targets} where ${isSite} and ${targets.name} = ${path}`,
  )
  if (!row) return null
  const [stored] = await session.rows<SiteRecord>(sql`select * from ${sites} where ${sites.key} = ${row.key}::bigint`)
  return { key: row.key, path, stored: stored ? toStoredSite(stored) : null }
}

const isSite = sql`${targets.kind} = 'SITE' and ${targets.provider} = '' and ${targets.siteKey} = 0`

/** All sites that the reader sees, by path. They are few: a server has at most some hundreds. */
export async function listSites(session: Session): Promise<Target[]> {
  const rows = await session.rows<TargetRecord>(
    sql`select ${targets}.* from ${targets} where ${all([isSite, ...visibleTarget(session, targets)])} order by ${targets.name}`,
  )
  return rows.map(toTarget)
}

/** How far this server has the logs of these sites. Those that have sent nothing are absent. */
export async function receptionsOf(session: Session, keys: readonly number[]): Promise<Map<number, StoredSite>> {
  const rows = await session.rows<SiteRecord>(sql`select * from ${sites} where ${isAnyOf(sites.key, keys, 'bigint')}`)
  return new Map(rows.map((row) => [row.key, toStoredSite(row)]))
}
