import type { Millis, Revision } from '../../domain/values.ts'
import type { LogHead, Session } from '../database.ts'
import { noLogHead } from './failure.ts'

/** A statement and its parameters. postgres.js prepares none without parameters, and to parse and plan this one takes longer than to execute it. */
export interface HeadStatement {
  readonly text: string
  readonly parameters: readonly unknown[]
}

export const headStatement: HeadStatement = {
  text: `select epoch_base as "epochBase", revision, tail, tail_at as "tailAt", at, writes from log_head where id = $1`,
  parameters: [1],
}

/** The same as a part of another statement. */
export const headText = headStatement.text.replace('$1', '1')

export async function readHead(session: Session): Promise<LogHead> {
  const [head] = await session.run<LogHead>(headStatement.text, headStatement.parameters)
  if (!head) throw noLogHead()
  return head
}

/** What a reader has seen of the log. Every batch increases `writes`, also one without a change. A restored copy has fewer than its original. */
export type LogPosition = Pick<LogHead, 'epochBase' | 'revision' | 'writes'>

/** Whether the position includes everything up to the other one. Revisions increase across epochs, `writes` only within one. */
export function includes(position: LogPosition, other: LogPosition): boolean {
  if (position.revision < other.revision) return false
  return position.epochBase !== other.epochBase || position.writes >= other.writes
}

/** Seconds by which the log's time is ahead of the clock. After a jump of the clock, `at` of every change stays there until the clock catches up. */
export function secondsAhead({ at }: Pick<LogHead, 'at'>, now: Millis): number {
  return Math.max(Math.round((at - now) / 1_000), 0)
}

export interface EpochRange {
  readonly base: Revision
  /** The newest revision of the epoch. Null: the present epoch. */
  readonly ended: Revision | null
}

/** The head and every epoch at one moment. */
export async function readRange(session: Session): Promise<{ head: LogHead; tail: Revision; epochs: EpochRange[] }> {
  const [row] = await session.run<LogHead & { epochs: EpochRange[] }>(
    `select h.*, (select json_agg(json_build_object('base', base, 'ended', ended) order by base) from epochs) as epochs
     from (${headText}) h`,
  )
  if (!row) throw noLogHead()
  const { epochs, ...head } = row
  return { head, tail: head.tail, epochs }
}
