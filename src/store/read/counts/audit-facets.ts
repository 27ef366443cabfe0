/** Checks the counts by facet: with what the entries behind them did, they must give a recount. */
import { sql } from 'drizzle-orm'
import type { Tally } from '../../../domain/counters.ts'
import type { Session } from '../../database.ts'
import { entryColumns, selectFacetMoves, selectFacetTotals } from '../../sql/facet-moves.ts'
import type { Drift } from '../drift.ts'
import { areCounted } from './facet-counts.ts'

interface CheckRecord extends Omit<Tally, 'n'> {
  readonly facet: string
  readonly counted: number
  readonly recounted: number
}

export async function auditFacets(session: Session): Promise<Drift[]> {
  if (!(await areCounted(session, null))) return []
  const rows = await session.rows<CheckRecord>(
    sql.raw(`
      with entries as materialized (
        select ${entryColumns} from change_log where first_revision > (select cursor from duties where name = 'facets')
      )
      select facet, state, convergence, sum(counted)::int as counted, sum(recounted)::int as recounted from (
        select facet, had.state, had.convergence, had.n as counted, 0 as recounted from facet_counts
          cross join lateral json_to_recordset(counts) as had(state deployment_state, convergence convergence, n int)
        union all select facet, state, convergence, n, 0 from (${selectFacetMoves}) as moved
        union all select facet, state, convergence, 0, n from (${selectFacetTotals}) as totals
      ) as part group by 1, 2, 3 having sum(counted) <> sum(recounted) order by 1, 2, 3`),
  )
  return rows.map(({ facet, state, convergence, counted, recounted }) => ({
    scope: `facet:${facet}`,
    field: `${state}/${convergence}`,
    counted,
    recounted,
  }))
}
