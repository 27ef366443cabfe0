/** Which devices and clusters of rollouts and sites are or were in maintenance windows, and when: what badges and charts show. */
import { type SQL, sql } from 'drizzle-orm'
import type { Millis, Revision } from '../../../domain/values.ts'
import type { Session, Snapshot } from '../../database.ts'
import { all, asParents, isAnyOf, timeParameter } from '../../sql/parameters.ts'
import { deployments, maintenancePeriods as period, targets } from '../../tables/schema.ts'
import { visiblePlace, visibleTarget } from '../access-scope.ts'
import { rowsOf } from '../counts/deployment-counts.ts'
import { d, filterAt } from '../filters/deployment-filter.ts'
import { periodsAt, targetRow, targetsWithLabel } from '../filters/target-filter.ts'
import { labelOf } from '../groups/grouping.ts'
import { openPast, revisionsAt } from '../past.ts'

export interface InMaintenanceSummary {
  readonly targets: number
  /** The latest end of their windows, as planned. */
  readonly until: Millis
}

export interface RolloutInMaintenance extends InMaintenanceSummary {
  /** On these targets. */
  readonly deployments: number
}

export interface SiteInMaintenance extends InMaintenanceSummary {
  /** The value of the label. Null: they have none. */
  readonly site: string | null
  /** The targets with this value, in a window or not. Null: those without the label are not counted. */
  readonly total: number | null
}

/** A stretch of time in which devices or clusters were in one occurrence of a window. */
export interface MaintenanceBand extends InMaintenanceSummary {
  readonly reason: string
  readonly from: Millis
}

const mostBands = 100

const summary = sql`count(distinct found.target_key)::int as targets, max(found.until) as until`

/** Of the targets with listed deployments of rollouts. Rollouts without such targets are absent. */
export async function maintenanceOfRollouts(
  session: Session,
  keys: readonly number[],
  asOf: Revision | null,
): Promise<Map<number, RolloutInMaintenance>> {
  const found = asOf === null ? ofPresent(session, keys) : await ofPast(session, keys, asOf)
  const rows = await session.rows<RolloutInMaintenance & { readonly key: number }>(
    sql`select found.rollout_key as key, count(*)::int as deployments, ${summary} ${found} group by 1`,
  )
  return new Map(rows.map(({ key, ...one }) => [key, one]))
}

/** From the targets in windows, which are few or none, and not from all deployments of a rollout. */
function ofPresent(session: Session, keys: readonly number[]): SQL {
  const isListed = [sql`${d.forgottenAt} is null`, sql`${d.isCurrent}`, ...visiblePlace(session, d)]
  return sql`from (select ${period.targetKey}, ${period.until} from ${period} where ${period.endedRevision} is null offset 0) as inside
    cross join lateral (select inside.target_key, inside.until, ${d.rolloutKey} from ${deployments} ${d}
      where ${d.targetKey} = inside.target_key and ${all([isAnyOf(d.rolloutKey, keys, 'bigint'), ...isListed])} offset 0) as found`
}

async function ofPast(session: Session, keys: readonly number[], asOf: Revision): Promise<SQL> {
  const filter = filterAt({ rolloutKeys: keys, inMaintenance: true }, asOf)
  const rows = rowsOf(session, { of: 'fleet' }, filter, await openPast(session, asOf), { of: 'index' })
  return sql`from ${asParents([0])} cross join lateral (
    select ${d.targetKey}, ${d.rolloutKey}, (select max(${period.until}) ${periodsAt(asOf)} and ${period.targetKey} = ${d.targetKey}) as until ${rows}) as found`
}

/** By a label, the sites with the most of them first. Labels have no history: they are the present ones. */
export async function maintenanceOfSites(
  session: Session,
  labelKey: string,
  size: number,
  asOf: Revision | null,
): Promise<SiteInMaintenance[]> {
  const t = targetRow('t')
  const inside = asOf === null ? sql`from ${period} where ${period.endedRevision} is null` : periodsAt(asOf)
  const sites = await session.rows<Omit<SiteInMaintenance, 'total'>>(
    sql`select found.site, ${summary} from (select ${period.targetKey}, ${period.until} ${inside} offset 0) as inside
      cross join lateral (select inside.target_key, inside.until, ${labelOf(t.key, labelKey)} as site from ${targets} ${t}
        where ${all([sql`${t.key} = inside.target_key`, ...visibleTarget(session, t)])} offset 0) as found
      group by 1 order by 2 desc, 1 limit ${size}`,
  )
  const totals = await countSites(
    session,
    labelKey,
    sites.flatMap(({ site }) => site ?? []),
  )
  // A device that was in a window may have been retired since.
  return sites.map((one) => ({
    ...one,
    total: one.site === null ? null : Math.max(one.targets, totals.get(one.site) ?? 0),
  }))
}

/** The targets in service with each of these values of a label. */
async function countSites(
  session: Session,
  labelKey: string,
  sites: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (sites.length === 0) return new Map()
  const t = targetRow('t')
  const counts = sites.map(
    (
      site,
    ) => sql`select ${site}::text as site, count(*)::int as total from (${targetsWithLabel(t, { key: labelKey, value: site })}) as named
      cross join lateral (select 1 from ${targets} ${t} where ${t.key} = named.key and ${t.retiredAt} is null
        and ${all([sql`${labelOf(t.key, labelKey)} = ${site}`, ...visibleTarget(session, t)])} offset 0) as found`,
  )
  const rows = await session.rows<{ site: string; total: number }>(sql.join(counts, sql` union all `))
  return new Map(rows.map(({ site, total }) => [site, total]))
}

/** Within the history that is kept, the newest of them, in the order of their beginnings. `rolloutKey`: of targets with deployments of it now. */
export async function maintenanceBands(
  session: Snapshot,
  rolloutKey: number | null,
  from: Millis,
  to: Millis | null,
): Promise<MaintenanceBand[]> {
  const { tailAt } = await session.head
  const begin = Math.max(from, tailAt)
  const [before = 0] = await revisionsAt(session, [begin])
  const t = targetRow('t')
  const isOwn =
    rolloutKey === null
      ? []
      : [
          sql`exists (select 1 from ${deployments} ${d} where ${d.targetKey} = ${t.key} and ${d.rolloutKey} = ${rolloutKey}::bigint
            and ${all([sql`${d.forgottenAt} is null`, ...visiblePlace(session, d)])})`,
        ]
  const rows = await session.rows<MaintenanceBand>(
    sql`select min(${period.reason}) as reason, min(${period.beganAt}) as "from", max(coalesce(${period.endedAt}, ${period.until})) as until,
        count(distinct ${period.targetKey})::int as targets
      from ${period} where (${period.endedRevision} > ${before}::bigint or ${period.endedRevision} is null)
        and ${to === null ? sql`true` : sql`${period.beganAt} < ${timeParameter(to)}`} and coalesce(${period.endedAt}, ${period.until}) > ${timeParameter(begin)}
        and exists (select 1 from ${targets} ${t}
          where ${all([sql`${t.key} = ${period.targetKey}`, ...visibleTarget(session, t), ...isOwn])} offset 0)
      group by ${period.windowKey}, ${period.until} order by 2 desc limit ${sql.raw(String(mostBands))}`,
  )
  return rows.toReversed()
}
