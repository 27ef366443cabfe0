/** The reads of rollouts of one snapshot (reader.ts). */

import { setImmediate } from 'node:timers/promises'
import type { RolloutName } from '../../../../domain/rollout.ts'
import type { Revision } from '../../../../domain/values.ts'
import type { Snapshot } from '../../../../store/database.ts'
import { diagnosesOf } from '../../../../store/read/insight/observations.ts'
import { type OutcomeGrouping, outcomesOf } from '../../../../store/read/insight/outcomes.ts'
import { earlierRollouts, stepsOf } from '../../../../store/read/insight/progress.ts'
import type { RolloutOrder } from '../../../../store/read/orders/rollout-order.ts'
import { newestMoment } from '../../../../store/read/past.ts'
import { newestDeclarations, newestOfFleet } from '../../../../store/read/rollouts/declarations.ts'
import type { RolloutFilter } from '../../../../store/read/rollouts/rollout-filter.ts'
import { labelsOfRollouts } from '../../../../store/read/rollouts/rollout-labels.ts'
import { changedBefore } from '../../../../store/read/rollouts/rollout-life.ts'
import {
  countRollouts,
  pageRollouts,
  rolloutByKeyArgs,
  rolloutsByKey,
} from '../../../../store/read/rollouts/rollouts.ts'
import { stepDurationsOf } from '../../../../store/read/rollouts/step-durations.ts'
import type { PageRequest } from '../../../../store/sql/order.ts'
import { batched, remembered } from './batching.ts'

export function rolloutLoaders(s: Snapshot) {
  return {
    rollout: batched((keys: readonly number[], asOf: Revision | null) => rolloutsByKey(s, keys, asOf)),
    rolloutByName: remembered((name: Omit<RolloutName, 'kind'>, asOf: Revision | null) =>
      rolloutByKeyArgs(s, name, asOf),
    ),
    rolloutChangedBefore: batched((keys: readonly number[], asOf: Revision) => changedBefore(s, keys, asOf)),
    rollouts: remembered((filter: RolloutFilter, page: PageRequest, order: RolloutOrder, asOf: Revision | null) =>
      pageRollouts(s, filter, page, order, asOf),
    ),
    diagnosis: batched((keys: readonly number[], asOf: Revision | null) => diagnosesOf(s, keys, asOf)),
    rolloutSteps: batched(async (keys: readonly number[], asOf: Revision | null) => {
      const { revision, at } = s.accessScope ? await newestMoment(s, asOf) : { revision: asOf, at: null }
      return stepsOf(s, keys, revision, undefined, at)
    }),
    earlierRollouts: batched((keys: readonly number[]) => earlierRollouts(s, keys)),
    inTurn: createTurns(),
    outcomes: batched((keys: readonly number[], by: OutcomeGrouping, asOf: Revision | null) =>
      outcomesOf(s, keys, by, asOf),
    ),
    stepDurations: batched((keys: readonly number[]) => stepDurationsOf(s, keys)),
    rolloutLabels: batched((keys: readonly number[], asOf: Revision | null) => labelsOfRollouts(s, keys, asOf)),
    newestDeclaration: batched((keys: readonly number[], asOf: Revision | null) => newestDeclarations(s, keys, asOf)),
    newestDeclarationOfFleet: remembered((asOf: Revision | null) => newestOfFleet(s, asOf)),
    rolloutCount: remembered((filter: RolloutFilter, asOf: Revision | null) => countRollouts(s, filter, asOf)),
  }
}

/** Calculations that take milliseconds each. */

/** Runs one calculation in each turn of the event loop, so that other callers are answered between them. */
function createTurns(): <Value>(calculate: () => Value) => Promise<Value> {
  let last: Promise<unknown> = Promise.resolve()
  return (calculate) => {
    const result = last.then(() => setImmediate()).then(calculate)
    last = result.catch(() => undefined)
    return result
  }
}
