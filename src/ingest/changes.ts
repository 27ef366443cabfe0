/** A batch's entries as changes for the feed. */
import type { Change } from '../domain/change.ts'
import type { Effects } from '../store/write/contract.ts'

/** One change for each revision. */
export function changesOf(effects: Effects): Change[] {
  return effects.entries.flatMap(({ subject, observedAt, traceparent, firstRevision, changes }) => {
    const { target, fromTarget } = subject
    const shared = {
      deploymentKey: subject.deploymentKey,
      deploymentId: subject.deploymentId,
      rolloutKey: subject.rolloutKey,
      fromRolloutKey: subject.fromRolloutKey,
      instanceKey: subject.instanceKey,
      instanceId: subject.instanceId,
      resourceKey: subject.resourceKey,
      targetKey: target?.key ?? null,
      targetKind: target?.kind ?? null,
      targetName: target?.name ?? null,
      fromTargetKey: fromTarget?.key ?? null,
      fromTargetName: fromTarget?.name ?? null,
      labels: target?.labels ?? [],
      at: effects.at,
      observedAt,
      traceparent,
    }
    return changes.map((body, index) => ({ ...shared, ...body, revision: firstRevision + index }))
  })
}
