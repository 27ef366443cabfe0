/**
 * Counts at regular times in the past. They never change, so each is requested once and cached. A request covers several points, coarse
 * ones first. The difference of two revisions is the number of changes between them.
 */
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { ask } from './api.ts'
import { graphql } from './graphql.ts'
import type { Counts } from './labels.ts'
import { now } from './time.ts'
import { useAnswer } from './use-query.ts'

export interface Point {
  readonly time: number
  readonly counts: Counts
  /** Changes per minute since the previous point; null for the first point, and when an epoch began in between. */
  readonly rate: number | null
}

type DatedCounts = Counts & { readonly revision: string }

const pointsPerRequest = 8
/** Milliseconds after which the counts of a time are final. */
const settled = 1_500
/** More changes than this between two points mean a new epoch, whose revisions start elsewhere. */
const mostChanges = 50_000_000

const oldestDocument = graphql(`query Oldest { history { oldestTime } }`)

/** When the stored history begins. Null: unknown, or there is none. */
export const oldest = signal<number | null>(null)

/** Repeated at intervals, because a first report may arrive and old history expires. */
export function useOldest(): void {
  const { data } = useAnswer(
    oldestDocument,
    {},
    { version: Math.floor(now.value / (oldest.value === null ? 5_000 : 300_000)) },
  )
  const at = data?.history.oldestTime
  useEffect(() => {
    oldest.value = at ? Date.parse(at) : null
  }, [at])
}

/** Fixed steps, so that all charts share cached points. */
const ladder = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400]

/** Milliseconds between two points, for at most `most` points in the span. */
export function chooseStep(span: number, most: number): number {
  const interval = span / most / 1_000
  return (ladder.find((step) => step >= interval) ?? 86_400) * 1_000
}

const kept = new Map<string, DatedCounts>()

/** `rollout`: a rollout's node id; null: the whole fleet. */
export function usePoints(
  rollout: string | null,
  from: number,
  to: number,
  step: number,
  isOn = true,
): readonly Point[] {
  const begin = oldest.value === null ? Number.POSITIVE_INFINITY : Math.max(from, oldest.value)
  const first = Math.ceil(begin / step) * step
  const length = first <= to ? Math.floor((Math.min(to, now.value - settled) - first) / step) + 1 : 0
  const times = Array.from({ length: Math.max(length, 0) }, (_, index) => first + index * step)
  const key = (time: number): string => `${rollout}@${time}`
  const [, redraw] = useState(0)
  useEffect(() => {
    if (!isOn) return
    const abort = new AbortController()
    const load = async (): Promise<void> => {
      const missing = coarseFirst(times.filter((time) => !kept.has(key(time))))
      for (let done = 0; done < missing.length && !abort.signal.aborted; done += pointsPerRequest) {
        const batch = missing.slice(done, done + pointsPerRequest)
        const counts = await askPoints(rollout, batch, abort.signal)
        for (const [index, time] of batch.entries()) {
          const point = counts[index]
          if (point) kept.set(key(time), point)
        }
        redraw((count) => count + 1)
      }
    }
    // A failed request only leaves points out; the next step requests them again.
    load().catch(() => undefined)
    return () => abort.abort()
  }, [rollout, first, step, times.length, isOn])

  const known = times.flatMap((time) => {
    const counts = kept.get(key(time))
    return counts ? [{ time, counts }] : []
  })
  return known.map(({ time, counts }, index) => {
    const before = known[index - 1]
    const changes = before ? Number(BigInt(counts.revision) - BigInt(before.counts.revision)) : null
    const isWithinEpoch = changes !== null && changes >= 0 && changes < mostChanges
    return { time, counts, rate: before && isWithinEpoch ? (changes / (time - before.time)) * 60_000 : null }
  })
}

/** Every eighth point first, then those between, so that the whole chart appears early. */
function coarseFirst(times: readonly number[]): readonly number[] {
  const rank = (index: number): number => (index % 8 === 0 ? 0 : index % 4 === 0 ? 1 : index % 2 === 0 ? 2 : 3)
  return times
    .map((time, index) => ({ time, rank: rank(index) }))
    .sort((a, b) => a.rank - b.rank || b.time - a.time)
    .map(({ time }) => time)
}

const pointFragment = graphql(
  `fragment Point on DeploymentCounts { total pending installing installed failed removing removed revision }`,
)

const fleetPoints = graphql(
  `
    query FleetPoints($t0: DateTime, $t1: DateTime, $t2: DateTime, $t3: DateTime, $t4: DateTime, $t5: DateTime, $t6: DateTime, $t7: DateTime) {
      p0: deploymentCounts(asOf: $t0) { ...Point }
      p1: deploymentCounts(asOf: $t1) { ...Point }
      p2: deploymentCounts(asOf: $t2) { ...Point }
      p3: deploymentCounts(asOf: $t3) { ...Point }
      p4: deploymentCounts(asOf: $t4) { ...Point }
      p5: deploymentCounts(asOf: $t5) { ...Point }
      p6: deploymentCounts(asOf: $t6) { ...Point }
      p7: deploymentCounts(asOf: $t7) { ...Point }
    }
  `,
  [pointFragment],
)

const rolloutPoints = graphql(
  `
    query RolloutPoints($rollout: ID!, $t0: DateTime, $t1: DateTime, $t2: DateTime, $t3: DateTime, $t4: DateTime, $t5: DateTime, $t6: DateTime, $t7: DateTime) {
      p0: rollout(id: $rollout, asOf: $t0) { deploymentCounts { ...Point } }
      p1: rollout(id: $rollout, asOf: $t1) { deploymentCounts { ...Point } }
      p2: rollout(id: $rollout, asOf: $t2) { deploymentCounts { ...Point } }
      p3: rollout(id: $rollout, asOf: $t3) { deploymentCounts { ...Point } }
      p4: rollout(id: $rollout, asOf: $t4) { deploymentCounts { ...Point } }
      p5: rollout(id: $rollout, asOf: $t5) { deploymentCounts { ...Point } }
      p6: rollout(id: $rollout, asOf: $t6) { deploymentCounts { ...Point } }
      p7: rollout(id: $rollout, asOf: $t7) { deploymentCounts { ...Point } }
    }
  `,
  [pointFragment],
)

/** A document has a fixed number of points. Surplus points are the present, which needs no counting. Null: the counts are unknown. */
async function askPoints(
  rollout: string | null,
  times: readonly number[],
  signal: AbortSignal,
): Promise<readonly (DatedCounts | null)[]> {
  const asOf = Object.fromEntries(times.map((time, index) => [`t${index}`, new Date(time).toISOString()]))
  const answer: Readonly<Record<string, DatedCounts | { readonly deploymentCounts: DatedCounts } | null>> =
    rollout === null ? await ask(fleetPoints, asOf, signal) : await ask(rolloutPoints, { rollout, ...asOf }, signal)
  return times.map((_, index) => {
    const point = answer[`p${index}`] ?? null
    return point && 'deploymentCounts' in point ? point.deploymentCounts : point
  })
}
