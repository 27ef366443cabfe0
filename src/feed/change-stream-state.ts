/**
 * The states of a subscriber of changes, and what each input makes of them. Pure: change-stream.ts does what a state
 * asks for.
 *
 *              ┌──────────── a hole ──────────▶ verifying ──┐
 *              │                                   │        │ expired
 *   unchecked ─┴─checked─▶ reading ◀───────────────┘        │
 *       ▲                     │ caught up                   │
 *       │                     ▼                             │
 *       └──interrupted───── live ──overflow──▶ ended        │        live ──behind──▶ reading
 *       └───────────────────────────────────────────────────┘
 */
import type { Change } from '../domain/change.ts'
import { type ChangeFilter, matchesChange } from '../domain/nouns/change.ts'
import { oldestRetained, type Revision } from '../domain/values.ts'
import type { BacklogPage } from './backlog.ts'
import { continuation, expiredTo, type LogRange } from './cursor.ts'
import type { FeedEvent } from './event-queue.ts'

/** `position`: everything up to here was queued or did not match. */
export type State =
  /** The cursor must be compared with the log. Null: begin at the present. */
  | { readonly name: 'unchecked'; readonly position: Revision | null; readonly hasBegun: boolean }
  /** Reads what follows from the backlog. */
  | { readonly name: 'reading'; readonly position: Revision }
  /**
   * The page does not continue at the position: retention may have removed changes before the page was read, or an epoch
   * begins. A check that comes after the reading decides.
   */
  | { readonly name: 'verifying'; readonly position: Revision; readonly page: BacklogPage }
  /** Gets each commit from the hub. */
  | { readonly name: 'live'; readonly position: Revision }
  /** Gives what is queued and ends. */
  | { readonly name: 'ended'; readonly failure: unknown }

type Of<Name extends State['name']> = Extract<State, { name: Name }>

export type Input =
  /** `last`: the hub's last revision, which is at least the log's head. */
  | { readonly kind: 'checked'; readonly log: LogRange; readonly last: Revision }
  | { readonly kind: 'page'; readonly page: BacklogPage }
  /** Nothing is queued. `last`: the hub's last revision. */
  | { readonly kind: 'caught-up'; readonly last: Revision }
  | { readonly kind: 'published'; readonly changes: readonly Change[] }
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'bookmark'; readonly last: Revision }
  /** The log cannot be read at the moment. */
  | { readonly kind: 'outage' }
  | { readonly kind: 'overflow' }
  /** What was queued is no longer in memory. `position`: everything up to here was delivered or did not match. */
  | { readonly kind: 'behind'; readonly position: Revision }
  | { readonly kind: 'close'; readonly failure?: unknown }

interface Step {
  readonly state: State
  /** Events to queue. */
  readonly events: readonly FeedEvent[]
}

/** `filter`: which changes become events. */
export function step(state: State, input: Input, filter: ChangeFilter = {}): Step {
  if (state.name === 'ended') return stay(state)
  switch (input.kind) {
    case 'checked':
      return checked(state, input.log, input.last, filter)
    case 'page':
      return state.name === 'reading' ? read(state, input.page, filter) : stay(state)
    case 'caught-up':
      // The position may be ahead of the hub: another server or the log gave the client later changes.
      return state.name === 'reading' && state.position >= input.last
        ? { state: { name: 'live', position: state.position }, events: [] }
        : stay(state)
    case 'published':
      return state.name === 'live' ? published(state, input.changes, filter) : stay(state)
    case 'interrupted':
      return state.name === 'live' ? recheck(state.position) : stay(state)
    case 'bookmark':
      return state.name === 'live' && input.last >= state.position
        ? { state: { name: 'live', position: input.last }, events: [bookmarkAt(input.last)] }
        : stay(state)
    case 'outage':
      return state.name === 'live' || state.name === 'unchecked' ? stay(state) : recheck(state.position)
    case 'overflow':
      return state.name === 'live' ? { state: { name: 'ended', failure: null }, events: [] } : stay(state)
    case 'behind':
      return state.name === 'live' ? readFrom(input.position) : stay(state)
    case 'close':
      return { state: { name: 'ended', failure: input.failure ?? null }, events: [] }
  }
}

function checked(state: Exclude<State, Of<'ended'>>, log: LogRange, last: Revision, filter: ChangeFilter): Step {
  if (state.name !== 'unchecked' && state.name !== 'verifying') return stay(state)
  if (state.position === null) return readFrom(last)
  if (state.position === oldestRetained) return readFrom(log.tail)
  const reset = expiredTo(state.position, log)
  if (reset !== null) return readFrom(reset, [{ cursor: reset, change: null, reset: 'CURSOR_EXPIRED' }])
  // Nothing is lost after the last revision of an earlier epoch. An empty epoch ends where it begins.
  let { position } = state
  for (let next = continuation(position, log); next !== null; next = continuation(next, log)) position = next
  return state.name === 'verifying' && position === state.position
    ? accept(position, state.page, filter)
    : readFrom(position)
}

function read(state: Of<'reading'>, page: BacklogPage, filter: ChangeFilter): Step {
  // The page was read for another subscriber, before the position was written: read again.
  if (page.upTo <= state.position) return stay(state)
  const [first] = laterThan(state.position, page.changes)
  if (first?.revision === state.position + 1) return accept(state.position, page, filter)
  return { state: { name: 'verifying', position: state.position, page }, events: [] }
}

/** Not `upTo` itself: it may lie between two epochs, where no cursor is valid. */
function accept(position: Revision, { changes, upTo }: BacklogPage, filter: ChangeFilter): Step {
  const later = laterThan(position, changes)
  return readFrom(later.at(-1)?.revision ?? upTo, eventsOf(later, filter))
}

function published(state: Of<'live'>, changes: readonly Change[], filter: ChangeFilter): Step {
  const later = laterThan(state.position, changes)
  const position = later.at(-1)?.revision
  if (position === undefined) return stay(state)
  return { state: { name: 'live', position }, events: eventsOf(later, filter) }
}

function laterThan(position: Revision, changes: readonly Change[]): readonly Change[] {
  return changes.filter(({ revision }) => revision > position)
}

function readFrom(position: Revision, events: readonly FeedEvent[] = []): Step {
  return { state: { name: 'reading', position }, events }
}

function recheck(position: Revision): Step {
  return { state: { name: 'unchecked', position, hasBegun: true }, events: [] }
}

function stay(state: State): Step {
  return { state, events: [] }
}

function eventsOf(changes: readonly Change[], filter: ChangeFilter): FeedEvent[] {
  return changes
    .filter((change) => matchesChange(filter, change))
    .map((change) => ({ cursor: change.revision, change, reset: null }))
}

function bookmarkAt(cursor: Revision): FeedEvent {
  return { cursor, change: null, reset: null }
}
