/** Counts all deployments by facet, in steps, so that no statement grows with the fleet. */
import { sql } from 'drizzle-orm'
import type { Tally } from '../../../domain/counters.ts'
import type { Session } from '../../database.ts'
import { selectFacetTotals } from '../../sql/facet-moves.ts'

type FacetTally = readonly [facet: string, state: Tally['state'], convergence: Tally['convergence'], n: number]

/** By facet, and by state and convergence. Null: there are more than `most` facets. Takes a snapshot's session, so that nothing changes meanwhile. */
export async function totalFacets(
  session: Session,
  most: number,
  step = 10_000,
): Promise<Map<string, Map<string, number>> | null> {
  const totals = new Map<string, Map<string, number>>()
  for (let from: number | null = 0; from !== null; ) {
    const [row]: { last: number | null; tallies: readonly FacetTally[] | null }[] = await session.rows(
      sql`with step as materialized (select * from deployments where key > ${from}::bigint order by key limit ${step})
        select (select max(key) from step) as last,
          (select json_agg(json_build_array(facet, state, convergence, n)) from (${sql.raw(selectFacetTotals)}) as total) as tallies`,
    )
    for (const [facet, state, convergence, n] of row?.tallies ?? []) addTo(totals, facet, `${state}/${convergence}`, n)
    if (totals.size > most) return null
    from = row?.last ?? null
  }
  return totals
}

export function addTo(totals: Map<string, Map<string, number>>, facet: string, place: string, n: number): void {
  const counts = totals.get(facet) ?? new Map<string, number>()
  totals.set(facet, counts)
  counts.set(place, (counts.get(place) ?? 0) + n)
}
