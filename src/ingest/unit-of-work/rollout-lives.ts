/**
 * What a batch makes of the lives of rollouts: when the first deployment started, when the number of deployments in progress last changed,
 * and the last change of all. A rollout without deployments in progress has been finished since that number last changed, so no
 * counter is needed to know it.
 */
import { type ChangeBody, leftAt } from '../../domain/change.ts'
import type { Deployment } from '../../domain/deployment.ts'
import type { DeploymentState, Revision } from '../../domain/values.ts'
import type { RolloutLife } from '../../store/write/contract.ts'

interface RolloutLives {
  /** The changes of a deployment, up to `revision`. */
  take(known: Deployment | null, deployment: Deployment, changes: readonly ChangeBody[], revision: Revision): void
  /** Any other change of the rollout. */
  touch(rolloutKey: number, revision: Revision): void
  effects(): ReadonlyMap<number, RolloutLife>
}

export function createRolloutLives(): RolloutLives {
  const lives = new Map<number, RolloutLife>()
  /** How many more deployments have left PENDING since the batch began. */
  const started = new Map<number, number>()

  function touch(rolloutKey: number, revision: Revision): RolloutLife {
    const life = lives.get(rolloutKey) ?? { startedRevision: null, activityRevision: null, changedRevision: 0 }
    const touched = { ...life, changedRevision: revision }
    lives.set(rolloutKey, touched)
    return touched
  }

  function moveIn(rolloutKey: number, known: Deployment | null, deployment: Deployment, revision: Revision): void {
    const life = touch(rolloutKey, revision)
    const [before, after] = [stateIn(rolloutKey, known), stateIn(rolloutKey, deployment)]
    const isActivity = isActive(before) !== isActive(after)
    const more = Number(hasStarted(after)) - Number(hasStarted(before))
    const count = (started.get(rolloutKey) ?? 0) + more
    started.set(rolloutKey, count)
    lives.set(rolloutKey, {
      ...life,
      startedRevision: life.startedRevision ?? (more > 0 && count > 0 ? revision : null),
      activityRevision: isActivity ? revision : life.activityRevision,
    })
  }

  return {
    take(known, deployment, changes, revision) {
      moveIn(deployment.rolloutKey, known, deployment, revision)
      if (known && known.rolloutKey !== deployment.rolloutKey)
        moveIn(known.rolloutKey, known, deployment, leftAt(changes, revision))
    },
    touch,
    effects: () => lives,
  }
}

/** The state of a deployment in a rollout. Null: the rollout's counters do not count it. */
function stateIn(rolloutKey: number, deployment: Deployment | null): DeploymentState | null {
  if (!deployment || deployment.rolloutKey !== rolloutKey) return null
  return deployment.forgottenAt !== null || !deployment.isCurrent ? null : deployment.state
}

/** The rows of rollouts count the same (`activeCount` in store/read/rollouts/rollouts.ts). */
function isActive(state: DeploymentState | null): boolean {
  return state === 'PENDING' || state === 'INSTALLING' || state === 'REMOVING'
}

function hasStarted(state: DeploymentState | null): boolean {
  return state !== null && state !== 'PENDING'
}
