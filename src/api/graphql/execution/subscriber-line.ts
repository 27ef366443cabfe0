/** A line: a source of events, and the subscribers that take each event from it. execution/subscriber-group.ts forms them. */
import type { Source, SourceEvent } from '../subscriptions/event-source.ts'
import type { EventResult } from './event-result.ts'

export interface Listener {
  /** The listener is busy until the returned promise resolves. It never rejects. */
  take(result: EventResult): Promise<void> | undefined
  /** The stream ended. Not called after the listener left. */
  end(): void
  fail(error: unknown): void
}

/** What a subscriber executes for each event. */
export interface Operation {
  /** The rights of the caller. */
  readonly rights: string
  /** Operations with equal keys have equal results, apart from the locations of errors. */
  readonly key: string
  /** Distinguishes documents with equal keys. */
  readonly document: object
  /** Returns synchronously if no resolver waits. */
  readonly execute: (event: SourceEvent, sharing: Sharing) => EventResult | Promise<EventResult>
}

/**
 * all    with every subscriber with an equal key
 * later  there is no other subscriber now, but a later one may be at the same event of `changes`
 * none   the result is for this document only
 */
export type Sharing = 'all' | 'later' | 'none'

export interface SubscriberGroup {
  readonly key: string
  /** A line that may be idle. */
  idle: Line | null
  /** The number of subscribers with each operation. */
  readonly operations: Map<string, number>
}

export interface Line {
  readonly group: SubscriberGroup
  readonly source: Source<unknown>
  readonly members: Set<Member>
  /** The number of members with each operation. */
  readonly operations: Map<string, number>
  /** Whether `run` is executing. An idle line holds no promise. */
  isRunning: boolean
  /** Whether the source woke the line while it was running. */
  isWoken: boolean
}

export interface Member {
  readonly listener: Listener
  readonly operation: Operation
  line: Line
  /** Until it can take the next result. */
  busy: Promise<void> | null
}

export function createLine(group: SubscriberGroup, source: Source<unknown>): Line {
  return { group, source, members: new Set(), operations: new Map(), isRunning: false, isWoken: false }
}

export function add(line: Line, member: Member): void {
  const { key } = member.operation
  member.line = line
  line.members.add(member)
  line.operations.set(key, (line.operations.get(key) ?? 0) + 1)
}

/** False: it was not on this line. */
export function remove(line: Line, member: Member): boolean {
  if (!line.members.delete(member)) return false
  const { key } = member.operation
  const others = (line.operations.get(key) ?? 1) - 1
  if (others > 0) line.operations.set(key, others)
  else line.operations.delete(key)
  return true
}

export function operationsOfBoth(one: Line, other: Line): number {
  const [small, large] = one.operations.size < other.operations.size ? [one, other] : [other, one]
  let count = large.operations.size
  for (const key of small.operations.keys()) if (!large.operations.has(key)) count += 1
  return count
}
