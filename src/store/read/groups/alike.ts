/** The rows of which a grouping reads the parts. Deployments that it cannot tell apart become one row `d` first. */
import { type SQL, sql } from 'drizzle-orm'
import { d } from '../deployment-filter.ts'
import type { Grouping } from './grouping.ts'

/** A select of rows `d` with the columns that the grouping reads, and `n`, `since`, `changed_at` and `revision` of the deployments that it stands for. */
export function selectAlike(by: Grouping, rows: SQL): SQL {
  if (by !== 'LABEL') return sql`select ${d}.*, 1 as n, ${d.changedAt} as since ${rows}`
  // The labels of a target are looked up once.
  return sql`select ${d.targetKey}, ${d.state}, ${d.convergence}, count(*)::int as n, min(${d.changedAt}) as since, max(${d.changedAt}) as changed_at,
      max(${d.revision}) as revision ${rows} group by 1, 2, 3`
}
