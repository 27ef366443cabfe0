/**
 * The rows of which a grouping reads the parts. Deployments that it cannot tell apart become one row `d` first: those without an error, whose
 * components need not be parsed, and those of one target, whose labels are looked up once.
 */
import { type SQL, sql } from 'drizzle-orm'
import { d, hasError } from '../deployment-filter.ts'
import type { Grouping } from './grouping.ts'

interface Alike {
  /** What the grouping reads of `d`, besides its state, as one value that can be compared. */
  readonly key: SQL
  /** The columns of deployments that it is made of. */
  readonly columns: SQL
}

const alike: { readonly [By in Grouping]?: Alike } = {
  ERROR: {
    key: sql`case when ${hasError} then '[' || ${d.components}::text || ',' || coalesce(${d.error}::text, 'null') || ']' end`,
    columns: sql`alike.key::json -> 0 as components, alike.key::json -> 1 as error`,
  },
  LABEL: { key: sql`${d.targetKey}`, columns: sql`alike.key as target_key` },
}

/** A select of rows `d` with the columns that the grouping reads, and `n`, `since`, `changed_at` and `revision` of the deployments that it stands for. */
export function selectAlike(by: Grouping, rows: SQL): SQL {
  const found = alike[by]
  if (!found) return sql`select ${d}.*, 1 as n, ${d.changedAt} as since ${rows}`
  const { key, columns } = found
  return sql`select ${columns}, alike.state, alike.convergence, alike.n, alike.since, alike.changed_at, alike.revision from (
    select ${key} as key, ${d.state}, ${d.convergence}, count(*)::int as n, min(${d.changedAt}) as since, max(${d.changedAt}) as changed_at,
      max(${d.revision}) as revision ${rows} group by 1, 2, 3) as alike`
}
