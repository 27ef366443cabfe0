/** The rows that groups are made of: the deployments that the filter selects, each beside the parts that a grouping reads of it. */
import { type SQL, sql } from 'drizzle-orm'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { rowsOf } from '../counts/deployment-counts.ts'
import type { Scope } from '../deployment-scope.ts'
import { type DeploymentFilter, d, filterAt } from '../filters/deployment-filter.ts'
import { sourceOfGroups } from '../filters/deployment-source.ts'
import { readingOf } from '../filters/past-candidates.ts'
import { type SourceLimits, sourceLimits } from '../filters/source.ts'
import { openPast } from '../past.ts'
import { type GroupedBy, partsOf } from './grouping.ts'
import { type Paths, pathColumn, rowsOfPaths } from './paths.ts'

/** The groups of which deployments. */
export interface GroupQuery {
  readonly scope: Scope
  readonly by: GroupedBy
  readonly filter: DeploymentFilter
  /** Null: the present. */
  readonly asOf: Revision | null
  /** The groups whose deployments are grouped; the rows have their path (paths.ts). Absent: all deployments of the scope. */
  readonly within?: Paths
}

/** `from …` of rows `d` of parent.key, each beside its rows `part`. A row stands for deployments that the grouping cannot tell apart. */
export async function alikeRows(session: Session, query: GroupQuery, limits = sourceLimits): Promise<SQL> {
  const rows = await foundRows(session, query, limits)
  return sql`from (${selectAlike(query, rows)}) as ${d} cross join lateral ${partsOf(query.by)}`
}

/** `from …` of the rows `d` of parent.key, one for each deployment. */
export async function foundRows(
  session: Session,
  { scope, filter: given, asOf, within }: Omit<GroupQuery, 'by'>,
  limits: SourceLimits = sourceLimits,
): Promise<SQL> {
  const filter = filterAt(given, asOf)
  const past = asOf === null ? null : await readingOf(session, await openPast(session, asOf), scope, filter, limits)
  const source = await sourceOfGroups(session, scope, filter, limits)
  const rows = rowsOf(session, scope, filter, past, source)
  return within ? rowsOfPaths(rows, within) : rows
}

/** A select of rows `d` with the columns that the grouping reads, and `n`, `since`, `changed_at` and `revision` of the deployments that it stands for. */
function selectAlike({ by: { by }, within }: GroupQuery, rows: SQL): SQL {
  if (by !== 'LABEL') return sql`select ${d}.*, 1 as n, ${d.changedAt} as since ${rows}`
  // The labels of a target are looked up once.
  return sql`select ${d.targetKey}, ${d.state}, ${d.convergence}, count(*)::int as n, min(${d.changedAt}) as since, max(${d.changedAt}) as changed_at,
      max(${d.revision}) as revision ${within ? sql`, ${pathColumn}` : sql``} ${rows} group by 1, 2, 3${within ? sql`, ${pathColumn}` : sql``}`
}
