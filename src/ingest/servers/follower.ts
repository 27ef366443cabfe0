/**
 * The queue of a server for which another server writes (hand-over.ts). Several batches may be under way at a time:
 *
 *   queue → a free lane → handed over ─┬─ answered                     → answers, and the lane is free
 *                                      └─ refused, or no answer in time → all lanes settle, then the batch is written here
 *
 * A lane is a writer of its own in `batches`, with an inbox, and at most one batch under way. So each batch is recorded and looked up by itself,
 * and the leader need not know which lanes are of one server. Numbered batches in one lane were rejected: if a message is lost, the next
 * batch must wait for it, and the record must also have the outcomes of the batches before.
 *
 * Lanes overtake each other. So the commands about one device are in one lane at a time: a command waits while its device is in another.
 */
import { largestMessage } from '../../store/database.ts'
import { type BatchRecord, toAscii } from '../../store/write/batches.ts'
import { type Outcome, settle, takeNext, type Waiting } from '../batch.ts'
import type { Attempt, OrderedWrite } from '../ordered-write.ts'
import { batchSize, lanesOf, type WriterOptions, type WriterState } from '../writer-state.ts'
import type { HandOver } from './hand-over.ts'

interface Follower {
  /** Batches that are handed over and not settled. */
  size(): number
  /** Whether batches must be written here before another is handed over. */
  mustSettle(): boolean
  /** Hands over what it can, and writes here what cannot be handed over. Commands about one device keep their order. */
  follow(leader: string, queue: Waiting[], event: Promise<void>): Promise<void>
  /** Waits for all lanes, and writes here the batches that the leader did not write. */
  drain(): Promise<void>
}

interface Failed {
  readonly waiting: readonly Waiting[]
  readonly attempt: Attempt
}

const mostCommands = 500
/** Characters: a few dozen messages. */
const largestBatch = 32 * largestMessage
/** Milliseconds. Callers that were answered together report again together, and each message costs every server a wake-up. */
const gatherLimit = 4

/** `wake`: called when a lane is free, or when the next batch need not wait longer. */
export function createFollower(
  options: WriterOptions,
  state: WriterState,
  handOver: HandOver,
  ordered: OrderedWrite,
  wake: () => void,
): Follower {
  const free = [...lanesOf(state.writer)]
  const underWay = new Set<Promise<void>>()
  /** The devices in the lanes. */
  const devices = new Set<string>()
  const failed: Failed[] = []
  let isSending = false
  /** The last answered batch. */
  let last = { size: 0, at: 0 }

  /** Milliseconds for which the next batch should wait for more commands. */
  function gatherTime(waiting: number): number {
    return waiting > 0 && waiting < last.size ? Math.max(last.at + gatherLimit - performance.now(), 0) : 0
  }

  /** The commands at the front of the queue that can be handed over now, as text. */
  function pack(queue: readonly Waiting[]): string[] {
    const texts: string[] = []
    let size = 0
    for (const { command } of queue) {
      if (!command.portable || texts.length >= mostCommands) break
      if (command.needs.devices?.some((name) => devices.has(name))) break
      const text = toAscii(JSON.stringify(command.portable))
      size += text.length + 1
      if (size > largestBatch) break
      texts.push(text)
    }
    return texts
  }

  async function send(
    leader: string,
    lane: string,
    waiting: readonly Waiting[],
    texts: readonly string[],
  ): Promise<void> {
    const began = performance.now()
    const names = waiting.flatMap(({ command }) => command.needs.devices ?? [])
    for (const name of names) devices.add(name)
    state.batchNumber += 1
    const number = state.batchNumber
    const { sent, answer } = handOver.send(leader, { writer: lane, batch: number }, texts)
    isSending = true
    void sent.then(() => {
      isSending = false
      wake()
    })
    const outcome = await answer
    if (typeof outcome !== 'string') answered(waiting, outcome, began)
    // First looks up a batch that may have been written.
    else failed.push({ waiting, attempt: { writer: lane, number, outcomes: [], isUncertain: outcome === 'unknown' } })
    for (const name of names) devices.delete(name)
    free.push(lane)
    wake()
  }

  function answered(waiting: readonly Waiting[], { revision = 0, outcomes }: BatchRecord, began: number): void {
    state.newestSeen = Math.max(state.newestSeen, revision)
    last = { size: waiting.length, at: performance.now() }
    settle(waiting, outcomes as readonly Outcome[])
    const seconds = (last.at - began) / 1000
    options.observe?.({ batch: { waiting, handed: [] }, size: waiting.length, seconds, revision })
  }

  return {
    size: () => underWay.size + failed.length,
    mustSettle: () => failed.length > 0 || state.openLanes.size > 0,
    async follow(leader, queue, event) {
      const rest = gatherTime(queue.length)
      if (rest > 0) {
        const timer = setTimeout(wake, rest)
        await event
        return clearTimeout(timer)
      }
      const [lane] = free
      const texts = isSending || lane === undefined ? [] : pack(queue)
      if (lane !== undefined && texts.length > 0) {
        free.shift()
        const sending = send(leader, lane, queue.splice(0, texts.length), texts)
        underWay.add(sending)
        void sending.finally(() => underWay.delete(sending))
        return
      }
      if (underWay.size > 0) return event
      const next = queue.findIndex(({ command }) => command.portable)
      const waiting = takeNext(queue, Math.min(next > 0 ? next : queue.length, batchSize), true)
      if (waiting.length > 0) await ordered.write({ waiting, handed: [] })
    },
    async drain() {
      await Promise.all(underWay)
      // In any order: no two of them are about the same device.
      for (const { waiting, attempt } of failed.splice(0)) await ordered.write({ waiting, handed: [] }, attempt)
    },
  }
}
