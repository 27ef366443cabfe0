/**
 * Each writer's latest batch is a row of `batches`, written in the transaction of the batch. So a lost COMMIT is looked up and not repeated,
 * and a batch that was handed over to another server is written once.
 */
import { storableJson } from '../../domain/text.ts'
import { largestMessage, type Reader } from '../database.ts'
import type { BatchName, Effects, HandedAnswer } from './contract.ts'

/** A row of `batches`. */
export interface BatchRecord {
  readonly batch: number
  /** The outcomes of the commands, if another server wrote the batch. */
  readonly outcomes?: readonly unknown[]
  /** The newest revision after it. */
  readonly revision?: number
}

/** The name of the last batch in the log's head. */
export function stampOf({ writer, batch }: BatchName): string {
  return `${writer}/${batch}`
}

export function writerOf(stamp: string): string {
  return stamp.slice(0, Math.max(stamp.lastIndexOf('/'), 0))
}

/** Reads the name of the last batch. */
export async function readStamp(session: Reader): Promise<string | null> {
  const [head] = await session.run<{ stamp: string }>('select stamp from log_head where id = 1')
  return head?.stamp ?? null
}

/** The channel on which a writer receives batches, and answers to its own batches. */
export function inboxOf(writer: string): string {
  return `rollcall_${writer}`
}

const recordsOf = `select b.id, b.outcomes as record from json_array_elements_text($1::text::json) x
  cross join lateral (select b.* from batches b where b.id = x offset 0) b`

/** A writer's batch is never written after a failed earlier one. So a batch is written if the record has its number or a greater one. */
export async function readBatches(session: Reader, writers: readonly string[]): Promise<Map<string, BatchRecord>> {
  if (writers.length === 0) return new Map()
  const rows = await session.run<{ id: string; record: BatchRecord }>(recordsOf, [storableJson(writers)])
  return new Map(rows.map(({ id, record }) => [id, record]))
}

/** Records this writer's batch, and the batches of other servers in it. */
export function batchRows(
  { writer, batch }: BatchName,
  answers: readonly HandedAnswer[],
  { at, revision }: Pick<Effects, 'at' | 'revision'>,
): object[] {
  return [
    { id: writer, at, outcomes: { batch } },
    ...answers.map(({ name, outcomes }) => ({ id: name.writer, at, outcomes: recordOf(name, outcomes, revision) })),
  ]
}

/** SQL: whether one of these batches was already written. Two parameters, from that number on. */
export function isWrittenIn(first: number): string {
  return `exists (select 1 from unnest($${first}::text[], $${first + 1}::bigint[]) x(id, batch)
    cross join lateral (select b.outcomes from batches b where b.id = x.id offset 0) b
    where (b.outcomes->>'batch')::bigint >= x.batch)`
}

export function namesIn(answers: readonly HandedAnswer[]): readonly string[] {
  return [
    `{${answers.map(({ name }) => name.writer).join()}}`,
    `{${answers.map(({ name }) => String(name.batch)).join()}}`,
  ]
}

/** SQL: notifies the servers of these batches. Two parameters, from that number on. NOTIFY is delivered when the transaction commits. */
export function tellIn(first: number): string {
  return `(select count(pg_notify(x.inbox, x.answer)) from unnest($${first}::text[], string_to_array($${first + 1}, e'\\x1f')) x(inbox, answer))`
}

/** An answer that is too long for a message is omitted: its server reads the table. */
export function messagesOf(
  answers: readonly HandedAnswer[],
  { revision }: Pick<Effects, 'revision'>,
): readonly string[] {
  const texts = answers.map(({ name, outcomes }) => {
    const text = toAscii(JSON.stringify(recordOf(name, outcomes, revision)))
    return text.length <= largestMessage ? text : JSON.stringify({ batch: name.batch })
  })
  return [`{${answers.map(({ name }) => inboxOf(name.writer)).join()}}`, texts.join('\x1f')]
}

/** ASCII only, one byte a character, because the length of a message is limited in bytes. */
export function toAscii(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function recordOf({ batch }: BatchName, outcomes: readonly unknown[], revision: number): Required<BatchRecord> {
  return { batch, revision, outcomes }
}
