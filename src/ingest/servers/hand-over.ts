/**
 * Several servers on one database: one of them writes, the others hand their batches over to it.
 *
 *   this server                              the leader
 *   batch n ──── NOTIFY on its inbox ──────▶ joins the leader's next batch
 *   answers ◀─── NOTIFY of that COMMIT ───── one transaction: the batch, and "n of this server: its outcomes" in `batches`
 *
 * Without hand-over, the servers would alternate at the head's lock, each with small batches, an outdated row cache and several round trips
 * under the lock (docs/design/servers.md compares the designs).
 *
 * There is no election. The log's head names the server that wrote last. A server follows that server if its name is smaller than its own.
 * Correctness does not depend on the choice: any server may write at any time. A batch is written once because its transaction records it
 * in `batches`, and every transaction that contains it first looks there, under the head's lock.
 *
 *   the leader …                        what follows here
 *   answers                             done
 *   refuses (it follows another)        the batch is written here
 *   does not answer in time             the batch is looked up under the lock, and written here if it is not there
 */
import { largestMessage } from '../../store/database.ts'
import { type BatchRecord, inboxOf, readBatches, readStamp, writerOf } from '../../store/write/batches.ts'
import type { BatchName } from '../../store/write/contract.ts'
import type { HandedBatch } from '../batch.ts'
import { type Command, type Portable, spending, traced } from '../command.ts'
import { hearDevices } from '../commands/connectivity.ts'
import { countDeviations, recordReport } from '../commands/report.ts'
import { hasInbox, lanesOf, type WriterOptions, type WriterState } from '../writer-state.ts'

export interface HandOver {
  /** The server that writes for this one; null: none. */
  leader(): string | null
  /** Called under the lock with the writer of the newest batch. */
  noteWriter(newest: string): void
  send(leader: string, name: BatchName, commands: readonly string[]): Sent
  /** Notifies the servers of these batches that they are not written. */
  giveBack(handed: readonly HandedBatch[]): void
}

interface Sent {
  /** Resolves when the messages are sent, or cannot be sent. */
  readonly sent: Promise<void>
  /** The record of the batch. 'refused': the leader did not write it. 'unknown': the leader may have written it. */
  readonly answer: Promise<BatchRecord | 'refused' | 'unknown'>
}

type Answer = BatchRecord & { readonly refused?: true }

/** Milliseconds. After a longer silence, the leader may be gone. */
const longestSilence = 60_000
/** A factor of `answerLimit`. A leader that continues to write may take so long. */
const mostLimits = 4
/** Milliseconds in which a leader that refused or did not answer is not followed. */
const avoidedFor = { unknown: 5_000, refused: 1_000 }

export function createHandOver(
  { database: { mail, session }, answerLimit = 1_000 }: WriterOptions,
  state: WriterState,
  take: (batch: HandedBatch) => void,
): HandOver {
  const { writer } = state
  let leader: string | null = null
  let heardAt = 0
  const avoided = new Map<string, number>()
  /** The batches under way, by number. */
  const expected = new Map<number, (answer: Answer) => void>()
  /** Messages of incomplete batches, by writer. */
  const arriving = new Map<string, { readonly number: number; readonly parts: Map<number, string> }>()

  function isAvoided(other: string): boolean {
    const until = avoided.get(other)
    if (until === undefined) return false
    if (until > performance.now()) return true
    avoided.delete(other)
    return false
  }

  function receive(message: string): void {
    if (message.startsWith('{')) receiveAnswer(JSON.parse(message) as Answer)
    else receivePart(message)
  }

  function receiveAnswer(answer: Answer): void {
    expected.get(answer.batch)?.(answer)
  }

  function receivePart(message: string): void {
    const end = message.indexOf('\n')
    const [from = '', number, count, part] = message.slice(0, end).split(' ')
    const known = arriving.get(from)
    const batch =
      known?.number === Number(number) ? known : { number: Number(number), parts: new Map<number, string>() }
    arriving.set(from, batch)
    // By its number: otherwise a part that arrives twice counts as a part that is missing.
    batch.parts.set(Number(part), message.slice(end + 1))
    if (batch.parts.size < Number(count)) return
    arriving.delete(from)
    const text = Array.from({ length: batch.parts.size }, (_, index) => batch.parts.get(index)).join('')
    const commands = (JSON.parse(text) as Portable[]).map(toCommand)
    const handed = { name: { writer: from, batch: batch.number }, commands }
    if (leader === null && !state.isDraining) take(handed)
    else giveBack([handed])
  }

  function giveBack(handed: readonly HandedBatch[]): void {
    for (const { name } of handed) {
      const refusal: Answer = { batch: name.batch, refused: true }
      // If the message is lost, its server waits for `answerLimit`.
      mail?.send(inboxOf(name.writer), [JSON.stringify(refusal)]).catch(() => undefined)
    }
  }

  /** Reads an answer from the table if it was too long for a message. */
  async function readAnswer(lane: string, answer: Answer): Promise<BatchRecord | 'refused' | 'unknown'> {
    if (answer.refused) return 'refused'
    if (answer.outcomes) return answer
    const record = (await readBatches(session, [lane]).catch(() => null))?.get(lane)
    return record?.batch === answer.batch && record.outcomes ? record : 'unknown'
  }

  /** Calls `gone` if the leader has not written for `answerLimit`, or has not answered for several times that. A busy leader is not dead. */
  function watchLeader(name: string, gone: () => void): { stop(): void } {
    let newest: string | null = null
    let checks = 0
    const timer = setInterval(async () => {
      checks += 1
      const stamp = await readStamp(session).catch(() => null)
      if (stamp === null || stamp === newest || writerOf(stamp) !== name || checks >= 2 * mostLimits) gone()
      newest = stamp
    }, answerLimit / 2)
    return { stop: () => clearInterval(timer) }
  }

  for (const inbox of [writer, ...lanesOf(writer)]) mail?.receive(inboxOf(inbox), receive)

  return {
    leader() {
      if (leader !== null && performance.now() - heardAt > longestSilence) leader = null
      return leader
    },
    noteWriter(newest) {
      const isRecent = state.wroteAt !== null && performance.now() - state.wroteAt < longestSilence
      const isLeader = mail !== null && isRecent && hasInbox(newest) && newest < writer && !isAvoided(newest)
      leader = isLeader ? newest : null
      heardAt = performance.now()
    },
    send(to, name, commands) {
      const { promise, resolve } = Promise.withResolvers<Answer | null>()
      expected.set(name.batch, resolve)
      const watch = watchLeader(to, () => resolve(null))
      return {
        sent: mail?.send(inboxOf(to), messagesOf(name, commands)).catch(() => resolve(null)) ?? Promise.resolve(),
        answer: promise.then(async (answer) => {
          watch.stop()
          expected.delete(name.batch)
          heardAt = performance.now()
          const outcome = answer ? await readAnswer(name.writer, answer) : 'unknown'
          if (typeof outcome === 'string') {
            avoided.set(to, performance.now() + avoidedFor[outcome])
            leader = null
          }
          return outcome
        }),
      }
    },
    giveBack,
  }
}

/** Splits a list of commands into messages. */
function messagesOf({ writer, batch }: BatchName, commands: readonly string[]): string[] {
  const text = `[${commands.join()}]`
  const size = largestMessage - 100
  const count = Math.ceil(text.length / size)
  return Array.from(
    { length: count },
    (_, part) => `${writer} ${batch} ${count} ${part}\n${text.slice(part * size, (part + 1) * size)}`,
  )
}

/** Serialized commands, which one server can hand over to another. Nearly all commands of a fleet have this form. */
function toCommand(portable: Portable): Command<unknown> {
  const command = traced(build(portable), portable.traceparent ?? null)
  return portable.proof ? spending(command, portable.proof) : command
}

function build(portable: Portable): Command<unknown> {
  switch (portable.kind) {
    case 'report':
      return recordReport(portable.report, portable.caller, portable.deviations)
    case 'hear':
      return hearDevices(portable.names)
    case 'countDeviations':
      return countDeviations(portable.device, portable.deviations)
    default: {
      const unknown: never = portable
      throw new Error(`unknown command ${JSON.stringify(unknown)}`)
    }
  }
}
