/** Groups as the sums of rows that are counted alike. */
import { type SQL, sql } from 'drizzle-orm'
import { convergences } from '../../../domain/desired.ts'
import { deploymentStates } from '../../../domain/values.ts'
import { d } from '../filters/deployment-filter.ts'
import type { GroupQuery } from './group-rows.ts'
import { nameColumn } from './grouping.ts'
import { pathColumn } from './paths.ts'

/** `within`: the groups are of each of these groups, whose path they have. */
type Summed = Pick<GroupQuery, 'by' | 'within'>

const countedBy = (column: string, value: string, name: string): SQL =>
  sql.raw(`coalesce(sum(part.n) filter (where ${column} = '${value}'), 0)::int as ${name}`)
const counted = sql.join(
  [
    ...deploymentStates.map((state) => countedBy('part.state', state, state.toLowerCase())),
    ...convergences.map((value) => countedBy('part.convergence', value, `convergence_${value.toLowerCase()}`)),
  ],
  sql`, `,
)

/**
 * `rows`: of alikeRows. Rows that are counted alike are counted first, by a hash. In one step, each row would pass a dozen aggregates, and the distinct
 * components would need all rows sorted by text.
 */
export function alikeParts(rows: SQL, { within }: Pick<Summed, 'within'> = {}): SQL {
  const path = within ? sql`, ${pathColumn}` : sql``
  return sql`select part.*, ${d.convergence}, sum(${d}.n)::int as n,
      min(${d}.since) as since, max(${d.changedAt}) as changed_at, max(${d.revision}) as revision${path}
    ${rows} group by part.value, part.detail, part.state, part.component, ${d.convergence}${path}`
}

/** A select of groups. `key` says that there is a row: groups have no key of their own. Rows without a state count as no more deployments. */
export function selectSums({ by: { by }, within }: Summed, parts: SQL): SQL {
  const path = within ? sql`, part.group_path` : sql``
  const components =
    by === 'ERROR'
      ? sql`to_json((array_agg(distinct part.component) filter (where part.component is not null))[1:10])`
      : sql`null::json`
  return sql`select 0::bigint as key, part.value, part.detail, ${nameColumn} as name, coalesce(sum(part.n) filter (where part.state is not null), 0)::int as size,
      ${components} as components, min(part.since) as since, max(part.changed_at) as changed_at, max(part.revision) as revision, ${counted}${path}
    from (${parts}) as part group by part.value, part.detail${path}`
}
