import { createHash } from 'node:crypto'
import { type RolloutName, rolloutUniqueName } from '../../domain/rollout.ts'

/** What the unique index of rollouts holds: an entry of it has no room for five long names, so those are a digest. */
export function storedUniqueName(rollout: Omit<RolloutName, 'kind'>): string {
  const identity = rolloutUniqueName(rollout)
  return identity.length <= 600 ? identity : createHash('sha256').update(identity).digest('hex')
}
