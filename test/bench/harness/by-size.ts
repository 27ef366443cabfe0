/** Fleets or logs of different sizes under the same load: what the largest costs beside the smallest. */
import { atMost, type Claim, type Lab, type Row } from './bench.ts'
import { closedLoop, type Measured } from './closed-loop.ts'
import { buildReports, createFleet } from './fleet.ts'
import { interleave, type Measure, ratio, rowsOf, type Sample } from './rounds.ts'

interface Sized<What extends string> {
  readonly sizes: readonly number[]
  /** What a size counts. */
  readonly of: string
  /** Each is measured by itself, with the unit of its rate. */
  readonly units: Readonly<Record<What, string>>
  readonly measure: (what: What, size: number) => Measure
}

export async function measureBySize<What extends string>(
  lab: Lab,
  { sizes, of, units, measure }: Sized<What>,
): Promise<{ readonly rows: readonly Row[]; readonly claims: readonly Claim[] }> {
  const rows: Row[] = []
  const claims: Claim[] = []
  const [smallest, largest] = [sizes[0], sizes.at(-1)]
  for (const [what, unit] of Object.entries(units) as [What, string][]) {
    const variants = Object.fromEntries(sizes.map((size) => [`${what}, ${size}`, measure(what, size)]))
    const samples = await interleave(variants, lab.rounds)
    rows.push(...rowsOf(samples, unit))
    const samplesOf = (size = 0): readonly Sample[] => samples[`${what}, ${size}`] ?? []
    const growth = ratio(samplesOf(smallest), samplesOf(largest))
    claims.push(atMost(`${what}: time with ${largest} ${of} ÷ with ${smallest}`, growth, 1.3))
  }
  return { rows, claims }
}

const connections = 16
/** Devices that report: the same number for each size. */
const reporting = 2_000

/** Reports of deployments that are there beside the seeded ones. */
export function reports(lab: Lab, measured: Measured): Measure {
  const fleet = createFleet(buildReports(reporting), connections)
  const load = {
    connections,
    next: fleet.next,
    check: (connection: number, answer: Parameters<typeof fleet.check>[1]) =>
      answer.status === 201 ? null : fleet.check(connection, answer),
  }
  return (isWarmUp) => closedLoop(load, measured, isWarmUp ? 2 : lab.seconds)
}
