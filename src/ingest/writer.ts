/**
 * The writer: one ordered transaction a batch, one batch in flight, the next is whatever queued meanwhile.
 *
 *   submit → queue → [ lock head · load · decide each in order · save · NOTIFY · COMMIT ] → answer, then tell the feed
 *
 * Revisions are handed out under the lock of log_head, so revision order = commit order across replicas.
 *
 *   the transaction …                what follows
 *   commits                          each command's own answer (a DomainError is one)
 *   fails with an error of the SQL   the batch is halved until the poisoned command stands alone: only it fails
 *   loses its connection             the outcome is unknown: it is looked up under the lock, and repeated only if it was not there
 *   cannot be settled in time        UNAVAILABLE (503): nothing was acknowledged, the device reports again
 */
import { randomUUID } from 'node:crypto'
import type { Change } from '../domain/change.ts'
import type { Millis } from '../domain/deployment.ts'
import { DomainError, type ErrorCode } from '../domain/errors.ts'
import type { Database, Session } from '../store/database.ts'
import { loadNeeds, lockHead } from '../store/load.ts'
import { findOutcome, saveBatch } from '../store/save.ts'
import type { Command } from './command.ts'
import { createKnown } from './known.ts'
import { changesOf, createWorld, type Loaded } from './world.ts'

export interface Writer {
  /** Resolves after COMMIT. Rejects with the command's DomainError, or UNAVAILABLE when it could not be decided. */
  submit<Result>(command: Command<Result>): Promise<Result>
  /** Takes nothing more and resolves when all that was taken is decided. */
  drain(): Promise<void>
  readonly queued: number
}

export interface WriterOptions {
  readonly database: Database
  /** Told after COMMIT, in revision order; `since` is the head the batch began from. */
  readonly committed: (since: number, changes: readonly Change[], at: Millis) => void
  /** A lost connection (or a lock that somebody frozen holds), as opposed to an error in what was asked. */
  readonly isTransient: (error: unknown) => boolean
  /** Runs at the beginning of a connection's first transaction: is it still the database it was? */
  readonly checkIdentity: (session: Session, newestSeen: number) => Promise<void>
  readonly observe?: (batch: { readonly size: number; readonly seconds: number }) => void
  readonly clock?: () => Millis
  /** Seconds; see World. */
  readonly offlineAfter?: number | null
  /** Commands that may wait. More: UNAVAILABLE. */
  readonly capacity?: number
  readonly batchSize?: number
  /** Deployments, and devices, that need not be read again. */
  readonly remembered?: number
  /** How long a batch may try to reach the database before its commands are told UNAVAILABLE. */
  readonly patience?: Millis
}

interface Waiting {
  readonly command: Command<unknown>
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

type Outcome =
  | { readonly ok: unknown }
  | { readonly refused: ErrorCode; readonly message: string; readonly more: Pick<DomainError, 'problems' | 'facts'> }

interface Attempt {
  /** An earlier try lost its connection, and it has not been looked up yet whether it was committed. */
  isUncertain: boolean
}

interface Written {
  readonly outcomes: readonly Outcome[]
  /** Tells whoever listens. */
  announce(): void
}

export function createWriter(options: WriterOptions): Writer {
  const {
    database,
    clock = Date.now,
    capacity = 20_000,
    batchSize = 1_000,
    patience = 5_000,
    offlineAfter = null,
  } = options
  const writer = randomUUID()
  const known = createKnown(options.remembered ?? 50_000)
  const queue: Waiting[] = []
  let batchNumber = 0
  let newestSeen = 0
  /** The connection whose database is known to be the one it was. */
  let checked: number | null = null
  /** Once a batch has waited in vain, those after it are told at once, until one gets through. */
  let isReachable = true
  let isDraining = false
  let flight: Promise<void> | null = null

  async function run(): Promise<void> {
    while (queue.length > 0) {
      // Whoever can be answered in this turn of the event loop joins the batch.
      await new Promise(setImmediate)
      await process(queue.splice(0, batchSize))
    }
    flight = null
  }

  async function process(batch: readonly Waiting[]): Promise<void> {
    batchNumber += 1
    const began = performance.now()
    const deadline = clock() + (isReachable ? patience : 0)
    const attempt: Attempt = { isUncertain: false }
    for (let tries = 0; ; tries += 1) {
      let written: Written
      try {
        written = await transact(batch, attempt)
      } catch (error) {
        checked = null
        known.forget()
        // While it may have been committed it is not divided: its parts would have other numbers, and could not be found.
        if (!options.isTransient(error) && !attempt.isUncertain) return await isolate(batch, error)
        attempt.isUncertain = true
        // Once more in any case: it may have been us who stood still.
        if ((clock() >= deadline && (tries > 0 || !isReachable)) || isDraining) {
          isReachable = false
          return fail(batch, unavailable('the database cannot be reached', error))
        }
        await new Promise((resolve) => setTimeout(resolve, Math.min(50 * 2 ** tries, 1_000)))
        continue
      }
      // Outside: nothing that fails from here on may write it again.
      settle(batch, written.outcomes)
      written.announce()
      options.observe?.({ size: batch.length, seconds: (performance.now() - began) / 1000 })
      return
    }
  }

  async function transact(batch: readonly Waiting[], attempt: Attempt): Promise<Written> {
    const written = await database.transaction(async (session) => {
      const { connection } = session
      if (connection !== checked) {
        // In an older copy, a count of writes that is the same says nothing.
        known.forget()
        await options.checkIdentity(session, newestSeen)
      }
      const head = await lockHead(session)
      const earlier = attempt.isUncertain ? await findOutcome(session, writer, batchNumber) : null
      attempt.isUncertain = false
      // It was committed after all: the feed has not heard of it, and reads it from the log.
      if (earlier)
        return {
          connection,
          outcomes: earlier as readonly Outcome[],
          announce: () => options.committed(head.revision, [], head.at),
        }
      known.checkUnchanged(head.writes)
      const recalled = known.recall(batch.map(({ command }) => command.needs))
      const loaded = joinLoaded(recalled.loaded, await loadNeeds(session, recalled.missing))
      const world = createWorld(head, loaded, clock(), offlineAfter)
      const results = batch.map(({ command }) => decide(command, world))
      const also = batch.flatMap(({ command }, index) => {
        const result = results[index]
        return result && 'ok' in result ? (command.also?.(result.ok) ?? []) : []
      })
      const effects = world.effects
      await saveBatch(session, head, effects, { writer, batch: batchNumber, results }, also)
      const announce = (): void => {
        known.remember(loaded, effects, head.writes + 1)
        newestSeen = effects.revision
        options.committed(head.revision, changesOf(effects), effects.at)
      }
      return { connection, outcomes: results, announce }
    })
    checked = written.connection
    isReachable = true
    return written
  }

  function settle(batch: readonly Waiting[], outcomes: readonly Outcome[]): void {
    batch.forEach((waiting, index) => {
      const outcome = outcomes[index]
      if (!outcome) waiting.reject(new Error('a batch answered fewer commands than it had'))
      else if ('ok' in outcome) waiting.resolve(outcome.ok)
      else waiting.reject(new DomainError(outcome.refused, outcome.message, outcome.more))
    })
  }

  /** One of them made the whole batch fail: halve it until the culprit stands alone. */
  async function isolate(batch: readonly Waiting[], error: unknown): Promise<void> {
    if (batch.length === 1) return fail(batch, error)
    const half = Math.ceil(batch.length / 2)
    await process(batch.slice(0, half))
    await process(batch.slice(half))
  }

  function fail(batch: readonly Waiting[], error: unknown): void {
    for (const waiting of batch) waiting.reject(error)
  }

  return {
    submit<Result>(command: Command<Result>): Promise<Result> {
      if (isDraining) return Promise.reject(unavailable('the server is shutting down'))
      if (queue.length >= capacity) return Promise.reject(unavailable('too many reports are waiting to be written'))
      return new Promise<Result>((resolve, reject) => {
        queue.push({ command: command as Command<unknown>, resolve: resolve as (result: unknown) => void, reject })
        flight ??= run()
      })
    },
    async drain() {
      isDraining = true
      await flight
    },
    get queued() {
      return queue.length
    },
  }
}

function decide(command: Command<unknown>, world: ReturnType<typeof createWorld>): Outcome {
  try {
    return { ok: command.decide(world) }
  } catch (error) {
    if (!(error instanceof DomainError)) throw error
    const { code, message, problems, facts } = error
    return { refused: code, message, more: { problems, facts } }
  }
}

/** What was remembered and what was read may name the same rows: the world keeps the last, and both are the same. */
function joinLoaded(a: Loaded, b: Loaded): Loaded {
  return {
    deployments: [...a.deployments, ...b.deployments],
    targets: [...a.targets, ...b.targets],
    rollouts: [...a.rollouts, ...b.rollouts],
    ...(b.identities && { identities: b.identities }),
    ...(b.orchestration && { orchestration: b.orchestration }),
    ...(b.desired && { desired: b.desired }),
  }
}

function unavailable(reason: string, cause?: unknown): DomainError {
  return new DomainError('UNAVAILABLE', `${reason}: report again later`, { cause })
}
