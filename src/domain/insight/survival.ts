/**
 * How long a step takes, from the durations that are known (Kaplan and Meier, 1958). A step that is still open counts as "at least that long":
 * without it, the slow ones would be missing, and the estimate too short.
 */

/** Steps of equal length. `isOpen`: they have lasted that long and go on. */
export interface Durations {
  readonly millis: number
  readonly n: number
  readonly isOpen: boolean
}

export interface Survival {
  /** The probability that a step of `age` goes on for longer than `more` milliseconds. */
  partAfter(age: number, more: number): number
}

/** Part of the weight of one duration: how much is expected beyond all known ones. */
const unseen = 0.5

/**
 * `weigh` is the weight of `n` durations: random weights with the mean n show how sure the estimate is (the Bayesian bootstrap, Rubin 1981).
 * `tail` is the index of the Pareto distribution beyond the longest known duration. An exponential tail was rejected: a deployment that hangs takes
 * many times as long as the others, and while none has ended, the known durations do not show that.
 */
export function survivalOf(durations: readonly Durations[], weigh: (n: number) => number, tail: number): Survival {
  // A total order: the order in which the durations were read must not change the result.
  const sorted = durations.toSorted((a, b) => a.millis - b.millis || Number(a.isOpen) - Number(b.isOpen) || a.n - b.n)
  const weights = sorted.map(({ n }) => weigh(n))
  let atRisk = weights.reduce((sum, weight) => sum + weight, weigh(unseen))
  const times: number[] = []
  const shares: number[] = []
  let share = 1
  for (const [index, { millis, isOpen }] of sorted.entries()) {
    const weight = weights[index] ?? 0
    if (!isOpen) {
      share *= 1 - weight / atRisk
      times.push(millis)
      shares.push(share)
    }
    atRisk -= weight
  }
  const last = Math.max(times.at(-1) ?? 0, 1)

  function shareAt(time: number): number {
    let [low, high] = [0, times.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((times[middle] ?? 0) <= time) low = middle + 1
      else high = middle
    }
    const known = low === 0 ? 1 : (shares[low - 1] ?? 1)
    return time > last ? known * (last / time) ** tail : known
  }

  return { partAfter: (age, more) => shareAt(age + more) / shareAt(age) }
}
