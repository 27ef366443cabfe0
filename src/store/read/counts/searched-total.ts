/**
 * How many deployments of the fleet match conditions on applications, versions and components alone: the entries of the search index that match, without
 * a look at any deployment. Of a few deployments the index is no proof, so these are compared with the filter instead:
 *
 *   changed    they, or the fact that they are forgotten, are newer than the index
 *   instances  they are not listed if their instance is not the current one, which changes without a revision
 */
import { type SQL, sql } from 'drizzle-orm'
import { leavesOf } from '../../../domain/selectors/selector.ts'
import type { Session } from '../../database.ts'
import { presentFields } from '../../sql/conditions.ts'
import { all } from '../../sql/parameters.ts'
import { deploymentSearch, deployments } from '../../tables/schema.ts'
import { isListed, type Scope } from '../deployment-scope.ts'
import { type DeploymentCondition, type DeploymentFilter, d, matchesFound } from '../filters/deployment-filter.ts'
import { tooManyToCount } from '../filters/deployment-source.ts'
import { cursor, termsOf } from '../filters/search-ranges.ts'
import { type SourceLimits, sourceLimits } from '../filters/source.ts'

const searched: ReadonlySet<string> = new Set(['applications', 'applicationVersions', 'components', 'and'])

/** To count more of them takes longer than 0.1 s. */
const mostEntries = 500_000

/** Null: the filter has other conditions, or too many deployments must be compared. Throws BAD_USER_INPUT as the count itself would, if too many entries match. */
export async function countSearched(
  session: Session,
  of: Scope['of'],
  filter: DeploymentFilter,
  { candidates: most, counted }: SourceLimits = sourceLimits,
  entries = mostEntries,
): Promise<number | null> {
  const leaves = leavesOf<DeploymentCondition>(filter)
  const isSearched = leaves.every((leaf) => presentFields(leaf).every((field) => searched.has(field)))
  const terms = termsOf(leaves)
  if (of !== 'fleet' || session.accessScope || !isSearched || terms.length === 0) return null
  const [row] = await session.rows<{ readonly n: number | null; readonly found: number }>(
    sql`with doubtful as materialized (${sql.join(doubtful(most), sql` union `)}), found as materialized (
        select count(*) as n from (select 1 from ${deploymentSearch} where ${all(terms)} limit ${entries + 1}) as entry)
      select case when (select count(*) from doubtful) <= ${most} and (select n from found) <= ${entries} then
        (select n from found)
        - (select count(*) from doubtful cross join lateral (
            select 1 from ${deploymentSearch} where ${deploymentSearch.deploymentKey} = doubtful.key and ${all(terms)} offset 0) as entry)
        + (select count(*) from doubtful cross join lateral (select ${d}.* from ${deployments} ${d} where ${d.key} = doubtful.key offset 0) as ${d}
            where ${all([matchesFound(filter), ...isListed(session, { of }, filter)])})
      end::int as n, (select n from found)::int as found`,
  )
  if (row && row.found > Math.max(entries, counted)) throw tooManyToCount(counted)
  return row?.n ?? null
}

function doubtful(most: number): SQL[] {
  const parts = [
    sql`${d.forgottenAt} is null and ${d.revision} > ${cursor} order by ${d.revision}`,
    sql`${d.forgottenAt} is not null and ${d.revision} > ${cursor} order by ${d.revision}`,
    sql`${d.instanceKey} is not null order by ${d.instanceKey}`,
  ]
  return parts.map((part) => sql`(select ${d.key} from ${deployments} ${d} where ${part} limit ${most + 1})`)
}
