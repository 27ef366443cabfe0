/** The result of one event of a subscription. Subscribers with the same operation share it, and so its text and frame. */
import type { ExecutionResult, FormattedExecutionResult } from 'graphql'
import type { Revision } from '../../../domain/values.ts'

export interface EventResult {
  readonly result: ExecutionResult
  /** The cursor of an event of `changes`. Null: the stream restarts with the present. */
  readonly resumeFrom: Revision | null
  /** The document that was executed. Locations of errors refer to it. */
  readonly document: object | null
  /** Whether the result depends on its event alone: nothing was read, and the caller has no access scope. */
  readonly isOfEvent: boolean
  /** The result as JSON, once it was sent. */
  text: string | null
  /** The last WebSocket frame: most clients of a group use the same operation ID. */
  frame: { readonly id: string; readonly bytes: Buffer } | null
}

export function createEventResult(
  result: ExecutionResult,
  resumeFrom: Revision | null = null,
  isOfEvent = false,
  document: object | null = null,
): EventResult {
  return { result, resumeFrom, document, isOfEvent, text: null, frame: null }
}

/** Serializes a result once for all its subscribers. */
export function textOf(own: EventResult, format: (result: ExecutionResult) => FormattedExecutionResult): string {
  own.text ??= JSON.stringify(format(own.result))
  return own.text
}
