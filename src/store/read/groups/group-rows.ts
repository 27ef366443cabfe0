/** The rows that groups are made of: the deployments that the filter selects, each beside the parts that a grouping reads of it. */
import { type SQL, sql } from 'drizzle-orm'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { rowsOf } from '../counts/deployment-counts.ts'
import { type DeploymentFilter, d } from '../deployment-filter.ts'
import type { Scope } from '../deployment-scope.ts'
import { type SourceLimits, sourceLimits, sourceOfGroups } from '../filters/deployment-source.ts'
import { narrowWhole } from '../filters/past-candidates.ts'
import { selectAlike } from './alike.ts'
import { type GroupedBy, partsOf } from './grouping.ts'

/** `from …` of the rows `d` of parent.key, each beside its rows `part`. */
export async function partedRows(...[session, scope, by, filter, asOf]: Asked): Promise<SQL> {
  const rows = await foundRows(session, scope, by, filter, asOf)
  return sql`from (select ${d}.* ${rows}) as ${d} cross join lateral ${partsOf(by)}`
}

/** The same, of rows `d` that stand for deployments that the grouping cannot tell apart. */
export async function alikeRows(...asked: Asked): Promise<SQL> {
  const [, , by] = asked
  return sql`from (${selectAlike(by.by, await foundRows(...asked))}) as ${d} cross join lateral ${partsOf(by)}`
}

type Asked = readonly [
  session: Session,
  scope: Scope,
  by: GroupedBy,
  filter: DeploymentFilter,
  asOf: Revision | null,
  limits?: SourceLimits,
]

async function foundRows(...[session, scope, , filter, asOf, limits = sourceLimits]: Asked): Promise<SQL> {
  const past = asOf === null ? null : await narrowWhole(session, asOf, scope, filter, limits)
  const source = await sourceOfGroups(session, scope, filter, limits)
  return rowsOf(session, scope, filter, past, source)
}
