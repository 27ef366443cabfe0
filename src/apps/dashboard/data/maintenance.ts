/** When devices were in maintenance windows, for the bands of a chart. */
import { type FragmentOf, graphql } from './graphql.ts'
import { oldest } from './past-points.ts'
import { now } from './time.ts'
import { useAnswer } from './use-query.ts'

/** Milliseconds. Windows begin and end by the minute. */
const refreshInterval = 30_000

const bandFragment = graphql(`fragment Band on MaintenanceBand { from until reason targets }`)

export type Band = FragmentOf<typeof bandFragment>

const fleetBands = graphql(
  `query FleetBands($from: DateTime!, $to: DateTime!) { bands: maintenanceBands(from: $from, to: $to) { ...Band } }`,
  [bandFragment],
)

const rolloutBands = graphql(
  `
    query RolloutBands($rollout: ID!, $from: DateTime!, $to: DateTime!) {
      rollout(id: $rollout) { bands: maintenanceBands(from: $from, to: $to) { ...Band } }
    }
  `,
  [bandFragment],
)

/** `rollout`: a rollout's node id; null: the whole fleet. */
export function useBands(rollout: string | null, from: number, to: number): readonly Band[] {
  const [first, last] = [from, to].map((time) => Math.floor(time / refreshInterval) * refreshInterval)
  const range = { from: iso(first ?? from), to: iso((last ?? to) + refreshInterval) }
  const options = { version: Math.floor(now.value / refreshInterval), about: `${rollout}`, isOff: oldest.value == null }
  const fleet = useAnswer(fleetBands, range, { ...options, isOff: options.isOff || rollout !== null })
  const own = useAnswer(
    rolloutBands,
    { rollout: rollout ?? '', ...range },
    { ...options, isOff: options.isOff || rollout === null },
  )
  return (rollout === null ? fleet.data?.bands : own.data?.rollout?.bands) ?? []
}

const iso = (time: number): string => new Date(time).toISOString()
