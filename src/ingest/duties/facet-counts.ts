/** Counts the deployments of a large fleet by facet, so that counts in the past need not unwind all that has changed (store/write/derived/facet-counts.ts). */
import type { Database } from '../../store/database.ts'
import { step } from '../../store/projection.ts'
import {
  beginFacets,
  clearFacets,
  countPrevious,
  type FacetState,
  facetSpacing,
  facetsDuty,
  facetsProjection,
  readFacetState,
} from '../../store/write/derived/facet-counts.ts'
import type { Duty } from './duties.ts'

/** Deployments. In a smaller fleet, so few can have changed that they can be unwound. */
const fewest = 50_000
/** Beyond it, facets are not counted until the server starts again: where each deployment has an application of its own, each entry would be a row. */
const mostFacets = 20_000

export interface FacetLimits {
  readonly fewest: number
  readonly mostFacets: number
  /** Entries of one step. */
  readonly spacing: number
}

export function createFacetCounts(
  database: Database,
  limits: FacetLimits = { fewest, mostFacets, spacing: facetSpacing },
): Duty {
  const { session } = database
  const { spacing } = limits
  let isGivenUp = false

  /** Where the duty goes on. Null: nothing is to be counted. */
  async function begin(): Promise<FacetState | null> {
    for (;;) {
      const state = await readFacetState(session)
      if (isGivenUp) return null
      const { cursor, oldest, deployments, facets } = state
      isGivenUp = facets > limits.mostFacets
      if (isGivenUp || (cursor !== null && cursor < oldest)) await clearFacets(session)
      else if (cursor !== null) return state
      else if (deployments < limits.fewest) return null
      else isGivenUp = !(await beginFacets(database, limits.mostFacets))
    }
  }

  return {
    name: facetsDuty,
    interval: 10_000,
    budget: 4_000,
    async run({ isOver }) {
      const state = await begin()
      if (state === null) return true
      while ((await step(database, facetsProjection, spacing))?.hasMore) if (isOver()) return false
      for (let past = state.past; past !== null; past = await countPrevious(session, past, state.oldest, spacing))
        if (isOver()) return false
      return true
    },
  }
}
