/**
 * Tell once. Subscribers with the same document, variables and rights are a crowd. Those of it who have been told everything are told
 * what follows by one line: one source, one execution of each event, and the same result for all of them.
 *
 *   comes ──▶ on a line of his own ──told everything, and so has another line──▶ on one line with the others
 *                      ▲                                                                  │
 *                      └──── busy when it tells something: from before that on ───────────┘
 *
 * So nobody waits for anybody, and what a slow reader misses is kept, merged and counted for him as if he were alone.
 */
import type { EventResult } from './operation.ts'
import type { Source, SourceEvent } from './source-event.ts'

export interface Listener {
  /** Busy until what it returns is resolved, which never fails. */
  take(result: EventResult): Promise<void> | undefined
  /** There is nothing more to come. Not called when the listener left. */
  end(): void
  fail(error: unknown): void
}

export interface Crowds {
  /** Tells `listener` what comes of `source`, or the same from elsewhere. Call what it returns to leave. */
  join(key: string, source: Source<unknown>, execute: Execute, listener: Listener): () => void
}

/** What is known already is not waited for. `isAlone`: there is nobody now to share it with. */
export type Execute = (event: SourceEvent, isAlone: boolean) => EventResult | Promise<EventResult>

interface Crowd {
  readonly key: string
  /** One that may be quiet. */
  quiet: Line | null
  size: number
}

interface Line {
  readonly crowd: Crowd
  readonly source: Source<unknown>
  readonly execute: Execute
  readonly members: Set<Member>
}

interface Member {
  readonly listener: Listener
  line: Line
  busy: Promise<void> | null
}

export function createCrowds(): Crowds {
  const crowds = new Map<string, Crowd>()

  function crowdOf(key: string): Crowd {
    const known = crowds.get(key)
    if (known) return known
    const crowd: Crowd = { key, quiet: null, size: 0 }
    crowds.set(key, crowd)
    return crowd
  }

  function leave(member: Member): void {
    const { line } = member
    if (!line.members.delete(member)) return
    shrink(line.crowd, 1)
    if (line.members.size === 0) close(line)
    else line.source.carry(line.members.size)
  }

  function shrink(crowd: Crowd, by: number): void {
    crowd.size -= by
    // Another one may have begun meanwhile.
    if (crowd.size === 0 && crowds.get(crowd.key) === crowd) crowds.delete(crowd.key)
  }

  async function run(line: Line): Promise<void> {
    const { members, source, execute } = line
    source.whenQuiet(() => settle(line))
    let farewell = (listener: Listener): void => listener.end()
    try {
      for (;;) {
        for (let busy = whenOneIsFree(line); busy; busy = whenOneIsFree(line)) await busy
        const event = source.take() ?? (await next(source))
        if (event === null) break
        const result = execute(event, line.crowd.size === 1)
        tell(line, result instanceof Promise ? await result : result)
      }
    } catch (error) {
      close(line)
      farewell = (listener) => listener.fail(error)
    }
    const last = [...members]
    members.clear()
    shrink(line.crowd, last.length)
    for (const { listener } of last) farewell(listener)
  }

  return {
    join(key, source, execute, listener) {
      const crowd = crowdOf(key)
      const line: Line = { crowd, source, execute, members: new Set() }
      const member: Member = { listener, line, busy: null }
      crowd.size += 1
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

  /** On a line of his own, which tells him what he could not take now. */
  function part(member: Member): void {
    const { line } = member
    if (!line.members.delete(member)) return
    member.line = { ...line, source: line.source.fork(), members: new Set([member]) }
    void run(member.line)
    if (line.members.size === 0) close(line)
    else line.source.carry(line.members.size)
  }
}

/** Alone, he is waited for before anything is taken from the source: what happens meanwhile is merged there. */
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

/** Two lines that have told everything, and will tell the same, become one. */
function settle(line: Line): void {
  const { crowd } = line
  const other = crowd.quiet
  if (other === line) return
  if (other === null) {
    crowd.quiet = line
    return
  }
  // It may wait for the database, too.
  if (!line.source.isQuiet()) return
  crowd.quiet = line
  if (!other.source.isQuiet()) return
  if (other.source.standing() !== line.source.standing()) return
  const [kept, left] = other.members.size > line.members.size ? [other, line] : [line, other]
  crowd.quiet = kept
  for (const member of left.members) {
    member.line = kept
    kept.members.add(member)
  }
  left.members.clear()
  kept.source.carry(kept.members.size)
  close(left)
}

/** Its `run` ends when the source does. */
function close(line: Line): void {
  if (line.crowd.quiet === line) line.crowd.quiet = null
  void line.source.return()
}
