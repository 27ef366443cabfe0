/** The columns of a row's target and rollout. */
import type { RolloutName, TargetName } from '../../store/read/export/names.ts'
import type { Row } from '../columns.ts'

export function onTarget(target: TargetName | undefined): Row {
  return {
    targetKind: target?.kind ?? null,
    targetProvider: target?.provider || null,
    target: target?.name ?? null,
  }
}

export function inRollout(rollout: RolloutName | undefined): Row {
  return {
    rolloutKind: rollout?.kind ?? null,
    rollout: rollout?.name ?? null,
    project: rollout?.project ?? null,
    compositeApp: rollout?.compositeApp ?? null,
    compositeAppVersion: rollout?.compositeAppVersion ?? null,
    provider: rollout?.provider ?? null,
  }
}
