/** Reads the log in order, one window of revisions per statement. So no statement grows with the log, and no query reads all of it. */
import { type SQL, sql } from 'drizzle-orm'
import { DomainError } from '../../../domain/errors.ts'
import type { ChangeFilter } from '../../../domain/nouns/change.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all } from '../../sql/parameters.ts'
import { changeLog } from '../../tables/schema.ts'
import { firstEntry, type Range } from './rows.ts'
import { type Part, partsOf } from './summaries.ts'

export interface ScanLimits {
  /** Revisions per statement. */
  readonly span: number
  /** Statements that a page reads at least, however long they take. */
  readonly windows: number
  /** Milliseconds per page. The statement that exceeds it is the last. */
  readonly budget: number
  /** Entries that a count reads. A count of more is refused before it reads them. */
  readonly counted: number
  /** Entries of the rollouts that a filter names. Of more, only those in blocks whose summary has what the filter asks for are read. */
  readonly ofRollouts: number
  /** Deployments with the IDs that a filter names. More are not looked up one by one. */
  readonly deployments: number
}

/**
 * A page that has not found enough within its budget is refused and names the revision to continue from. Parts of the log whose summary has nothing
 * that the filter asks for are skipped (summaries.ts).
 */
export const scanLimits: ScanLimits = {
  span: 5_000,
  windows: 4,
  budget: 100,
  counted: 60_000,
  ofRollouts: 10_000,
  deployments: 10_000,
}

interface Edges {
  readonly edge_low: Revision | null
  readonly edge_high: Revision | null
}

/** The parts of a window's statement: `select edge_low, edge_high, … from ${edge} left join …`. */
interface Window {
  readonly edge: SQL
  readonly low: SQL
  readonly high: SQL
  readonly isFirst: boolean
}

/** Yields the rows of each window. The caller stops when it has enough. */
export async function* scanWindows<Row extends object>(
  session: Session,
  filter: ChangeFilter,
  range: Range,
  reversed: boolean,
  { span, windows, budget }: Pick<ScanLimits, 'span' | 'windows' | 'budget'>,
  read: (window: Window) => SQL,
): AsyncGenerator<readonly (Row & Edges)[]> {
  const began = performance.now()
  const { parts, isCut } = await partsOf(session, filter, range, reversed)
  let last = 0
  let count = 0
  for (const [index, part] of parts.entries()) {
    // Nothing between two parts matches.
    if (index > 0) last = endBefore(part, reversed) ?? last
    for (let position: readonly SQL[] | null = []; position !== null; count += 1) {
      if (count >= windows && performance.now() - began > budget) throw await tooRare(session, last, reversed)
      const edge = sql`(select min(${changeLog.firstRevision}) as edge_low, max(${changeLog.firstRevision}) as edge_high
        from ${changeLog} where ${all([...boundsOf(range), ...within(part), ...position])}) as edge`
      const rows = await session.rows<Row & Edges>(
        read({
          edge,
          low: reversed ? sql`greatest(edge_high - ${span}::bigint, edge_low)` : sql`edge_low`,
          high: reversed ? sql`edge_high` : sql`least(edge_low + ${span}::bigint, edge_high)`,
          isFirst: count === 0,
        }),
      )
      yield rows
      const end = endOfWindow(rows[0], span, reversed)
      last = end ?? last
      position = end === null ? null : [beyond(end, reversed)]
    }
  }
  const end = parts.at(-1)
  if (isCut) throw await tooRare(session, (reversed ? end?.from : end?.to) ?? last, reversed)
}

/** The last revision before a part, in the order of reading. */
function endBefore({ from, to }: Part, reversed: boolean): Revision | null {
  if (reversed) return to === null ? null : to + 1
  return from === null ? null : from - 1
}

/** The last revision that a window has read. Null: it was the last window of its part. */
function endOfWindow(edges: Edges | undefined, span: number, reversed: boolean): Revision | null {
  const { edge_low: low = null, edge_high: high = null } = edges ?? {}
  if (low === null || high === null || high - low <= span) return null
  return reversed ? high - span : low + span
}

function beyond(revision: Revision, reversed: boolean): SQL {
  return reversed
    ? sql`${changeLog.firstRevision} < ${revision}::bigint`
    : sql`${changeLog.firstRevision} > ${revision}::bigint`
}

function boundsOf({ from, to }: Range): SQL[] {
  return [
    ...(from === null ? [] : [sql`${changeLog.firstRevision} >= ${firstEntry(from)}`]),
    ...(to === null ? [] : [sql`${changeLog.firstRevision} <= ${to}::bigint`]),
  ]
}

function within({ from, to }: Part): SQL[] {
  return [
    ...(from === null ? [] : [sql`${changeLog.firstRevision} >= ${from}::bigint`]),
    ...(to === null ? [] : [sql`${changeLog.firstRevision} <= ${to}::bigint`]),
  ]
}

async function tooRare(session: Session, last: Revision, reversed: boolean): Promise<DomainError> {
  const next = await (reversed ? firstFrom(session, last) : last)
  return new DomainError(
    'BAD_USER_INPUT',
    `this filter matches so rarely that too many changes would have to be read: name deploymentIds, deviceIds or rolloutIds, or continue with ${reversed ? 'before' : 'after'}: "${next}"`,
    { facts: { [reversed ? 'continueBefore' : 'continueAfter']: String(next) } },
  )
}

/** What a count throws instead of reading so many entries. */
export function tooMany(counted: number): DomainError {
  return new DomainError(
    'BAD_USER_INPUT',
    `more than ${counted} entries of the log would have to be read: name deploymentIds, deviceIds or rolloutIds, kinds or states that are rarer, or a shorter time`,
  )
}

export function isOverLimits(error: unknown): boolean {
  return error instanceof DomainError && ('continueAfter' in error.facts || 'continueBefore' in error.facts)
}

/** An entry that begins earlier may end after `revision`. */
async function firstFrom(session: Session, revision: Revision): Promise<Revision> {
  const [row] = await session.rows<{ first: Revision }>(
    sql`select min(${changeLog.firstRevision}) as first from ${changeLog} where ${changeLog.firstRevision} >= ${revision}::bigint`,
  )
  return row?.first ?? revision
}
