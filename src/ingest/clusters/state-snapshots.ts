/** Turns custom resources of a cluster into commands for the writer. Each custom resource is the complete snapshot of a component there. */
import { DomainError } from '../../domain/errors.ts'
import type { Verdict } from '../../domain/report.ts'
import type { LifecycleRolloutName } from '../../domain/rollout.ts'
import type { TargetName } from '../../domain/target.ts'
import type { Log } from '../../platform/log/log.ts'
import type { Database } from '../../store/database.ts'
import { rolloutsOfContexts } from '../../store/read/orchestration/cluster-watch.ts'
import { reportStateSnapshot } from '../commands/resources.ts'
import type { Writer } from '../writer.ts'
import type { CustomResource } from './custom-resource.ts'
import type { PendingStates } from './pending-states.ts'

interface StateSnapshots {
  /** Writes them in order, after all earlier calls. Rejects if they could not be decided: the caller must retry. */
  take(resources: readonly CustomResource[]): Promise<void>
  /** Retries the pending states that `pick` selects. */
  retry(pick: () => readonly CustomResource[]): Promise<void>
}

interface StateSnapshotsOptions {
  readonly database: Database
  readonly writer: Writer
  readonly target: TargetName
  readonly pending: PendingStates
  readonly signal: AbortSignal
  readonly log: Log
  readonly observe: (verdict: Verdict | 'REFUSED') => void
}

export function createStateSnapshots(options: StateSnapshotsOptions): StateSnapshots {
  const { database, writer, target, pending, signal, log, observe } = options
  const cluster = `${target.provider}+${target.name}`
  let last: Promise<void> = Promise.resolve()

  /** A retry must not overwrite a newer state. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const mine = last.then(work)
    last = mine.catch(() => undefined)
    return mine
  }

  async function submit(resources: readonly CustomResource[]): Promise<void> {
    if (resources.length === 0) return
    const contexts = [...new Set(resources.map(({ state }) => state.context))]
    const rollouts = await rolloutsOfContexts(database.session, contexts)
    // A replica that no longer holds the lease of the cluster must not write.
    signal.throwIfAborted()
    const decided = resources.map((one) => decide(one, rollouts.get(one.state.context)))
    const failed = (await Promise.allSettled(decided)).find((outcome) => outcome.status === 'rejected')
    if (failed) throw failed.reason
  }

  /** `rollout` undefined: the instance is not known yet. Rejects if the state could not be decided. */
  async function decide(one: CustomResource, rollout: LifecycleRolloutName | undefined): Promise<void> {
    if (!rollout) return wait(one)
    const { label } = one
    const { unreadable, ...state } = one.state
    try {
      const { verdict } = await writer.submit(reportStateSnapshot(rollout, { ...state, target }))
      pending.forget(label)
      observe(verdict)
      if (unreadable.length > 0 && verdict === 'APPLIED')
        log.warn({ cluster, label, entries: unreadable.slice(0, 3) }, 'some of its entries cannot be read')
    } catch (error) {
      const code = error instanceof DomainError ? error.code : null
      if (code === 'UNAVAILABLE') throw error
      if (code === 'NOT_FOUND_YET') return wait(one)
      pending.forget(label)
      observe('REFUSED')
      log.warn({ cluster, label, error }, 'the state of a component is refused')
    }
  }

  function wait(one: CustomResource): void {
    // A removal for an unknown instance needs no retry.
    if (one.isGone) pending.forget(one.label)
    else pending.keep(one)
  }

  return {
    take: (resources) => inTurn(() => submit(resources)),
    retry: (pick) => inTurn(() => submit(pick())),
  }
}
