/** What a benchmark is given, and what it gives back. */
import type { BenchPostgres } from './postgres.ts'
import { type Spread, spread } from './statistics.ts'

export interface Lab {
  /** Short rounds: for trying the benchmark out, not for its numbers. */
  readonly isQuick: boolean
  /** Also what takes many minutes. */
  readonly isLarge: boolean
  readonly rounds: number
  /** Seconds of one measurement. */
  readonly seconds: number
  /** Minutes of a soak. */
  readonly minutes: number
  /** A folder of Linux control groups that the bench may add to. Null: what needs them is not measured. */
  readonly groups: string | null
  /** A checkout of another commit, with its packages, to compare this one with. Null: nothing is compared. */
  readonly against: string | null
  postgres(): Promise<BenchPostgres>
  say(text: string): void
}

export interface Bench {
  readonly name: string
  readonly title: string
  run(lab: Lab): Promise<Finding>
}

export interface Finding {
  readonly rows: readonly Row[]
  readonly claims: readonly Claim[]
  readonly notes: readonly string[]
  /** Answers that were not what they must be: any makes the whole run fail. */
  readonly wrong: readonly string[]
}

/** What was measured of one variant. */
export interface Row {
  readonly variant: string
  /** What an operation is. */
  readonly unit: string
  readonly rate: Spread
  /** Microseconds an operation; null where it makes no sense. */
  readonly serverCpu: Spread | null
  readonly databaseCpu: Spread | null
  /** Share of one core; above 0.9 the number is the client's. */
  readonly clientCpu: Spread | null
}

/** One comparison, with the aim that was set before measuring. */
export interface Claim {
  readonly of: string
  readonly value: Spread
  readonly unit: string
  /** For people; null: only stated. */
  readonly aim: string | null
  readonly isReached: boolean | null
}

export function atLeast(of: string, value: Spread, aim: number): Claim {
  return { of, value, unit: '×', aim: `≥ ${aim}`, isReached: value.median >= aim }
}

export function atMost(of: string, value: Spread, aim: number, unit = '×'): Claim {
  return { of, value, unit, aim: `≤ ${aim}${unit === '×' ? '' : ` ${unit}`}`, isReached: value.median <= aim }
}

/** All values must be at most `aim` milliseconds. */
export function slowest(of: string, times: readonly number[], aim: number): Claim {
  const { min, max } = spread(times)
  return atMost(of, { median: max, min, max }, aim, 'ms')
}

export function stated(of: string, value: Spread, unit = '×'): Claim {
  return { of, value, unit, aim: null, isReached: null }
}
