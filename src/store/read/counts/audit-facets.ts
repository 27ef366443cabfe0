/** Checks the counts by facet: with what the entries behind them did, they must give a recount. */
import { sql } from 'drizzle-orm'
import type { Session } from '../../database.ts'
import { covered } from '../../projection.ts'
import { entryColumns, selectFacetMoves } from '../../sql/facet-moves.ts'
import { facetsProjection } from '../../write/derived/facet-counts.ts'
import type { Drift } from './drift.ts'
import { areCounted } from './facet-counts.ts'
import { addTo, totalFacets } from './facet-totals.ts'

interface CountedRecord {
  readonly facet: string
  readonly place: string
  readonly n: number
}

export async function auditFacets(session: Session, step: number): Promise<Drift[]> {
  if (!(await areCounted(session, null))) return []
  const recounted = (await totalFacets(session, Number.POSITIVE_INFINITY, step)) ?? new Map()
  const rows = await session.rows<CountedRecord>(
    sql.raw(`
      with entries as materialized (
        select first_revision, ${entryColumns} from change_log where first_revision > ${covered(facetsProjection)}
      )
      select facet, state || '/' || convergence as place, sum(n)::int as n from (
        select facet, had.state, had.convergence, had.n from facet_counts
          cross join lateral json_to_recordset(counts) as had(state deployment_state, convergence convergence, n int)
        union all select * from (${selectFacetMoves}) as moved
      ) as part group by 1, 2 order by 1, 2`),
  )
  const drift: Drift[] = []
  for (const { facet, place, n: counted } of rows) {
    const there: number = recounted.get(facet)?.get(place) ?? 0
    if (there !== counted) drift.push({ scope: `facet:${facet}`, field: place, counted, recounted: there })
    addTo(recounted, facet, place, -there)
  }
  // The rest was not counted.
  for (const [facet, places] of recounted)
    for (const [place, n] of places)
      if (n !== 0) drift.push({ scope: `facet:${facet}`, field: place, counted: 0, recounted: n })
  return drift
}
