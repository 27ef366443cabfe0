/**
 * Groups subscribers with the same document, variables and rights. Subscribers that are caught up share one line: one
 * source, one execution per event, and the same result for all.
 *
 *   joins ──▶ a line of its own ──caught up, and another line is too──▶ the shared line
 *                    ▲                                                        │
 *                    └──── busy when an event arrives: forks before it ───────┘
 *
 * So no subscriber waits for another, and a slow subscriber's missed events are kept, merged and counted as if it were
 * alone.
 */

import type { Source, SourceEvent } from '../subscriptions/event-source.ts'
import type { EventResult } from './event-result.ts'

export interface Listener {
  /** The listener is busy until the returned promise resolves. It never rejects. */
  take(result: EventResult): Promise<void> | undefined
  /** The stream ended. Not called after the listener left. */
  end(): void
  fail(error: unknown): void
}

export interface SubscriberGroups {
  /** Sends the events of `source`, or of an equal source, to `listener`. Call the returned function to leave. */
  join(key: string, source: Source<unknown>, execute: Execute, listener: Listener): () => void
}

/** Returns synchronously if the result is cached. `isAlone`: no other subscriber can share the result. */
export type Execute = (event: SourceEvent, isAlone: boolean) => EventResult | Promise<EventResult>

interface SubscriberGroup {
  readonly key: string
  /** A line that may be idle. */
  idle: Line | null
  size: number
}

interface Line {
  readonly group: SubscriberGroup
  readonly source: Source<unknown>
  readonly execute: Execute
  readonly members: Set<Member>
}

interface Member {
  readonly listener: Listener
  line: Line
  busy: Promise<void> | null
}

export function createSubscriberGroups(): SubscriberGroups {
  const groups = new Map<string, SubscriberGroup>()

  function groupOf(key: string): SubscriberGroup {
    const known = groups.get(key)
    if (known) return known
    const group: SubscriberGroup = { key, idle: null, size: 0 }
    groups.set(key, group)
    return group
  }

  function leave(member: Member): void {
    const { line } = member
    if (!line.members.delete(member)) return
    shrink(line.group, 1)
    if (line.members.size === 0) close(line)
    else line.source.setSubscriberCount(line.members.size)
  }

  function shrink(group: SubscriberGroup, by: number): void {
    group.size -= by
    // A new group with the same key may exist meanwhile.
    if (group.size === 0 && groups.get(group.key) === group) groups.delete(group.key)
  }

  async function run(line: Line): Promise<void> {
    const { members, source, execute } = line
    source.whenIdle(() => settle(line))
    let finish = (listener: Listener): void => listener.end()
    try {
      for (;;) {
        for (let busy = whenOneIsFree(line); busy; busy = whenOneIsFree(line)) await busy
        const event = source.take() ?? (await next(source))
        if (event === null) break
        const result = execute(event, line.group.size === 1)
        tell(line, result instanceof Promise ? await result : result)
      }
    } catch (error) {
      close(line)
      finish = (listener) => listener.fail(error)
    }
    const last = [...members]
    members.clear()
    shrink(line.group, last.length)
    for (const { listener } of last) finish(listener)
  }

  return {
    join(key, source, execute, listener) {
      const group = groupOf(key)
      const line: Line = { group, source, execute, members: new Set() }
      const member: Member = { listener, line, busy: null }
      group.size += 1
      line.members.add(member)
      void run(line)
      return () => leave(member)
    },
  }

  function tell(line: Line, result: EventResult): void {
    const behind: Member[] = []
    for (const member of line.members) {
      if (member.busy) behind.push(member)
      else give(member, result)
    }
    for (const member of behind) part(member)
  }

  /** Moves a busy subscriber to a line of its own, which starts with the event that it could not take. */
  function part(member: Member): void {
    const { line } = member
    if (!line.members.delete(member)) return
    member.line = { ...line, source: line.source.fork(), members: new Set([member]) }
    void run(member.line)
    if (line.members.size === 0) close(line)
    else line.source.setSubscriberCount(line.members.size)
  }
}

/** A single subscriber is waited for before the next event is taken: the source merges what happens meanwhile. */
function whenOneIsFree({ members }: Line): Promise<void> | null {
  if (members.size !== 1) return null
  const [one] = members
  return one?.busy ?? null
}

async function next(source: Source<unknown>): Promise<SourceEvent | null> {
  const { done, value } = await source.next()
  return done ? null : value
}

function give(member: Member, result: EventResult): void {
  const busy = member.listener.take(result)
  if (!busy) return
  member.busy = busy
  void busy.then(() => {
    member.busy = null
  })
}

/** Merges two idle lines whose sources will yield the same events. */
function settle(line: Line): void {
  const { group } = line
  const other = group.idle
  if (other === line) return
  if (other === null) {
    group.idle = line
    return
  }
  // The source may still wait for the database.
  if (!line.source.isIdle()) return
  group.idle = line
  if (!other.source.isIdle()) return
  if (other.source.stateKey() !== line.source.stateKey()) return
  const [kept, left] = other.members.size > line.members.size ? [other, line] : [line, other]
  group.idle = kept
  for (const member of left.members) {
    member.line = kept
    kept.members.add(member)
  }
  left.members.clear()
  kept.source.setSubscriberCount(kept.members.size)
  close(left)
}

/** Ends the source, which ends the line's `run`. */
function close(line: Line): void {
  if (line.group.idle === line) line.group.idle = null
  void line.source.return()
}
