import { createHash } from 'node:crypto'
import { type RolloutName, rolloutUniqueName } from '../../domain/rollout.ts'

/** The unique name in the index of rollouts. An index entry has no room for five long names, so long names become a digest. */
export function storedUniqueName(rollout: Omit<RolloutName, 'kind'>): string {
  const identity = rolloutUniqueName(rollout)
  return identity.length <= 600 ? identity : createHash('sha256').update(identity).digest('hex')
}
