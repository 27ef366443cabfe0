/**
 * Interleaved rounds, A B C · C B A · A B C …: whatever else the machine does in a while hits all variants alike.
 * Ratios are taken within a round; their median and range are reported. One round before them warms up and is dropped.
 */
import type { Row } from './bench.ts'
import { type Spread, spread } from './statistics.ts'

export interface Sample {
  /** Operations a second. */
  readonly rate: number
  /** Microseconds an operation. */
  readonly serverCpu: number
  readonly databaseCpu: number | null
  /** Share of one core. */
  readonly clientCpu: number
}

/** A round of one variant. */
export type Measure = (isWarmUp: boolean) => Promise<Sample>

export type Samples<Variant extends string> = Readonly<Record<Variant, readonly Sample[]>>

export async function interleave<Variant extends string>(
  variants: Readonly<Record<Variant, Measure>>,
  rounds: number,
): Promise<Samples<Variant>> {
  const names = Object.keys(variants) as Variant[]
  const samples = Object.fromEntries(names.map((name) => [name, [] as Sample[]])) as Record<Variant, Sample[]>
  for (const name of names) await variants[name](true)
  for (let round = 0; round < rounds; round += 1)
    for (const name of round % 2 === 0 ? names : names.toReversed()) samples[name].push(await variants[name](false))
  return samples
}

export function ratio(of: readonly Sample[], to: readonly Sample[], pick: (sample: Sample) => number = rateOf): Spread {
  return spread(of.map((sample, round) => pick(sample) / pick(to[round] ?? sample)))
}

export function rateOf(sample: Sample): number {
  return sample.rate
}

export function rowsOf(samples: Samples<string>, unit: string): Row[] {
  return Object.entries(samples).map(([variant, list]) => {
    const database = list.map((sample) => sample.databaseCpu).filter((value) => value !== null)
    return {
      variant,
      unit,
      rate: spread(list.map(rateOf)),
      serverCpu: spread(list.map((sample) => sample.serverCpu)),
      databaseCpu: database.length > 0 ? spread(database) : null,
      clientCpu: spread(list.map((sample) => sample.clientCpu)),
    }
  })
}
