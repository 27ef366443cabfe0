/** Counts at many moments of deployments that no stored counts answer: each state that a deployment was in is read once, and belongs to the moments at which it held. */
import { sql } from 'drizzle-orm'
import { mentions } from '../../../domain/selectors/selector.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all, asParents, listParameter } from '../../sql/parameters.ts'
import { fromPresent, isListed, ownedBy, parentsOf, type Scope } from '../deployment-scope.ts'
import {
  type DeploymentCondition,
  type DeploymentFilter,
  d,
  flattened,
  matchesDeployment,
} from '../filters/deployment-filter.ts'
import { readingOf } from '../filters/past-candidates.ts'
import type { SourceLimits } from '../filters/source.ts'
import { openPast } from '../past.ts'
import { fromEnded } from '../past-rows.ts'
import { areCounted, facetsOf } from './facet-counts.ts'
import type { CountedValue, Dimension } from './stored-counts.ts'

/** Deployments of a parent with this value, at the moments from `first` up to but not including `end`, by their places. */
interface Stay<Value> {
  readonly parent: number
  readonly value: Value
  readonly first: number
  readonly end: number
  readonly n: number
}

/** To count at each moment would read all deployments at each. */
export async function isOnePass(
  session: Session,
  scope: Scope,
  filter: DeploymentFilter,
  [first, second]: readonly Revision[],
  limits: SourceLimits,
): Promise<boolean> {
  // Whether a deployment was closed with its device, or its device was in maintenance, is another condition at each revision.
  if (first === undefined || second === undefined || filter.retired) return false
  if (mentions<DeploymentCondition>(filter, ['inMaintenance'])) return false
  if (facetsOf(session, scope, flattened(filter)) && (await areCounted(session, first))) return false
  const { candidates } = await readingOf(session, await openPast(session, first), scope, filter, limits)
  return candidates === 'scan'
}

/** `revisions` ascend. An entry of the log that spans one of them counts as if the deployment did not exist. */
export function staysAt<Value extends CountedValue>(
  session: Session,
  by: Dimension<Value>,
  scope: Scope,
  filter: DeploymentFilter,
  revisions: readonly Revision[],
): Promise<Stay<Value>[]> {
  const [first = 0, last = 0] = [revisions[0], revisions.at(-1)]
  const conditions = [matchesDeployment(filter), ...isListed(session, scope, filter)]
  const moments = listParameter(revisions, 'bigint')
  const columns = sql`${d[by.column]} as value, width_bucket(${d.revision} - 1, ${moments}) as first`
  return session.rows<Stay<Value>>(
    sql`select parent.key as parent, stay.value, stay.first, stay."end", count(*)::int as n
      from ${asParents(parentsOf(scope))} cross join lateral (
        select ${columns}, ${revisions.length}::int as "end" ${fromPresent(scope, [sql`${d.revision} <= ${last}::bigint`, ...conditions])}
        union all select ${columns}, width_bucket(former.until - 1, ${moments})
          ${fromEnded({ revision: first, spanned: null }, last)} where ${all([ownedBy(scope, d), ...conditions])}
      ) as stay where stay.first < stay."end" group by 1, 2, 3, 4`,
  )
}
