/** Records users' actions on a rollout in order, with their consequences (docs/wire.md §2.2). */
import type { Instance } from '../../domain/orchestration/instance.ts'
import { type LifecycleState, startsInstance } from '../../domain/orchestration/lifecycle.ts'
import type { ActionFact, Outcomes } from '../../domain/orchestration/orchestrated-facts.ts'
import type { LifecycleRolloutName, Rollout } from '../../domain/rollout.ts'
import type { Command } from '../command.ts'
import { deriveDeployments, deriveInstance, makeCurrent } from '../derived-states.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { newActions } from './new-actions.ts'

/**
 * Records one action, or an orchestrator's complete list. Known actions are skipped. Records all of them or none. `actor`: the name of the
 * caller.
 */
export function recordActions(
  name: LifecycleRolloutName,
  facts: readonly ActionFact[],
  actor: string,
): Command<Outcomes['actions']> {
  const contexts = facts.flatMap(({ instanceId }) => (instanceId === null ? [] : [instanceId]))
  return {
    needs: { rollouts: [name], orchestrated: [{ rollout: name, contexts, actions: true }] },
    decide(work) {
      const actions = newActions(work, name, facts)
      const rollout = work.ensureRollout(name)
      for (const action of actions) record(work, rollout.key, action, actor)
      return { rolloutKey: rollout.key, revision: work.revision(), recorded: actions.length }
    },
  }
}

function record(work: UnitOfWork, rolloutKey: number, fact: ActionFact, actor: string): void {
  const rollout = work.rolloutByKey(rolloutKey)
  if (!rollout) throw new Error(`rollout ${rolloutKey} is gone from its own batch`)
  const { orchestration } = work
  const own = orchestration.instancesOf(rolloutKey)
  const known = own.find(({ instanceId }) => instanceId === fact.instanceId) ?? null
  const before = own.find(({ key }) => key === rollout.currentInstanceKey) ?? null
  const instance = known ?? (fact.instanceId === null ? null : newInstance(work, rollout, fact, before))

  const instanceRevision = instance?.revisionNumber ?? 0
  const doneAt = fact.at ?? work.now
  work.recordAction(
    {
      rolloutKey,
      revision: 0,
      state: fact.state,
      instanceId: fact.instanceId,
      instanceRevision,
      at: doneAt,
      timestamp: fact.timestamp,
      actor,
    },
    instance,
    {
      kind: 'LIFECYCLE_ACTION_RECORDED',
      state: fact.state,
      actionInstanceId: fact.instanceId,
      instanceRevision,
      doneAt,
      actor,
    },
    fact.at,
  )
  // Not of repeated actions: a repeat has no revision, so subscribers and response caches would not see the change.
  let current: Rollout = {
    ...rollout,
    state: fact.state,
    compositeProfile: fact.compositeProfile ?? rollout.compositeProfile,
  }
  work.putRollout(current)
  if (!instance) return

  const changed = withGoal(instance, fact.state)
  if (known) orchestration.putInstance(changed)
  else work.recordInstance(changed, { kind: 'INSTANCE_STATUS_CHANGED', fromStatus: null, toStatus: changed.status })
  if (!known) current = makeCurrent(work, current, changed)
  if (fact.state === 'UPDATED' && before)
    orchestration.putInstance({ ...before, isCurrent: false, goal: 'GIVE_WAY', successorKey: changed.key })
  if (known && known.goal !== changed.goal) deriveDeployments(work, current, changed)
  deriveInstance(work, rolloutKey, changed.key)
}

function newInstance(
  work: UnitOfWork,
  rollout: Rollout,
  { instanceId, state }: ActionFact,
  before: Instance | null,
): Instance {
  const isUpdate = state === 'UPDATED' && before !== null
  return {
    key: work.newKey(),
    rolloutKey: rollout.key,
    instanceId: instanceId ?? '',
    revisionNumber: isUpdate ? before.revisionNumber + 1 : 1,
    status: startsInstance(state) && !isUpdate ? 'INSTANTIATING' : 'CREATED',
    goal: 'NOTHING',
    reportedState: null,
    hasFailed: false,
    isCurrent: true,
    successorKey: null,
    statusContext: isUpdate ? before.statusContext : (instanceId ?? ''),
    createdRevision: work.revision() + 1,
    revision: work.revision() + 1,
  }
}

function withGoal(instance: Instance, state: LifecycleState): Instance {
  const goal =
    state === 'TERMINATED' ? 'TERMINATE' : startsInstance(state) && state !== 'UPDATED' ? 'INSTANTIATE' : null
  if (goal === null) return instance
  const isTurn = instance.goal !== 'NOTHING' && instance.goal !== goal
  return { ...instance, goal, hasFailed: instance.hasFailed && !isTurn }
}
