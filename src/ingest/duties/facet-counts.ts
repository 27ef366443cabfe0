/** Counts the deployments of a large fleet by facet, so that counts in the past need not unwind all that has changed (store/write/derived/facet-counts.ts). */
import type { Database } from '../../store/database.ts'
import {
  beginFacets,
  clearFacets,
  countNext,
  countPrevious,
  faceted,
  facetSpacing,
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
  { session }: Database,
  limits: FacetLimits = { fewest, mostFacets, spacing: facetSpacing },
): Duty {
  let isGivenUp = false
  return {
    name: faceted,
    interval: 10_000,
    budget: 4_000,
    async run({ isOver }) {
      for (;;) {
        const state = await readFacetState(session)
        if (state === null || isGivenUp) return true
        const { cursor, past, oldest, deployments, facets } = state
        isGivenUp = facets > limits.mostFacets
        if (isGivenUp || (cursor !== null && cursor < oldest)) await clearFacets(session)
        else if (cursor === null || past === null) {
          if (deployments < limits.fewest) return true
          await beginFacets(session)
        } else if (
          !(await countNext(session, cursor, limits.spacing)) &&
          !(await countPrevious(session, past, oldest, limits.spacing))
        )
          return true
        if (isOver()) return false
      }
    },
  }
}
