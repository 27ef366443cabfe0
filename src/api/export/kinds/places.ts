/** The columns of the targets and rollouts of rows. */
import type { Snapshot } from '../../../store/database.ts'
import { type RolloutName, rolloutNames, type TargetName, targetNames } from '../../../store/read/export/names.ts'
import type { Row } from '../columns.ts'

type ShowPlace = (targetKey: number | null, rolloutKey: number | null) => Row

/** Names are read without an access scope, because a reader that sees a row sees its place. */
export async function readPlaces(
  whole: Snapshot,
  targetKeys: readonly (number | null)[],
  rolloutKeys: readonly (number | null)[],
): Promise<ShowPlace> {
  const known = (keys: readonly (number | null)[]): number[] => keys.filter((key) => key !== null)
  const targets = await targetNames(whole, known(targetKeys))
  const rollouts = await rolloutNames(whole, known(rolloutKeys))
  return (targetKey, rolloutKey) => ({
    ...onTarget(targetKey === null ? undefined : targets.get(targetKey)),
    ...inRollout(rolloutKey === null ? undefined : rollouts.get(rolloutKey)),
  })
}

function onTarget(target: TargetName | undefined): Row {
  return {
    targetKind: target?.kind ?? null,
    targetProvider: target?.provider || null,
    target: target?.name ?? null,
  }
}

function inRollout(rollout: RolloutName | undefined): Row {
  return {
    rolloutKind: rollout?.kind ?? null,
    rollout: rollout?.name ?? null,
    project: rollout?.project ?? null,
    compositeApp: rollout?.compositeApp ?? null,
    compositeAppVersion: rollout?.compositeAppVersion ?? null,
    provider: rollout?.provider ?? null,
  }
}
