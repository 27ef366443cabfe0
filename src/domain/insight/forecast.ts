/**
 * When a rollout will be done: when a given part of its deployments has ended its present step. docs/insight.md has the method and how often it was right.
 *
 *   PENDING     starts at the pace of the latest starts, or as the peers did while too few have started
 *   INSTALLING  ends as the survival of this step says, given how long it has lasted
 *
 * A straight line through the progress was rejected: the last deployments of a rollout are the slow ones, so such a line is always too early.
 */
import { binomialTail, logFactorials } from './exact-tail.ts'
import { type Durations, type Survival, survivalOf } from './survival.ts'

/** The steps of one kind: of the rollout itself, and of its peers. */
export interface Steps {
  readonly waits: readonly Durations[]
  readonly runs: readonly Durations[]
}

export interface Progress {
  /** All deployments. */
  readonly total: number
  readonly own: Steps
  readonly peers: Steps
  /** Milliseconds since the latest starts, the shortest first, at most `startsKept`. */
  readonly starts: readonly number[]
}

export const startsKept = 40
/** Fewer durations say too little. */
const fewestDurations = 10

const forecastReasons = ['DONE', 'NOT_STARTED', 'TOO_FEW', 'NO_END'] as const
export type ForecastReason = (typeof forecastReasons)[number]
const forecastBases = ['OWN', 'PEERS', 'BOTH'] as const
export type ForecastBasis = (typeof forecastBases)[number]

export type Forecast =
  | {
      /** Milliseconds from now: the median, and the 10th and 90th percentile. */
      readonly at: number
      readonly low: number
      readonly high: number
      readonly basis: ForecastBasis
    }
  | { readonly reason: ForecastReason }

const samples = 100
const heaviest = 1.7
/** Beyond this there is no statement. */
export const farthest = 400 * 86_400_000

/** `percent`: of the deployments. `next`: random numbers in [0, 1). */
export function forecast(progress: Progress, percent: number, next: () => number): Forecast {
  const { total, own, peers, starts } = progress
  const waiting = openOf(own.waits)
  const running = openOf(own.runs)
  const open = countOf(waiting) + countOf(running)
  const allowed = Math.floor(total * (1 - percent / 100) + 1e-9)
  if (open <= allowed) return { reason: 'DONE' }
  const runs = chosen(own.runs, peers.runs)
  const isPaced = starts.length >= fewestDurations
  const waits = isPaced ? own.waits : endedOf(peers.waits) >= fewestDurations ? peers.waits : null
  const isWaiting = waiting.length > 0
  if (!runs || (isWaiting && !isPaced && !waits))
    return { reason: running.length === 0 && starts.length === 0 ? 'NOT_STARTED' : 'TOO_FEW' }

  const table = logFactorials(Math.min(open, mostExact))
  const found = Array.from({ length: samples }, () => {
    const run = survivalOf(runs.durations, (n) => gamma(n, next), heaviest * (0.5 + next()))
    const wait = waits && !isPaced ? survivalOf(waits, (n) => gamma(n, next), heaviest * (0.5 + next())) : null
    const starting = isPaced ? paceOf(starts, next) : null
    const parts = [
      ...grouped(running).map(({ n, millis }) => ({ n, left: (time: number) => run.partAfter(millis, time) })),
      ...(starting ? queued(waiting, starting, run) : wait ? delayed(waiting, wait, run) : []),
    ]
    const level = next()
    return solve((time) => chanceOfDone(parts, open, allowed, time, table) >= level)
  }).sort((a, b) => a - b)
  const [low, at, high] = [0.1, 0.5, 0.9].map((share) => found[Math.floor(share * (samples - 1))] ?? 0)
  if (at === undefined || low === undefined || high === undefined || high >= farthest) return { reason: 'NO_END' }
  const ofPeers = [runs.isOfPeers, ...(isWaiting ? [!isPaced] : [])]
  return { at, low, high, basis: ofPeers.every(Boolean) ? 'PEERS' : ofPeers.some(Boolean) ? 'BOTH' : 'OWN' }
}

interface Part {
  readonly n: number
  /** The probability that one of them is not done after that time. */
  readonly left: (time: number) => number
}

function chosen(own: readonly Durations[], peers: readonly Durations[]) {
  if (endedOf(own) >= fewestDurations) return { durations: own, isOfPeers: false }
  return endedOf(peers) >= fewestDurations ? { durations: [...peers, ...own], isOfPeers: true } : null
}

/** Milliseconds from one start to the next. */
function paceOf(starts: readonly number[], next: () => number): number {
  const span = Math.max(starts.at(-1) ?? 0, 1)
  return span / gamma(starts.length / 2, next) / 2
}

const quantiles = 12

/** They start one after the other, the oldest first. */
function queued(waiting: readonly Durations[], pace: number, run: Survival): Part[] {
  const n = countOf(waiting)
  const size = Math.max(Math.ceil(n / 48), 1)
  return Array.from({ length: Math.ceil(n / size) }, (_, index) => {
    const own = Math.min(size, n - index * size)
    const starts = (index * size + (own + 1) / 2) * pace
    return { n: own, left: (time) => (time <= starts ? 1 : run.partAfter(0, time - starts)) }
  })
}

/** They start independently, as the survival of the wait says. */
function delayed(waiting: readonly Durations[], wait: Survival, run: Survival): Part[] {
  return grouped(waiting).map(({ n, millis }) => {
    const delays = Array.from({ length: quantiles }, (_, index) =>
      solve((time) => wait.partAfter(millis, time) <= 1 - (index + 0.5) / quantiles),
    )
    const left = (time: number): number =>
      delays.reduce((sum, delay) => sum + (time <= delay ? 1 : run.partAfter(0, time - delay)), 0) / quantiles
    return { n, left }
  })
}

const mostExact = 2_000

/** The probability that at most `allowed` of the open deployments are left at that time. */
function chanceOfDone(
  parts: readonly Part[],
  open: number,
  allowed: number,
  time: number,
  table: Float64Array,
): number {
  let [mean, variance, none] = [0, 0, 0]
  for (const { n, left } of parts) {
    const share = left(time)
    mean += n * share
    variance += n * share * (1 - share)
    none += n * Math.log1p(-Math.min(share, 1 - 1e-12))
  }
  if (allowed === 0) return Math.exp(none)
  if (open <= mostExact) return 1 - binomialTail(table, open, mean / open, allowed + 1)
  return normal((allowed + 0.5 - mean) / Math.sqrt(Math.max(variance, 1e-9)))
}

/** The first time at which `isReached`, which is monotone. */
function solve(isReached: (time: number) => boolean): number {
  let high = 1_000
  while (!isReached(high)) {
    high *= 2
    if (high > farthest) return farthest
  }
  let low = high === 1_000 ? 0 : high / 2
  for (let step = 0; step < 12; step += 1) {
    const middle = (low + high) / 2
    if (isReached(middle)) high = middle
    else low = middle
  }
  return high
}

/** At most 24 groups of similar age. */
function grouped(open: readonly Durations[]): Durations[] {
  const sorted = open.toSorted((a, b) => a.millis - b.millis || a.n - b.n)
  const size = Math.max(Math.ceil(sorted.length / 24), 1)
  return Array.from({ length: Math.ceil(sorted.length / size) }, (_, index) => {
    const own = sorted.slice(index * size, (index + 1) * size)
    const n = countOf(own)
    return { n, millis: own.reduce((sum, one) => sum + one.millis * one.n, 0) / n, isOpen: true }
  })
}

function openOf(durations: readonly Durations[]): Durations[] {
  return durations.filter(({ isOpen }) => isOpen)
}

function endedOf(durations: readonly Durations[]): number {
  return countOf(durations.filter(({ isOpen }) => !isOpen))
}

function countOf(durations: readonly Durations[]): number {
  return durations.reduce((sum, { n }) => sum + n, 0)
}

/** A random number of the gamma distribution with this shape and scale 1 (Marsaglia and Tsang, 2000). */
function gamma(shape: number, next: () => number): number {
  if (shape < 1) return gamma(shape + 1, next) * (1 - next()) ** (1 / shape)
  const d = shape - 1 / 3
  const c = 1 / Math.sqrt(9 * d)
  for (;;) {
    const x = Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())
    const v = (1 + c * x) ** 3
    if (v > 0 && Math.log(1 - next()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v
  }
}

/** The standard normal distribution (Abramowitz and Stegun 26.2.17), within 7.5e-8. */
function normal(z: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(z))
  const poly = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
  const tail = (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * poly
  return z > 0 ? 1 - tail : tail
}
