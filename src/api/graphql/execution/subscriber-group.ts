/**
 * Groups subscribers that watch the same thing with the same rights. Subscribers that are caught up share one line: one
 * source, whose events are read once. Those of a line whose operations have equal shapes and variables share one
 * execution of each event, and get the same result.
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
import {
  add,
  createLine,
  type Line,
  type Listener,
  type Member,
  type Operation,
  operationsOfBoth,
  remove,
  type Sharing,
  type SubscriberGroup,
} from './subscriber-line.ts'

export interface SubscriberGroups {
  /** Sends the events of `source`, or of an equal source, to `listener`. Call the returned function to leave. */
  join(source: Source<unknown>, operation: Operation, listener: Listener): () => void
}

/** Milliseconds that a line waits for executions before the next event. Subscribers of longer ones get lines of their own. */
const executionLimit = 50

/**
 * Operations on one line. An event is executed for all of them on one snapshot, without a pause if no resolver waits. With more, one caller
 * with thousands of documents would delay reports and other callers; lines take turns.
 */
const mostOperations = 32

export function createSubscriberGroups(): SubscriberGroups {
  const groups = new Map<string, SubscriberGroup>()

  function enter(key: string, { key: operation }: Operation): SubscriberGroup {
    const group = groups.get(key) ?? { key, idle: null, operations: new Map() }
    groups.set(key, group)
    group.operations.set(operation, (group.operations.get(operation) ?? 0) + 1)
    return group
  }

  function exit(group: SubscriberGroup, { key: operation }: Operation): void {
    const count = (group.operations.get(operation) ?? 0) - 1
    if (count > 0) group.operations.set(operation, count)
    else group.operations.delete(operation)
    // A new group with the same key may exist meanwhile.
    if (group.operations.size === 0 && groups.get(group.key) === group) groups.delete(group.key)
  }

  function leave(member: Member): void {
    const { line } = member
    if (!remove(line, member)) return
    exit(line.group, member.operation)
    if (line.members.size === 0) close(line)
    else line.source.setSubscriberCount(line.members.size)
  }

  function start(line: Line): void {
    line.source.onWake(() => wake(line))
    void run(line)
  }

  /** The hub wakes a source while it publishes, so the line runs after that. */
  function wake(line: Line): void {
    line.isWoken = true
    if (line.isRunning) return
    line.isRunning = true
    queueMicrotask(() => void run(line))
  }

  /** Sends the events that the source has. */
  async function run(line: Line): Promise<void> {
    const { source } = line
    line.isRunning = true
    try {
      for (;;) {
        for (let busy = whenOneIsFree(line); busy; busy = whenOneIsFree(line)) await busy
        line.isWoken = false
        const next = source.next()
        const event = next instanceof Promise ? await next : next
        if (event === 'ended') return finish([...line.members], (listener) => listener.end())
        if (event === 'idle') {
          if (line.isWoken) continue
          line.isRunning = false
          return settle(line)
        }
        const executing = send(line, event)
        if (executing.length > 0) await withinLimit(executing)
      }
    } catch (error) {
      close(line)
      finish([...line.members], (listener) => listener.fail(error))
    }
  }

  /** A line without members stays marked as running: it never runs again. */
  function finish(members: readonly Member[], say: (listener: Listener) => void): void {
    const present = members.filter((member) => remove(member.line, member))
    for (const { line, operation } of present) exit(line.group, operation)
    for (const { listener } of present) say(listener)
  }

  return {
    join(source, operation, listener) {
      const group = enter(`${operation.rights} ${source.key}`, operation)
      const line = createLine(group, source)
      const member: Member = { listener, operation, line, busy: null }
      add(line, member)
      start(line)
      return () => leave(member)
    },
  }

  /** Executes each operation once, and sends the results. Returns the executions that take longer. */
  function send(line: Line, event: SourceEvent): Promise<void>[] {
    const free: Member[] = []
    for (const member of [...line.members]) {
      if (member.busy) separate(member)
      else free.push(member)
    }
    const executing: Promise<void>[] = []
    for (const [key, members] of byOperation(free)) {
      const work = execute(members, event, line.group.operations.get(key) === 1 ? 'later' : 'all')
      if (work) executing.push(work)
    }
    if (executing.length === 0) event.release()
    else void Promise.all(executing).then(event.release)
    return executing
  }

  /** Executes one operation for all its subscribers. Undefined: it is done. The promise never rejects. */
  function execute(members: readonly Member[], event: SourceEvent, sharing: Sharing): Promise<void> | undefined {
    const [first] = members
    if (!first) return
    try {
      const result = first.operation.execute(event, sharing)
      if (!(result instanceof Promise)) return deliver(members, event, result)
      const work = result
        .then((found) => deliver(members, event, found))
        .catch((error: unknown) => fail(members, error))
      for (const member of members) setBusy(member, work)
      return work
    } catch (error) {
      fail(members, error)
    }
  }

  /** Errors have locations in the document, so subscribers with other documents get results of their own. */
  function deliver(members: readonly Member[], event: SourceEvent, result: EventResult): Promise<void> | undefined {
    const isOwn = ({ operation }: Member): boolean => !result.result.errors || operation.document === result.document
    const others: Member[] = []
    for (const member of members) {
      if (isOwn(member)) give(member, result)
      else others.push(member)
    }
    if (others.length === 0) return
    const documents = Map.groupBy(others, ({ operation }) => operation.document)
    const executing = [...documents.values()].map((own) => execute(own, event, 'none'))
    return Promise.all(executing).then(() => undefined)
  }

  function fail(members: readonly Member[], error: unknown): void {
    finish(members, (listener) => listener.fail(error))
    for (const { line } of members) if (line.members.size === 0) close(line)
  }

  /** Moves a busy subscriber to a line of its own, which starts with the event that it could not take. */
  function separate(member: Member): void {
    const { line } = member
    remove(line, member)
    add(createLine(line.group, line.source.fork()), member)
    start(member.line)
    if (line.members.size === 0) close(line)
    else line.source.setSubscriberCount(line.members.size)
  }
}

/** If all subscribers are busy, the next event is not taken yet: the source merges what happens meanwhile. */
function whenOneIsFree({ members }: Line): Promise<void> | null {
  const all: Promise<void>[] = []
  for (const { busy } of members) {
    if (!busy) return null
    all.push(busy)
  }
  return all.length > 0 ? Promise.race(all) : null
}

function byOperation(members: readonly Member[]): Iterable<readonly [string, readonly Member[]]> {
  const [first] = members
  if (!first) return []
  // Most lines have one operation.
  if (members.every(({ operation }) => operation.key === first.operation.key)) return [[first.operation.key, members]]
  return Map.groupBy(members, ({ operation }) => operation.key)
}

function give(member: Member, result: EventResult): void {
  if (!member.line.members.has(member)) return
  const busy = member.listener.take(result)
  if (busy) setBusy(member, busy)
}

function setBusy(member: Member, busy: Promise<void>): void {
  member.busy = busy
  void busy.then(() => {
    if (member.busy === busy) member.busy = null
  })
}

async function withinLimit(executing: readonly Promise<void>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, executionLimit)
  })
  await Promise.race([late, Promise.all(executing)])
  clearTimeout(timer)
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
  if (operationsOfBoth(line, other) > mostOperations) {
    // The next line joins the one that has room.
    if (other.operations.size < line.operations.size) group.idle = other
    return
  }
  const [kept, left] = other.members.size > line.members.size ? [other, line] : [line, other]
  group.idle = kept
  for (const member of [...left.members]) {
    remove(left, member)
    add(kept, member)
  }
  kept.source.setSubscriberCount(kept.members.size)
  close(left)
}

/** Ends the source, which ends the line's `run`. */
function close(line: Line): void {
  if (line.group.idle === line) line.group.idle = null
  line.source.close()
}
