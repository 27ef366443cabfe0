/** Sets the labels of rollouts. Equal labels are no change. */
import { isDeepStrictEqual } from 'node:util'
import { DomainError } from '../../domain/errors.ts'
import type { Label } from '../../domain/target.ts'
import type { Revision } from '../../domain/values.ts'
import type { SmallCommand } from '../command.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'

/** `ifRevision`: refuses to change labels that were changed after this revision. Null: changes them always. */
export function setRolloutLabels(
  rolloutKey: number,
  labels: readonly Label[],
  ifRevision: Revision | null,
): SmallCommand<{ readonly revision: Revision }> {
  return {
    needs: { rolloutKeys: [rolloutKey], rolloutLabels: true },
    decide(work) {
      const problem = (message: string, field: string) => ({ problems: [{ field, message }] })
      if (!work.rolloutByKey(rolloutKey)) {
        const message = 'there is no such rollout'
        throw new DomainError('NOT_FOUND', message, problem(message, 'rolloutId'))
      }
      const since = work.rolloutLabels.of(rolloutKey)?.since ?? 0
      if (ifRevision !== null && since > ifRevision) {
        const message = `the labels were changed at revision ${since}, after ${ifRevision}: read them again`
        throw new DomainError('CONFLICT', message, problem(message, 'ifRevision'))
      }
      labelRollout(work, rolloutKey, labels)
      return { revision: work.revision() }
    },
  }
}

/** `labels`: with different keys. */
export function labelRollout(work: UnitOfWork, rolloutKey: number, labels: readonly Label[]): void {
  const fromLabels = work.rolloutLabels.of(rolloutKey)?.labels ?? []
  const toLabels = labels.map(({ key, value }) => ({ key, value })).sort((a, b) => (a.key < b.key ? -1 : 1))
  if (!isDeepStrictEqual(fromLabels, toLabels))
    work.recordRolloutLabels({ rolloutKey, labels: toLabels }, { kind: 'ROLLOUT_LABELS_CHANGED', fromLabels, toLabels })
}
