/**
 * A live list: the first rows of a list, then what changed in them. The state of a subscription is the rows that its subscribers have, and one
 * more. One commit costs each list one statement: which of the touched rows and of these rows are now among the first, in their order.
 *
 *   rows up to the end, and touched rows ──sorted, up to the end──▶ the new rows ──fewer than before──▶ the rows behind the end
 *
 * Every row before the end is known, so a row that enters is touched or known. Only if rows leave, the next ones are read behind the end. The list
 * is read again, and compared, if the changes are not known: after too many of them, after an interruption, and when a subscriber resumes.
 */
import type { Change } from '../../../../domain/change.ts'
import { DomainError } from '../../../../domain/errors.ts'
import { oldestRetained, type Revision } from '../../../../domain/values.ts'
import type { WatchEvent } from '../../../../feed/watch-stream.ts'
import type { Page, PageRequest } from '../../../../store/sql/order.ts'
import type { Reader } from '../../execution/loaders/reader.ts'
import { required } from '../../execution/required.ts'
import type { React, Reaction as StateReaction } from '../state-stream.ts'
import { type Difference, difference, type ListedRow, type RowChange } from './difference.ts'

/** Its revision, or what else differs if the row has changed. */
type Version = Revision | string

/** `cursor`: the place of a row in the list. */
interface ListedPlace extends ListedRow<number, Version> {
  readonly cursor: string
}

export interface ListReads<Row, Candidates> {
  /** Null: the present. */
  page(reader: Reader, page: PageRequest, asOf: Revision | null): Promise<Page<ListedRow<number, Version>> | undefined>
  /** What the changes touch. Null: too much, so it is cheaper to read the list again. */
  touched(changes: readonly Change[]): Candidates | null
  /**
   * The candidates and the known rows that are listed, in order, not behind `upTo`, at most `limit`. Absent: rows enter the list without a
   * change, so it is read again.
   */
  places?(
    reader: Reader,
    candidates: Candidates,
    known: readonly number[],
    upTo: string | null,
    limit: number,
  ): Promise<readonly ListedPlace[]>
  isTouched(candidates: Candidates, key: number): boolean
  row(reader: Reader, key: number): Promise<Row | undefined>
  /** Those whose parts have changed after a revision, without a revision of their own. */
  changedSince(reader: Reader, keys: readonly number[], after: Revision): Promise<ReadonlySet<number>>
  /** Whether the list of the past is what a subscriber had then. If not, a subscriber that resumes gets the whole list. */
  hasPast(reader: Reader): boolean
}

export interface ListUpdate<Row> {
  readonly cursor: Revision
  readonly isSnapshot: boolean
  readonly reset: 'CURSOR_EXPIRED' | null
  readonly rows: readonly (RowChange & { readonly row: Row })[]
  readonly removed: readonly number[]
  readonly hasNextPage: boolean
  /** What distinguishes updates with equal cursors: subscribers may have had different rows. */
  readonly difference: string
}

/** The first rows of the list, in order. JSON. */
export interface ListState {
  readonly rows: readonly (readonly [key: number, version: Version])[]
  /** The place of the last row. Null: these are all rows. */
  readonly end: string | null
}

/** What a list was, what it is now, and which of its rows have changed without a revision of their own. */
interface Step {
  readonly before: ListState
  readonly memory: ListState
  isTouched(key: number): boolean
}

type Reaction<Row> = StateReaction<ListUpdate<Row>, ListState>

export function reactToList<Row, Candidates>(
  reads: ListReads<Row, Candidates>,
  first: number,
  after: Revision | null,
): React<ListUpdate<Row>, ListState> {
  /** One row more says whether rows follow. */
  const size = first + 1

  async function readFrom(
    reader: Reader,
    behind: string | null,
    rows: ListState['rows'],
    asOf: Revision | null = null,
  ): Promise<ListState> {
    const page = await reads.page(
      reader,
      { size: size - rows.length, after: behind, before: null, backward: false },
      asOf,
    )
    const edges = page?.edges ?? []
    const all = [...rows, ...edges.map(({ node }) => [node.key, node.revision] as const)]
    return { rows: all, end: all.length < size ? null : (edges.at(-1)?.cursor ?? null) }
  }

  async function readTouched(reader: Reader, { rows, end }: ListState, candidates: Candidates): Promise<ListState> {
    if (!reads.places) return readFrom(reader, null, [])
    const known = rows.map(([key]) => key)
    const places = await reads.places(reader, candidates, known, end, size)
    const present = places.map(({ key, revision }) => [key, revision] as const)
    if (present.length === size) return { rows: present, end: places.at(-1)?.cursor ?? null }
    return end === null ? { rows: present, end: null } : readFrom(reader, end, present)
  }

  async function begin(reader: Reader, event: WatchEvent): Promise<Reaction<Row>> {
    const present = await readFrom(reader, null, [])
    const former = after === null || after === oldestRetained ? null : await readFormer(reader, after)
    if (former === null || former === 'EXPIRED')
      return send(
        reader,
        event,
        { before: none, memory: present, isTouched: () => false },
        { isSnapshot: true, reset: former && 'CURSOR_EXPIRED' },
      )
    const isTouched = await partsChangedSince(reader, present, after ?? 0)
    return send(reader, event, { before: former, memory: present, isTouched }, { isSnapshot: false, reset: null })
  }

  /** Null: it cannot be known. */
  async function readFormer(reader: Reader, at: Revision): Promise<ListState | 'EXPIRED' | null> {
    try {
      await reader.retained(at)
      return reads.hasPast(reader) ? await readFrom(reader, null, [], at) : null
    } catch (error) {
      if (error instanceof DomainError && error.code === 'HISTORY_EXPIRED') return 'EXPIRED'
      throw error
    }
  }

  async function goOn(reader: Reader, event: WatchEvent, state: ListState, sentUpTo: Revision): Promise<Reaction<Row>> {
    const candidates = event.isComplete ? reads.touched(event.changes) : null
    const next = candidates ? await readTouched(reader, state, candidates) : await readFrom(reader, null, [])
    const isTouched = candidates
      ? (key: number): boolean => reads.isTouched(candidates, key)
      : await partsChangedSince(reader, next, sentUpTo)
    return send(reader, event, { before: state, memory: next, isTouched }, null)
  }

  async function partsChangedSince(
    reader: Reader,
    { rows }: ListState,
    revision: Revision,
  ): Promise<(key: number) => boolean> {
    const keys = rows.slice(0, first).map(([key]) => key)
    const changed = await reads.changedSince(reader, keys, revision)
    return (key) => changed.has(key)
  }

  /** `opening`: of the first update of a subscription, which is sent in any case. */
  async function send(
    reader: Reader,
    { cursor }: WatchEvent,
    { before, memory, isTouched }: Step,
    opening: Pick<ListUpdate<Row>, 'isSnapshot' | 'reset'> | null,
  ): Promise<Reaction<Row>> {
    const changed = difference(shown(before), shown(memory), isTouched)
    const hasNextPage = memory.rows.length > first
    const isSame = changed.rows.length + changed.removed.length === 0 && hasNextPage === before.rows.length > first
    if (isSame && !opening) return { skip: true, memory }
    const rows = await Promise.all(
      changed.rows.map(async (row) => ({ ...row, row: required(await reads.row(reader, row.key), 'row') })),
    )
    const { isSnapshot, reset } = opening ?? { isSnapshot: false, reset: null }
    const sent = { cursor, isSnapshot, reset, rows, removed: changed.removed, hasNextPage }
    return { send: { ...sent, difference: nameOf(opening, changed) }, memory, resumeFrom: cursor }
  }

  function shown({ rows }: ListState): ListedRow<number, Version>[] {
    return rows.slice(0, first).map(([key, revision]) => ({ key, revision }))
  }

  return (reader, event, { memory, sentUpTo }) =>
    memory === null ? begin(reader, event) : goOn(reader, event, memory, sentUpTo)
}

const none: ListState = { rows: [], end: null }

function nameOf(opening: object | null, { rows, removed }: Difference): string {
  return JSON.stringify([opening, rows.map(({ change, key, position }) => [change, key, position]), removed])
}
