/** All projections. */
import type { Projection } from './projection.ts'
import { summariesProjection } from './write/derived/change-summaries.ts'
import { facetsProjection } from './write/derived/facet-counts.ts'
import { searchProjection } from './write/derived/search-entries.ts'
import { stepsProjection } from './write/step-durations.ts'

export const projections: readonly Projection[] = [
  searchProjection,
  summariesProjection,
  stepsProjection,
  facetsProjection,
]
