/** How many comparisons a diagnosis makes, for which each probability is corrected (diagnosis.ts). */

/** `n` traits, and the smallest probability that each of them can have. */
export interface Comparison {
  readonly least: number
  readonly n: number
}

/**
 * The number of comparisons to correct for (Tarone, 1990). A group that is too small to be significant even if all of its deployments were affected
 * is not compared: its size alone decides that, not the outcome. Bonferroni's correction for all groups would hide a gateway among thousands of
 * single devices.
 */
export function correction(comparisons: readonly Comparison[], significance: number): number {
  let number = 1
  let rank = 0
  for (const { least, n } of comparisons.toSorted((a, b) => a.least - b.least)) {
    rank += n
    // As many as can be compared so that this one may still be significant.
    number = Math.max(number, Math.min(rank, Math.floor(significance / least) + 1))
    if (number < rank) break
  }
  return number
}
