/** Groups as the sums of rows that are counted alike. */
import { type SQL, sql } from 'drizzle-orm'
import { convergences } from '../../../domain/desired.ts'
import { deploymentStates } from '../../../domain/values.ts'
import { nameColumn } from './grouping.ts'

const countedBy = (column: string, value: string, name: string): SQL =>
  sql.raw(`coalesce(sum(part.n) filter (where ${column} = '${value}'), 0)::int as ${name}`)
const counted = sql.join(
  [
    ...deploymentStates.map((state) => countedBy('part.state', state, state.toLowerCase())),
    ...convergences.map((value) => countedBy('part.convergence', value, `convergence_${value.toLowerCase()}`)),
  ],
  sql`, `,
)

/** A select of groups. `key` says that there is a row: groups have no key of their own. */
export function selectSums(alike: SQL, components: SQL = sql`null::json`): SQL {
  return sql`select 0::bigint as key, part.value, part.detail, ${nameColumn} as name, sum(part.n)::int as size,
      ${components} as components, min(part.since) as since, max(part.changed_at) as changed_at, max(part.revision) as revision, ${counted}
    from (${alike}) as part group by part.value, part.detail`
}
