/**
 * The first file of the writer: the queue. One batch is one transaction. The commands that arrive while it is written are the next batch.
 *
 *   submit → queue → batch ─┬─ reports, and no other server writes → optimistic-pipeline.ts: one statement, beside the batch before it
 *                           ├─ another server writes for this one  → servers/follower.ts: handed over to that server
 *                           └─ otherwise                           → ordered-write.ts: under the head's lock
 *                                                                → answers, then the feed
 *
 * Revisions are assigned by the server that moves log_head, so revision order = commit order across servers.
 */
import type { Revision } from '../domain/values.ts'
import { type Batch, type HandedBatch, isDivided, takeNext, unavailable, type Waiting, withoutBroken } from './batch.ts'
import type { Command } from './command.ts'
import { createPipeline } from './optimistic-pipeline.ts'
import { createOrderedWrite } from './ordered-write.ts'
import { createFollower } from './servers/follower.ts'
import { createGathering } from './servers/gathering.ts'
import { createHandOver } from './servers/hand-over.ts'
import { batchSize, createWriterState, isFollowed, type WriterOptions, type WriterState } from './writer-state.ts'

export interface Writer {
  /** Resolves after COMMIT. Rejects with the command's DomainError, or UNAVAILABLE when it could not be decided. */
  submit<Result>(command: Command<Result>): Promise<Result>
  /** Refuses further commands, and resolves when all accepted ones are decided. */
  drain(): Promise<void>
  readonly queued: number
  /** The newest revision that it has acknowledged. */
  readonly newest: Revision
  /** Why the last batch could not be written. Null: it was written, or there was none. */
  readonly failure: WriterState['failure']
}

/** A batch with fewer commands is not divided. */
const leastHalf = 32

export function createWriter(options: WriterOptions): Writer {
  const { capacity = 20_000 } = options
  const state = createWriterState(options)
  const queue: Waiting[] = []
  /** Batches of other servers, at most one of each of their lanes. */
  const handed = new Map<string, HandedBatch>()
  let work: Promise<void> | null = null
  let wasDivided = false
  /** Ends the wait of `run`. It is called once `wanted` commands wait, and at other events that `run` waits for. */
  let arrived = (): void => {}
  let wanted = 0

  const handOver = createHandOver(options, state, (batch) => {
    handed.set(batch.name.writer, batch)
    state.handedAt = performance.now()
    start()
  })
  const ordered = createOrderedWrite(options, state, handOver)
  const pipeline = createPipeline(options, state, ordered)
  const follower = createFollower(options, state, handOver, ordered, () => arrived())
  const gathering = createGathering(state, options.gatherLimit)

  function start(): void {
    if (waitingSize() >= wanted) arrived()
    work ??= run()
  }

  async function run(): Promise<void> {
    while (queue.length > 0 || handed.size > 0 || pipeline.size() > 0 || follower.size() > 0) {
      await step()
      if (state.failure) queue.splice(0, queue.length, ...withoutBroken(queue))
    }
    work = null
  }

  /** Waits, or hands commands over, or writes a batch. */
  async function step(): Promise<void> {
    const least = pipeline.leastCommands()
    if (waitingSize() < least) return pipeline.wait(nextArrival(least))
    // Requests that are parsed in this turn of the event loop join the batch.
    await new Promise(setImmediate)
    const leader = state.isDraining || follower.mustSettle() ? null : handOver.leader()
    if (leader !== null) return handOverTo(leader)
    // This server writes again: what it has handed over is settled first.
    if (follower.size() > 0) return follower.drain()
    // Reports of followers arrive later than those of this server's own callers.
    const gatherTime = gathering.timeLeft(waitingSize(), pipeline.commands())
    if (gatherTime > 0) return gather(gatherTime)
    const batch = nextBatch()
    gathering.taken()
    if (!isDivided(batch) && (pipeline.send(batch) || (await pipeline.loadAndSend(batch)))) return
    await pipeline.drain()
    await ordered.write(batch)
  }

  /** Another server writes for this one. It gets this server's commands, and others get theirs back. */
  async function handOverTo(leader: string): Promise<void> {
    await pipeline.drain()
    handOver.giveBack([...handed.values()])
    handed.clear()
    await follower.follow(leader, queue, nextArrival())
  }

  async function gather(milliseconds: number): Promise<void> {
    const timer = setTimeout(() => arrived(), milliseconds)
    const event = nextArrival()
    await (pipeline.size() > 0 ? pipeline.wait(event) : event)
    clearTimeout(timer)
  }

  /** Resolves when `least` commands wait, or at another event that `run` waits for. */
  function nextArrival(least = 0): Promise<void> {
    wanted = least
    return new Promise((resolve) => {
      arrived = resolve
    })
  }

  function waitingSize(): number {
    let size = queue.length
    for (const { commands } of handed.values()) size += commands.length
    return size
  }

  /** Divides many callers into halves: the second half is decided while the first is written. Other servers' callers would be divided, too. */
  function nextBatch(): Batch {
    // Every second batch at least: batches of other servers may arrive without end, and would keep it and all commands after it waiting.
    wasDivided = queue[0]?.command.divided !== undefined && (handed.size === 0 || !wasDivided)
    if (wasDivided) return { waiting: takeNext(queue, 1, true), handed: [] }
    const waiting = waitingSize()
    const callers = waiting + pipeline.commands()
    const isHalved = state.head !== null && callers >= 2 * leastHalf && !isFollowed(state)
    const limit = Math.min(state.batchLimit, isHalved ? Math.ceil(callers / 2) : batchSize)
    const taken: HandedBatch[] = []
    let size = 0
    for (const [writer, batch] of handed) {
      if (size > 0 && size + batch.commands.length > limit) continue
      handed.delete(writer)
      taken.push(batch)
      size += batch.commands.length
    }
    return { waiting: takeNext(queue, Math.max(limit - size, 0), false), handed: taken }
  }

  return {
    submit<Result>(command: Command<Result>): Promise<Result> {
      if (state.isDraining) return Promise.reject(unavailable('the server is shutting down'))
      if (queue.length >= capacity) return Promise.reject(unavailable('too many reports are waiting to be written'))
      return new Promise<Result>((resolve, reject) => {
        queue.push({ command: command as Command<unknown>, resolve: resolve as (result: unknown) => void, reject })
        start()
      })
    },
    async drain() {
      state.isDraining = true
      await work
    },
    get queued() {
      return queue.length
    },
    get newest() {
      return state.newestSeen
    },
    get failure() {
      return state.failure
    },
  }
}
