export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  return { median: quantile(sorted, 0.5), min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN }
}

/** Of values in ascending order. */
export function quantile(sorted: readonly number[] | Float64Array, share: number): number {
  const place = share * (sorted.length - 1)
  const low = sorted[Math.floor(place)] ?? Number.NaN
  const high = sorted[Math.ceil(place)] ?? Number.NaN
  return low + (high - low) * (place - Math.floor(place))
}

/** The interval that has the true median with a probability of 95 % or more, whatever the distribution (sign test). Null: too few values. */
export function medianInterval(values: readonly number[]): readonly [number, number] | null {
  const sorted = values.toSorted((a, b) => a - b)
  const tosses = sorted.length
  let [outside, term, left] = [0, 0.5 ** tosses, 0]
  while (outside + term <= 0.025) {
    outside += term
    term *= (tosses - left) / (left + 1)
    left += 1
  }
  const [low, high] = [sorted[left - 1], sorted[tosses - left]]
  return low === undefined || high === undefined ? null : [low, high]
}

/** By least squares, from one value to the next. */
export function slopeOf(values: readonly number[]): number {
  const [middle, mean] = [(values.length - 1) / 2, values.reduce((sum, one) => sum + one, 0) / values.length]
  const [up, across] = values.reduce(
    ([over, under], one, place) => [over + (place - middle) * (one - mean), under + (place - middle) ** 2],
    [0, 0],
  )
  return up / across
}
