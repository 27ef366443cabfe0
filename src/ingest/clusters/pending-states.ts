/**
 * States of instances that are not known yet. They are kept and retried when a new instance exists, or after a delay.
 * Their total size and their age are limited.
 */

import type { Millis } from '../../domain/values.ts'
import { type BackOff, pauseAfter } from '../../platform/timing/back-off.ts'
import type { CustomResource } from './custom-resource.ts'

export interface PendingStates {
  readonly size: number
  /** Replaces an older state with the same label. */
  keep(one: CustomResource): void
  forget(label: string): void
  /** The states whose retry is due. */
  due(): CustomResource[]
  ofContext(context: string): CustomResource[]
  /** Drops those for which `isThere` is false. */
  sweep(isThere: (label: string) => boolean): void
}

export interface PendingStatesLimits {
  readonly most?: number
  /** Characters of all states together. */
  readonly heaviest?: number
  readonly longest?: Millis
  /** Between retries of one state. */
  readonly backOff?: BackOff
}

/** Milliseconds. */
const defaultBackOff: BackOff = { first: 5_000, longest: 300_000 }

interface Waiting {
  readonly one: CustomResource
  readonly since: Millis
  readonly tries: number
  readonly nextAt: Millis
}

/** `dropped` receives the number of objects that were dropped for their size or their age. */
export function createPendingStates(
  clock: () => Millis,
  dropped: (count: number) => void,
  limits: PendingStatesLimits = {},
): PendingStates {
  const { most = 1_000, heaviest = Number.POSITIVE_INFINITY, longest = 60 * 60_000 } = limits
  const backOff = limits.backOff ?? defaultBackOff
  /** Oldest first. */
  const waiting = new Map<string, Waiting>()
  let weight = 0

  function forget(label: string): void {
    weight -= waiting.get(label)?.one.size ?? 0
    waiting.delete(label)
  }

  function makeRoom(): void {
    let count = 0
    for (const [label, { since }] of waiting) {
      if (waiting.size <= most && weight <= heaviest && clock() - since <= longest) break
      forget(label)
      count += 1
    }
    if (count > 0) dropped(count)
  }

  return {
    get size() {
      return waiting.size
    },
    keep(one) {
      const known = waiting.get(one.label)
      const tries = known ? known.tries + 1 : 0
      weight += one.size - (known?.one.size ?? 0)
      // `set` keeps the position of an existing key, so the map stays ordered by `since`.
      waiting.set(one.label, {
        one,
        since: known?.since ?? clock(),
        tries,
        nextAt: clock() + pauseAfter(backOff, tries),
      })
      makeRoom()
    },
    forget,
    due() {
      makeRoom()
      const now = clock()
      return [...waiting.values()].flatMap(({ one, nextAt }) => (nextAt <= now ? [one] : []))
    },
    ofContext: (context) => [...waiting.values()].flatMap(({ one }) => (one.state.context === context ? [one] : [])),
    sweep(isThere) {
      for (const label of waiting.keys()) if (!isThere(label)) forget(label)
    },
  }
}
