/**
 * Counts at regular times in the past. They never change, so each is requested once and cached. The difference of two revisions is the
 * number of changes between them.
 */
import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ask } from './api.ts'
import { type FragmentOf, graphql } from './graphql.ts'
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

/** Milliseconds after which the counts of a time are final. */
const settled = 1_500
/** More changes than this between two points mean a new epoch, whose revisions start elsewhere. */
const mostChanges = 50_000_000

const oldestDocument = graphql(`query Oldest { history { oldestTime } }`)

/** When the stored history begins. Null: there is none, or it cannot be read. Undefined: not known yet. */
export const oldest = signal<number | null | undefined>(undefined)

/** Repeated at intervals, because a first report may arrive and old history expires. */
export function useOldest(): void {
  const asked = useRef(now.value)
  if (now.value - asked.current >= (typeof oldest.value === 'number' ? 300_000 : 5_000)) asked.current = now.value
  const { data, error } = useAnswer(oldestDocument, {}, { version: asked.current })
  const at = data?.history.oldestTime
  const isKnown = data !== null || error !== null
  useEffect(() => {
    if (isKnown) oldest.value = at ? Date.parse(at) : null
  }, [at, isKnown])
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
  const begin = Math.max(from, oldest.value ?? Number.POSITIVE_INFINITY)
  const first = Math.ceil(begin / step) * step
  const length = first <= to ? Math.floor((Math.min(to, now.value - settled) - first) / step) + 1 : 0
  const times = Array.from({ length: Math.max(length, 0) }, (_, index) => first + index * step)
  const key = (time: number): string => `${rollout}@${time}`
  const [, redraw] = useState(0)
  useEffect(() => {
    if (!isOn) return
    const abort = new AbortController()
    const missing = times.filter((time) => !kept.has(key(time)))
    const [begun, last] = [missing[0], missing.at(-1)]
    if (begun === undefined || last === undefined) return
    // A failed request only leaves points out; the next step requests them again.
    askPoints(rollout, begun, last, step, abort.signal).then(
      (points) => {
        for (const { at, counts } of points) kept.set(key(Date.parse(at)), counts)
        redraw((count) => count + 1)
      },
      () => undefined,
    )
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

const pointFragment = graphql(`
  fragment Point on DeploymentCountsPoint {
    at
    counts { total pending installing installed failed removing removed revision }
  }
`)

const fleetPoints = graphql(
  `
    query FleetPoints($from: DateTime!, $to: DateTime!, $step: Int!) {
      points: deploymentCountsOverTime(from: $from, to: $to, step: $step) { ...Point }
    }
  `,
  [pointFragment],
)

const rolloutPoints = graphql(
  `
    query RolloutPoints($rollout: ID!, $from: DateTime!, $to: DateTime!, $step: Int!) {
      rollout(id: $rollout) { points: deploymentCountsOverTime(from: $from, to: $to, step: $step) { ...Point } }
    }
  `,
  [pointFragment],
)

async function askPoints(
  rollout: string | null,
  begun: number,
  last: number,
  step: number,
  signal: AbortSignal,
): Promise<readonly FragmentOf<typeof pointFragment>[]> {
  const range = { from: new Date(begun).toISOString(), to: new Date(last).toISOString(), step: step / 1_000 }
  if (rollout === null) return (await ask(fleetPoints, range, signal)).points
  return (await ask(rolloutPoints, { rollout, ...range }, signal)).rollout?.points ?? []
}
