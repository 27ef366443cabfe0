/** Reads the log in order, one window of revisions per statement. So no statement grows with the log, and no query reads all of it. */
import { type SQL, sql } from 'drizzle-orm'
import { DomainError } from '../../../domain/errors.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all } from '../../sql/parameters.ts'
import { changeLog } from '../../tables/schema.ts'
import { firstEntry, type Range } from './rows.ts'

export interface ScanLimits {
  /** Revisions per statement. */
  readonly span: number
  /** Statements per query. */
  readonly windows: number
  /** Milliseconds per query. The statement that exceeds it is the last. */
  readonly budget: number
}

/**
 * A query that has not found enough within its budget is refused and names the revision to continue from. An index of entries by what they
 * are about was rejected: it costs each report an insertion for each kind, state and component.
 */
export const scanLimits: ScanLimits = { span: 20_000, windows: 100, budget: 1_000 }

export interface Edges {
  readonly edge_low: Revision | null
  readonly edge_high: Revision | null
}

/** The parts of a window's statement: `select edge_low, edge_high, … from ${edge} left join …`. */
export interface Window {
  readonly edge: SQL
  readonly low: SQL
  readonly high: SQL
  readonly isFirst: boolean
}

/** Yields the rows of each window. The caller stops when it has enough. */
export async function* scanWindows<Row extends object>(
  session: Session,
  range: Range,
  reversed: boolean,
  limits: ScanLimits,
  read: (window: Window) => SQL,
): AsyncGenerator<readonly (Row & Edges)[]> {
  const { span, windows, budget } = limits
  const began = performance.now()
  let last = 0
  const bounds = [
    ...(range.from === null ? [] : [sql`${changeLog.firstRevision} >= ${firstEntry(range.from)}`]),
    ...(range.to === null ? [] : [sql`${changeLog.firstRevision} <= ${range.to}::bigint`]),
  ]
  let position: SQL = sql`true`
  for (let count = 0; count < windows; count += 1) {
    const edge = sql`(select min(${changeLog.firstRevision}) as edge_low, max(${changeLog.firstRevision}) as edge_high
      from ${changeLog} where ${all([...bounds, position])}) as edge`
    const rows = await session.rows<Row & Edges>(
      read({
        edge,
        low: reversed ? sql`edge_high - ${span}::bigint` : sql`edge_low`,
        high: reversed ? sql`edge_high` : sql`edge_low + ${span}::bigint`,
        isFirst: count === 0,
      }),
    )
    yield rows
    const { edge_low: low = null, edge_high: high = null } = rows[0] ?? {}
    if (low === null || high === null || high - low <= span) return
    last = reversed ? high - span : low + span
    position = reversed
      ? sql`${changeLog.firstRevision} < ${high - span}::bigint`
      : sql`${changeLog.firstRevision} > ${low + span}::bigint`
    if (performance.now() - began > budget) break
  }
  const next = await (reversed ? firstFrom(session, last) : last)
  throw new DomainError(
    'BAD_USER_INPUT',
    `this filter matches so rarely that too many changes would have to be read: name deploymentIds, deviceIds or rolloutIds, or continue with ${reversed ? 'before' : 'after'}: "${next}"`,
    { facts: { [reversed ? 'continueBefore' : 'continueAfter']: String(next) } },
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
