/** What the reads of a filtered list or count are bounded by, and where they begin (deployment-source.ts). */
import type { SQL } from 'drizzle-orm'

export interface SourceLimits {
  /** Deployments of a fleet or a rollout that is not worth an estimate. */
  readonly small: number
  /** Rows that are read for a page. */
  readonly candidates: number
  /** Rows that a page reads in its order, in a larger fleet or rollout than the next limit. */
  readonly walked: number
  /** Rows that are read for a count. A fleet or a rollout of at most as many deployments is answered whatever the filter. */
  readonly counted: number
  /** Revisions of the log since a moment of the past: of so many, all states are read that ended since, whatever the filter. */
  readonly scanned: number
}

/** Each takes about 0.1 s of a processor. */
export const sourceLimits: SourceLimits = {
  small: 5_000,
  candidates: 10_000,
  walked: 20_000,
  counted: 60_000,
  scanned: 300_000,
}

export type Source =
  | { readonly of: 'index' }
  /**
   * `rows`: a select of rows `d`. `matches`: the conditions of the filter that not all of them match. `most`: with more rows, it is not what it was
   * taken for, and some may be missing.
   */
  | { readonly of: 'candidates'; readonly rows: SQL; readonly matches: SQL; readonly most?: number }
  /** `changed`: conditions on the revision that all rows match, because the filter has a time. */
  | { readonly of: 'walk'; readonly walked: number; readonly changed: readonly SQL[] }
