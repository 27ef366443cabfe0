/** The interface between sinks.ts and the kinds of sinks: one round of delivery, and its result. */
import type { Millis, Revision } from '../../domain/values.ts'
import type { Sink } from '../../store/sinks/sinks.ts'

/** The result of one round of a sink. */
export interface Round {
  /** Every change up to here was read, and sent where the filter wants it. */
  readonly cursor: Revision
  readonly isSent: boolean
  /** The receiver accepted something in this round. An error after that begins a new count of failures. */
  readonly isAccepted: boolean
  readonly status: number | null
  /** Null: no failure. */
  readonly error: string | null
  /** When the next round may begin. Null: as soon as there is something to send. */
  readonly nextAt: Millis | null
  readonly settings?: object
}

/** A round that sent nothing, unless `result` says otherwise. */
export function roundAt(cursor: Revision, result: Partial<Omit<Round, 'cursor'>> = {}): Round {
  return { cursor, isSent: false, isAccepted: false, status: null, error: null, nextAt: null, ...result }
}

export interface Turn {
  /** The server stops, the lease has ended, or the sink was paused, deleted or changed: what follows is not for this round. */
  isOver(): boolean
  /** Every change up to `cursor` was read, and sent where the filter wants it. Noted every few seconds, so that a restart continues there. */
  reached(cursor: Revision): Promise<void>
}

/** Sends what is new to one sink. Never throws because of its target. */
export type Deliver = (sink: Sink, head: Revision, turn: Turn) => Promise<Round>
