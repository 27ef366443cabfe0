/** Which of the actions that a caller sent are new, and of which instance each is. Refuses a list with an action that cannot follow. */
import { DomainError } from '../../domain/errors.ts'
import {
  allowedAfter,
  changesInstance,
  isRepeat,
  type LifecycleAction,
  type LifecycleState,
  startsInstance,
} from '../../domain/orchestration/lifecycle.ts'
import type { ActionFact } from '../../domain/orchestration/orchestrated-facts.ts'
import { kindInWords, type LifecycleRolloutName, type Rollout } from '../../domain/rollout.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'

type Known = Pick<LifecycleAction, 'state' | 'instanceId' | 'at' | 'timestamp'>

/** A rollout before the next action of the list. */
interface History {
  /** Null: the list creates it. */
  readonly rollout: Rollout | null
  readonly actions: Known[]
  readonly instanceIds: Set<string>
  currentInstanceId: string | null
}

/** The new facts, each with its instance. Throws the refusal of the first invalid one. Changes nothing. */
export function newActions(work: UnitOfWork, name: LifecycleRolloutName, facts: readonly ActionFact[]): ActionFact[] {
  const history = historyOf(work, name)
  if (!history.rollout && facts[0] && facts[0].state !== 'CREATED')
    throw new DomainError('NOT_FOUND_YET', `there is no ${kindInWords(name)}: Created comes first`)
  const found: ActionFact[] = []
  const recorded = recordedPrefix(facts, history)
  for (const [index, sent] of facts.entries()) {
    if (index < recorded) continue
    const fact = withInstance(sent, history)
    if (isRecorded(sent, fact.instanceId, history)) continue
    const field = facts.length === 1 ? '' : `Actions[${index}].`
    refuseIllegal(name, history, fact.state, field)
    refuseInstance(work, history, fact, `${field}ContextId`)
    remember(history, fact, work.now)
    found.push(fact)
  }
  return found
}

function historyOf(work: UnitOfWork, name: LifecycleRolloutName): History {
  const rollout = work.rollout(name)
  const instances = rollout ? work.orchestration.instancesOf(rollout.key) : []
  return {
    rollout,
    actions: rollout ? [...work.orchestration.actionsOf(rollout.key)] : [],
    instanceIds: new Set(instances.map(({ instanceId }) => instanceId)),
    currentInstanceId: instances.at(-1)?.instanceId ?? null,
  }
}

function remember(history: History, { state, instanceId, at, timestamp }: ActionFact, now: number): void {
  history.actions.push({ state, instanceId, at: at ?? now, timestamp })
  if (instanceId === null) return
  history.instanceIds.add(instanceId)
  if (startsInstance(state) || history.currentInstanceId === null) history.currentInstanceId = instanceId
}

function withInstance(fact: ActionFact, { currentInstanceId }: History): ActionFact {
  return { ...fact, instanceId: fact.instanceId ?? (changesInstance(fact.state) ? currentInstanceId : null) }
}

/**
 * The number of actions at the beginning of an orchestrator's list that are recorded already. Times are optional, and where one side has none, the
 * place in the list and the instance identify the action. One action alone has no place.
 */
function recordedPrefix(facts: readonly ActionFact[], { actions }: History): number {
  if (facts.length < 2) return 0
  const isSame = ({ state, instanceId, at }: ActionFact, known: Known | undefined): boolean =>
    known?.state === state &&
    (instanceId === known.instanceId || (instanceId === null && !startsInstance(state))) &&
    (at === null || known.timestamp === null || at === known.at)
  const first = facts.findIndex((fact, index) => !isSame(fact, actions[index]))
  return first < 0 ? facts.length : first
}

/** Orchestrators send actions again: with the time of the first one, or as the latest action. */
function isRecorded(sent: ActionFact, instanceId: string | null, { actions }: History): boolean {
  const { state, at } = sent
  const latest = actions.at(-1)
  const isSame = (action: Known): boolean =>
    action.state === state && action.at === at && (sent.instanceId ?? action.instanceId) === action.instanceId
  if (at !== null && actions.some(isSame)) return true
  if (isRepeat(latest?.state ?? null, state)) return true
  return latest?.state === state && latest.instanceId === instanceId
}

function refuseIllegal(name: LifecycleRolloutName, { actions }: History, next: LifecycleState, field: string): void {
  const state = actions.at(-1)?.state ?? null
  const allowed = allowedAfter(name.kind, state)
  if (allowed.includes(next)) return
  const list = allowed.map(wireName)
  const message = `it is ${state === null ? 'not created' : wireName(state)}, so ${wireName(next)} cannot follow: ${list.join(', ') || 'nothing'} can`
  throw new DomainError('CONFLICT', message, {
    problems: [{ field: `${field}State`, message: `must be one of ${list.join(', ')}` }],
    facts: { state: state === null ? null : wireName(state), allowed: list },
  })
}

function refuseInstance(work: UnitOfWork, history: History, { state, instanceId }: ActionFact, field: string): void {
  if (instanceId === null) {
    if (!startsInstance(state)) return
    const message = `is needed: it says which AppContext is ${state.toLowerCase()}`
    throw new DomainError('SEMANTIC_ERROR', `${field} ${message}`, { problems: [{ field, message }] })
  }
  refuseForeign(work, history, instanceId, field)
  if (startsInstance(state)) refuseUsed(history, state, instanceId, field)
  if (changesInstance(state) && !history.instanceIds.has(instanceId))
    throw new DomainError('NOT_FOUND_YET', `it has no instance ${instanceId} yet`, {
      problems: [{ field, message: 'names no instance of it' }],
    })
}

/** An instance belongs to one rollout, because the labels of its resources carry only its id. */
function refuseForeign(work: UnitOfWork, { rollout }: History, instanceId: string, field: string): void {
  const instance = work.orchestration.instanceById(instanceId)
  if (!instance || instance.rolloutKey === rollout?.key) return
  const message = `context ${instanceId} belongs to another rollout`
  throw new DomainError('CONFLICT', message, { problems: [{ field, message }] })
}

/** Only the current instance can be started again, by an action that is not the latest one and no update. */
function refuseUsed(history: History, state: LifecycleState, instanceId: string, field: string): void {
  if (!history.instanceIds.has(instanceId)) return
  const isRunning = state === 'INSTANTIATED' && history.actions.at(-1)?.state === 'INSTANTIATED'
  if (instanceId === history.currentInstanceId && state !== 'UPDATED' && !isRunning) return
  const message = `context ${instanceId} has been used: a new run has a new one`
  throw new DomainError('CONFLICT', message, { problems: [{ field, message }] })
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
