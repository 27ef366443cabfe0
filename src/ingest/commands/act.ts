/** Records users' actions on a rollout in order, with their consequences (docs/wire.md §2.2). */
import { DomainError } from '../../domain/errors.ts'
import type { Instance } from '../../domain/instance.ts'
import {
  allowedAfter,
  isRepeat,
  type LifecycleAction,
  type LifecycleState,
  needsInstance,
} from '../../domain/lifecycle.ts'
import type { ActionFact } from '../../domain/orchestrated-facts.ts'
import { kindInWords, type LifecycleRolloutName, type Rollout } from '../../domain/rollout.ts'
import type { Command } from '../command.ts'
import { deriveDeployments, deriveInstance, makeCurrent } from '../derived-states.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'

interface Acted {
  readonly rolloutKey: number
  readonly revision: number
  /** The number of new actions. 0: all were repeated. */
  readonly recorded: number
}

/**
 * Records one action, or an orchestrator's complete list. Known actions are skipped. Records all of them or none. `actor`: the name of the
 * caller.
 */
export function recordActions(
  name: LifecycleRolloutName,
  facts: readonly ActionFact[],
  actor: string | null = null,
): Command<Acted> {
  const contexts = facts.flatMap(({ instanceId }) => (instanceId === null ? [] : [instanceId]))
  return {
    needs: { rollouts: [name], orchestrated: [{ rollout: name, contexts, actions: true }] },
    decide(work) {
      const news = plan(work, name, facts)
      const rollout = work.ensureRollout(name)
      for (const fact of news) act(work, rollout.key, fact, actor)
      const profile = facts.findLast(({ compositeProfile }) => compositeProfile !== null)?.compositeProfile
      const latest = work.rolloutByKey(rollout.key)
      if (profile && latest && latest.compositeProfile !== profile)
        work.putRollout({ ...latest, compositeProfile: profile })
      return { rolloutKey: rollout.key, revision: work.revision(), recorded: news.length }
    },
  }
}

type Known = Pick<LifecycleAction, 'state' | 'instanceId' | 'at'>

/** Returns the new facts, each with its instance, or throws the refusal of the first invalid one. Changes nothing. */
function plan(work: UnitOfWork, name: LifecycleRolloutName, facts: readonly ActionFact[]): ActionFact[] {
  const rollout = work.rollout(name)
  if (!rollout && facts[0] && facts[0].state !== 'CREATED')
    throw new DomainError('NOT_FOUND_YET', `there is no ${kindInWords(name)}: Created comes first`)
  const known: Known[] = rollout ? [...work.orchestration.actionsOf(rollout.key)] : []
  const instances = rollout ? work.orchestration.instancesOf(rollout.key) : []
  const own = new Set(instances.map(({ instanceId }) => instanceId))
  let current = instances.at(-1)?.instanceId ?? null
  const news: ActionFact[] = []
  facts.forEach((fact, index) => {
    const field = facts.length === 1 ? '' : `Actions[${index}].`
    const latest = known.at(-1) ?? null
    const belongs = fact.state !== 'CREATED' && fact.state !== 'APPROVED'
    const instanceId = fact.instanceId ?? (belongs && !needsInstance(fact.state) ? current : null)
    const isKnown = (action: Known): boolean =>
      action.state === fact.state &&
      action.at === fact.at &&
      (fact.instanceId ?? action.instanceId) === action.instanceId
    if (fact.at !== null && known.some(isKnown)) return
    if (isRepeat(latest?.state ?? null, fact.state)) return
    if (latest && latest.state === fact.state && latest.instanceId === instanceId) return
    refuseIllegal(name, latest?.state ?? null, fact.state, field)
    if (needsInstance(fact.state) && instanceId === null)
      throw invalid(`${field}ContextId`, `is needed: it says which AppContext is ${fact.state.toLowerCase()}`)
    if (instanceId !== null) {
      refuseForeign(work, rollout, instanceId, `${field}ContextId`)
      refuseUsed(fact.state, instanceId, own, current, latest, `${field}ContextId`)
      if (!own.has(instanceId) && belongs && !needsInstance(fact.state))
        throw new DomainError('NOT_FOUND_YET', `it has no instance ${instanceId} yet`, {
          problems: [{ field: `${field}ContextId`, message: 'names no instance of it' }],
        })
      own.add(instanceId)
      current = needsInstance(fact.state) || current === null ? instanceId : current
    }
    known.push({ state: fact.state, instanceId, at: fact.at ?? work.now })
    news.push({ ...fact, instanceId })
  })
  return news
}

function refuseIllegal(
  name: LifecycleRolloutName,
  state: LifecycleState | null,
  next: LifecycleState,
  field: string,
): void {
  const allowed = allowedAfter(name.kind, state)
  if (allowed.includes(next)) return
  const list = allowed.map(wireName)
  const message = `it is ${state === null ? 'not created' : wireName(state)}, so ${wireName(next)} cannot follow: ${list.join(', ') || 'nothing'} can`
  throw new DomainError('CONFLICT', message, {
    problems: [{ field: `${field}State`, message: `must be one of ${list.join(', ')}` }],
    facts: { state: state === null ? null : wireName(state), allowed: list },
  })
}

/** An instance belongs to one rollout, because the labels of its resources carry only its id. */
function refuseForeign(work: UnitOfWork, rollout: Rollout | null, instanceId: string, field: string): void {
  const instance = work.orchestration.instanceById(instanceId)
  if (!instance || instance.rolloutKey === rollout?.key) return
  const message = `context ${instanceId} belongs to another rollout`
  throw new DomainError('CONFLICT', message, { problems: [{ field, message }] })
}

function refuseUsed(
  state: LifecycleState,
  instanceId: string,
  own: ReadonlySet<string>,
  current: string | null,
  latest: Known | null,
  field: string,
): void {
  const isOld = own.has(instanceId) && (instanceId !== current || state === 'UPDATED')
  const isAgain = state === 'INSTANTIATED' && latest?.state === 'INSTANTIATED' && own.has(instanceId)
  if (!(needsInstance(state) && (isOld || isAgain))) return
  const message = `context ${instanceId} has been used: a new run has a new one`
  throw new DomainError('CONFLICT', message, { problems: [{ field, message }] })
}

function act(work: UnitOfWork, rolloutKey: number, fact: ActionFact, actor: string | null): void {
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
  let current: Rollout = { ...rollout, state: fact.state }
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
    status: needsInstance(state) && !isUpdate ? 'INSTANTIATING' : 'CREATED',
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
  const goal = state === 'TERMINATED' ? 'TERMINATE' : needsInstance(state) && state !== 'UPDATED' ? 'INSTANTIATE' : null
  if (goal === null) return instance
  const isTurn = instance.goal !== 'NOTHING' && instance.goal !== goal
  return { ...instance, goal, hasFailed: instance.hasFailed && !isTurn }
}

const wireNames: Record<LifecycleState, string> = {
  CREATED: 'Created',
  APPROVED: 'Approved',
  APPLIED: 'Applied',
  INSTANTIATED: 'Instantiated',
  TERMINATED: 'Terminated',
  INSTANTIATE_STOPPED: 'InstantiateStopped',
  TERMINATE_STOPPED: 'TerminateStopped',
  UPDATED: 'Updated',
}

function wireName(state: LifecycleState): string {
  return wireNames[state]
}

function invalid(field: string, message: string): DomainError {
  return new DomainError('SEMANTIC_ERROR', `${field} ${message}`, { problems: [{ field, message }] })
}
