/**
 * Forecasts of simulated rollouts, compared with what then happened. A case is one rollout of one fleet, seen at one moment, for one percentage.
 * The truth is when that part of its deployments has ended the step in which the forecast found it.
 */

import { planFleet } from '../../../src/apps/simulate/fleet.ts'
import { createRandom } from '../../../src/apps/simulate/random.ts'
import { playScript } from '../../../src/apps/simulate/script.ts'
import { type Forecast, forecast, type Progress, type Steps, startsKept } from '../../../src/domain/insight/forecast.ts'
import type { Durations } from '../../../src/domain/insight/survival.ts'
import type { DeploymentState } from '../../../src/domain/values.ts'

interface Passage {
  readonly at: number
  readonly state: DeploymentState
}

export interface BackTestCase {
  readonly devices: number
  readonly progress: number
  readonly percent: number
  readonly forecast: Forecast
  /** Milliseconds from then. */
  readonly truth: number
}

/** A first round: without updates that begin later. */
const horizon = 280_000

/** The states of each deployment of a rollout, from its declaration at 0 on. */
function rolloutsOf(devices: number, seed: number): Passage[][][] {
  const fleet = planFleet({ devices, rollouts: 4, seed, run: `back-test ${seed}` })
  return fleet.rollouts.map((rollout) =>
    fleet.deployments
      .filter((one) => one.rollout === rollout)
      .map((one) => {
        const passages: Passage[] = [{ at: 0, state: 'PENDING' }]
        for (const { at, state } of playScript(one, seed)) {
          const since = at - rollout.startsAt
          if (since > horizon * 3) break
          if (state !== passages.at(-1)?.state) passages.push({ at: since, state })
        }
        return passages
      }),
  )
}

const isOpen = (state: DeploymentState): boolean =>
  state === 'PENDING' || state === 'INSTALLING' || state === 'REMOVING'

export function stepsOf(deployments: readonly (readonly Passage[])[], now: number): Steps & { starts: number[] } {
  const waits: Durations[] = []
  const runs: Durations[] = []
  const starts: number[] = []
  for (const passages of deployments)
    for (const [index, { at, state }] of passages.entries()) {
      if (at > now) break
      if (state === 'INSTALLING' && passages[index - 1]?.state === 'PENDING') starts.push(now - at)
      if (!isOpen(state)) continue
      const end = passages[index + 1]?.at ?? Number.POSITIVE_INFINITY
      const list = state === 'PENDING' ? waits : runs
      list.push({ millis: Math.min(end, now) - at, n: 1, isOpen: end > now })
    }
  return { waits, runs, starts: starts.sort((a, b) => a - b).slice(0, startsKept) }
}

function truthOf(deployments: readonly (readonly Passage[])[], now: number, percent: number): number {
  const ends = deployments
    .map((passages) => {
      const present = passages.findLastIndex(({ at }) => at <= now)
      const end = passages.slice(present).find(({ state }) => !isOpen(state))
      return end ? Math.max(end.at - now, 0) : Number.POSITIVE_INFINITY
    })
    .sort((a, b) => a - b)
  return ends[deployments.length - Math.floor(deployments.length * (1 - percent / 100) + 1e-9) - 1] ?? 0
}

export function backTest(
  devices: number,
  seeds: readonly number[],
  seenAt: readonly number[],
  percents: readonly number[],
): BackTestCase[] {
  return seeds.flatMap((seed) =>
    rolloutsOf(devices, seed).flatMap((deployments, rollout) =>
      seenAt.flatMap((progress) => {
        const now = truthOf(deployments, 0, progress * 100)
        const { starts, ...own } = stepsOf(deployments, now)
        const seen: Progress = { total: deployments.length, own, peers: { waits: [], runs: [] }, starts }
        return percents.map((percent): BackTestCase => {
          const random = createRandom(`${seed} ${rollout} ${progress} ${percent}`)
          const found = forecast(seen, percent, random.next)
          return { devices, progress, percent, forecast: found, truth: truthOf(deployments, now, percent) }
        })
      }),
    ),
  )
}

interface BackTestRow {
  readonly cases: number
  readonly silent: number
  /** The intervals that hold the truth, as a part of those given. */
  readonly held: number
  readonly early: number
  readonly late: number
  /** The median of the width of the interval, divided by the truth. */
  readonly width: number
}

export function summarize(cases: readonly BackTestCase[]): BackTestRow {
  const given = cases.flatMap(({ forecast: found, truth }) => ('at' in found ? [{ ...found, truth }] : []))
  const share = (test: (one: (typeof given)[number]) => boolean): number => given.filter(test).length / given.length
  const widths = given.map(({ low, high, truth }) => (high - low) / truth).sort((a, b) => a - b)
  return {
    cases: cases.length,
    silent: cases.length - given.length,
    held: share(({ low, high, truth }) => truth >= low && truth <= high),
    early: share(({ low, truth }) => truth < low),
    late: share(({ high, truth }) => truth > high),
    width: widths[Math.floor(widths.length / 2)] ?? 0,
  }
}
