/** `rollcall wait`: waits until all selected deployments are in a state, until one has failed, or until the timeout. */
import type { Convergence } from '../../domain/desired.ts'
import type { DeploymentState, StatusError } from '../../domain/values.ts'
import { describeAlert, firingAlerts } from './alerts.ts'
import { type Api, type Subscription, until } from './api.ts'
import type { Output } from './list.ts'
import { deploymentFilter, type RolloutKey, rolloutNotThere, type Selection } from './selection.ts'
import {
  type CountData,
  type Counts,
  countFields,
  describeCounts,
  describeError,
  jsonLine,
  readCounts,
} from './show.ts'
import { createScreen, type Terminal } from './terminal.ts'

/** A state, or CONVERGED: each deployment has reached its target version. */
export type Goal = DeploymentState | 'CONVERGED'

interface WaitTask {
  readonly selection: Selection
  readonly state: Goal
  /** Milliseconds. */
  readonly timeout: number
  readonly tolerate: number
  /** Fails if an alert fires when the state is reached. */
  readonly noAlerts: boolean
}

type Waited = 'reached' | 'failed' | 'timeout' | 'interrupted'

interface Failure {
  readonly deploymentId: string
  readonly target: { readonly name: string }
  readonly error: StatusError | null
}

/** The latest state of the selection. `counts` null: it does not exist. */
interface Seen {
  readonly counts: Counts | null
  readonly failures: readonly Failure[]
}

/** Pure. Null: undecided. */
function evaluate(
  counts: Counts | null,
  { state, tolerate }: Pick<WaitTask, 'state' | 'tolerate'>,
): 'reached' | 'failed' | null {
  if (!counts || counts.total === 0) return null
  const isConvergence = state === 'CONVERGED'
  const reached = isConvergence ? counts.convergence.CONVERGED : counts[state]
  // A deployment that failed on an older version has not failed on its target version.
  const failed = isConvergence ? counts.convergence.FAILED : state === 'FAILED' ? 0 : counts.FAILED
  if (failed > tolerate) return 'failed'
  return reached + failed === counts.total && reached > 0 ? 'reached' : null
}

export async function wait(
  api: Api,
  { terminal, isJson }: Output,
  task: WaitTask,
  say: (line: string) => void,
  interrupted: AbortSignal,
): Promise<Waited> {
  const over = new AbortController()
  const late = setTimeout(() => over.abort(), task.timeout)
  const screen = createScreen(terminal)
  let seen = null as Seen | null
  let lost = null as string | null
  let verdict = null as ReturnType<typeof evaluate>

  const { rollout } = task.selection
  /** Which options would select a rollout of this name, if there is one. */
  let hint = null as string | null
  const findSimilar = async (key: RolloutKey): Promise<void> => {
    hint = ''
    hint = (await rolloutNotThere(api, key)).message
    draw()
  }
  const draw = (): void => {
    if (isJson || !seen) return
    screen.draw([seen.counts ? describeCounts(terminal, seen.counts) : `${hint || 'not found yet'}: waiting`])
  }

  // A removed deployment may be forgotten before its state REMOVED arrives. With a condition on what changes, the selection may also become empty
  // without a removal.
  const forgottenIsRemoved = task.state === 'REMOVED' && !isChanging(task.selection)
  const take = (next: Seen): void => {
    const isForgotten = forgottenIsRemoved && isEmpty(next) && seen !== null && !isEmpty(seen)
    seen = next
    verdict = isForgotten ? 'reached' : evaluate(next.counts, task)
    // Without an answer the wait goes on without a hint.
    if (next.counts === null && rollout && hint === null) void findSimilar(rollout).catch(() => undefined)
    draw()
    if (verdict !== null) over.abort()
  }
  const noteLost = (reason: string | null): void => {
    lost = reason
    if (reason !== null && !isJson) screen.draw([`disconnected, retrying: ${reason}`])
  }
  try {
    const subscription = await subscribe(until(over.signal, api), task, take)
    await api.follow({ ...subscription, interrupted: noteLost }, AbortSignal.any([over.signal, interrupted]))
  } catch (error) {
    if (!over.signal.aborted && !interrupted.aborted) throw error
  } finally {
    clearTimeout(late)
    screen.end()
  }
  const alerts = verdict === 'reached' && task.noAlerts ? await firingAlerts(api, task.selection.rollout) : []
  if (alerts.length > 0) verdict = 'failed'
  const result: Waited = verdict ?? (interrupted.aborted ? 'interrupted' : 'timeout')
  if (isJson)
    terminal.write(
      jsonLine({ result, state: task.state, counts: seen?.counts ?? null, failures: seen?.failures ?? [], alerts }),
    )
  else if (alerts.length > 0) for (const alert of alerts) say(`alert: ${describeAlert(alert)}`)
  else
    sayResult(say, result, task, seen, {
      lost,
      counts: describeSeen(seen) ?? (hint || 'no such deployment or rollout'),
    })
  return result
}

function isEmpty({ counts }: Seen): boolean {
  return counts === null || counts.total === 0
}

function sayResult(
  say: (line: string) => void,
  result: Waited,
  { state }: WaitTask,
  seen: Seen | null,
  { lost, counts }: { readonly lost: string | null; readonly counts: string },
): void {
  const word = result === 'failed' ? `failed to reach ${state}` : result
  const reason = lost === null ? '' : ` (disconnected: ${lost})`
  say(result === 'reached' ? counts : `${word}: ${counts}${reason}`)
  if (result !== 'failed') return
  for (const { deploymentId, target, error } of seen?.failures ?? [])
    say(`  ${deploymentId} on ${target.name}  ${describeError(error)}`)
}

const plain: Terminal = { isLive: false, columns: 80, rows: 24, write: () => undefined }

/** Null: the selection does not exist. */
function describeSeen(seen: Seen | null): string | null {
  if (!seen) return 'no answer from the server'
  return seen.counts && describeCounts(plain, seen.counts)
}

const failureFields = 'deploymentId target { name } error { code message source }'

/** A single deployment or rollout may be created after the wait begins. */
async function subscribe(
  api: Api,
  { selection, state }: WaitTask,
  take: (seen: Seen) => void,
): Promise<Subscription<never>> {
  const [deploymentId] = selection.deployments
  const isOneOnly = selection.deployments.length === 1 && selection.devices.length <= 1 && !isNarrowed(selection)
  if (deploymentId !== undefined && isOneOnly && !selection.rollout)
    return oneDeployment(selection, deploymentId, state, take)
  const isWholeRollout = selection.deployments.length + selection.devices.length === 0 && !isNarrowed(selection)
  if (selection.rollout && isWholeRollout) return wholeRollout(selection, state, take)
  const filter = await deploymentFilter(api, selection)
  return {
    query: `subscription Wait($filter: DeploymentFilter) { deploymentCounts(filter: $filter) { counts { ${countFields} } } }`,
    variables: { filter },
    next: ({ deploymentCounts }: { deploymentCounts: { counts: CountData } }) =>
      take({ counts: readCounts(deploymentCounts.counts), failures: [] }),
  }
}

function isNarrowed(selection: Selection): boolean {
  return selection.labels.length + selection.selector.length > 0 || isChanging(selection)
}

/** Whether it has conditions on what changes over time. */
function isChanging({ conditions }: Selection): boolean {
  return Object.keys(conditions).length > 0
}

function oneDeployment(
  selection: Selection,
  deploymentId: string,
  goal: Goal,
  take: (seen: Seen) => void,
): Subscription<never> {
  return {
    query: `subscription Wait($deploymentId: String!, $deviceId: String) {
      deployment(deploymentId: $deploymentId, deviceId: $deviceId) { deployment { state convergence forgottenAt ${failureFields} } }
    }`,
    variables: { deploymentId, deviceId: selection.devices[0] ?? null },
    next({
      deployment: { deployment },
    }: {
      deployment: { deployment: (Failure & { state: DeploymentState; convergence: Convergence }) | null }
    }) {
      if (!deployment) return take({ counts: null, failures: [] })
      const { state, convergence } = deployment
      const counts = readCounts({
        total: 1,
        [state.toLowerCase()]: 1,
        convergence: { [convergence.toLowerCase()]: 1 },
      })
      const hasFailed = (goal === 'CONVERGED' ? convergence : state) === 'FAILED'
      return take({ counts, failures: hasFailed ? [deployment] : [] })
    },
  }
}

interface RolloutData {
  readonly rollout: {
    readonly rollout: {
      readonly deploymentCounts: CountData
      readonly deployments: { readonly nodes: readonly Failure[] }
    } | null
  }
}

function wholeRollout({ rollout: key }: Selection, goal: Goal, take: (seen: Seen) => void): Subscription<never> {
  return {
    query: `subscription Wait($key: RolloutKey!) {
      rollout(key: $key) {
        rollout {
          deploymentCounts { ${countFields} }
          deployments(filter: { ${goal === 'CONVERGED' ? 'convergence' : 'states'}: [FAILED] }, first: 5) { nodes { ${failureFields} } }
        }
      }
    }`,
    variables: { key },
    next: ({ rollout: { rollout } }: RolloutData) =>
      take({
        counts: rollout ? readCounts(rollout.deploymentCounts) : null,
        failures: rollout?.deployments.nodes ?? [],
      }),
  }
}
