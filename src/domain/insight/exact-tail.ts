/** Exact tails of the hypergeometric and the binomial distribution. Logarithms of factorials avoid overflow. */

/** log(n!) for n from 0 to `most`. */
export function logFactorials(most: number): Float64Array {
  const table = new Float64Array(most + 1)
  for (let n = 2; n <= most; n += 1) table[n] = (table[n - 1] ?? 0) + Math.log(n)
  return table
}

/** Of `all` items `marked` are marked. The probability that `drawn` items, taken without replacement, include `least` or more marked ones. */
export function hypergeometricTail(
  table: Float64Array,
  { all, marked, drawn }: { readonly all: number; readonly marked: number; readonly drawn: number },
  least: number,
): number {
  const choose = (n: number, k: number): number => (table[n] ?? 0) - (table[k] ?? 0) - (table[n - k] ?? 0)
  const most = Math.min(marked, drawn)
  const from = Math.max(least, drawn - (all - marked), 0)
  if (least <= Math.max(drawn - (all - marked), 0)) return 1
  if (from > most) return 0
  const first = Math.exp(choose(marked, from) + choose(all - marked, drawn - from) - choose(all, drawn))
  return Math.min(
    first * sumOfRatios(from, most, (k) => ((marked - k) * (drawn - k)) / ((k + 1) * (all - marked - drawn + k + 1))),
    1,
  )
}

/** The probability of `least` or more successes in `trials`. */
export function binomialTail(table: Float64Array, trials: number, chance: number, least: number): number {
  if (least <= 0 || chance >= 1) return 1
  if (least > trials || chance <= 0) return 0
  const choose = (table[trials] ?? 0) - (table[least] ?? 0) - (table[trials - least] ?? 0)
  const first = Math.exp(choose + least * Math.log(chance) + (trials - least) * Math.log1p(-chance))
  return Math.min(first * sumOfRatios(least, trials, (k) => ((trials - k) / (k + 1)) * (chance / (1 - chance))), 1)
}

/** 1 + r(from) + r(from)·r(from + 1) + … up to `most`. It ends early where the rest no longer changes the sum. */
function sumOfRatios(from: number, most: number, ratio: (k: number) => number): number {
  let [sum, term] = [1, 1]
  for (let k = from; k < most; k += 1) {
    const next = ratio(k)
    term *= next
    sum += term
    if (next < 1 && term < sum * 1e-17) break
  }
  return sum
}
