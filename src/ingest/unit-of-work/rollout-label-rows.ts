/** The labels of rollouts in a batch's unit of work. Pure bookkeeping. */
import type { RolloutLabels } from '../../domain/rollout.ts'

export interface RolloutLabelRows {
  /** Null: they were never set. Only for commands that need labels. */
  of(rolloutKey: number): RolloutLabels | null
  put(labels: RolloutLabels): void
  /** In order: a batch can change those of one rollout several times. */
  effects(): readonly RolloutLabels[]
}

export function createRolloutLabelRows(loaded: readonly RolloutLabels[]): RolloutLabelRows {
  const present = new Map(loaded.map((labels) => [labels.rolloutKey, labels]))
  const changed: RolloutLabels[] = []
  return {
    of: (rolloutKey) => present.get(rolloutKey) ?? null,
    put(labels) {
      present.set(labels.rolloutKey, labels)
      changed.push(labels)
    },
    effects: () => changed,
  }
}
