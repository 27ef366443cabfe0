/**
 * Reads the log: for the feed's backlog, `changes` and every `history`. A history and a filter that names subjects use indexes. Any
 * other filter scans the changes in order (scan.ts).
 */
import { type SQL, sql } from 'drizzle-orm'
import type { Change } from '../../../domain/change.ts'
import type { ChangeFilter } from '../../../domain/nouns/change.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { parseRevision } from '../../sql/cursor.ts'
import type { Page, PageRequest } from '../../sql/order.ts'
import { toPage } from '../../sql/page.ts'
import { type ChangeRecord, type EntryRecord, toChange, toChanges } from '../../sql/rows.ts'
import { visibleChanges } from '../access-scope.ts'
import {
  beginsWithin,
  type ChangeStretch,
  matchesChangeRow,
  nameChanges,
  selectChanges,
  selectEntries,
} from './rows.ts'
import { isOverLimits, type ScanLimits, scanLimits, scanWindows } from './scan.ts'
import { type ChangeScope, fromParents, parentsOf, selectOfParent, waysOf } from './scope.ts'
import { earlier, everAndAlways, later, rangeOfTimes } from './time-range.ts'

interface PageColumns {
  readonly page_parent: number
  readonly page_behind: boolean
  readonly page_ahead: boolean
  readonly edge_low?: number
  readonly edge_high?: number
}
/** The columns of the change are null if the parent has none. */
type Found = PageColumns & (ChangeRecord | { readonly revision: null })

/** Ascending by revision. Cursors are revisions. `until`: only changes up to that revision. */
export async function pageChanges(
  session: Session,
  scope: ChangeScope,
  filter: ChangeFilter,
  page: PageRequest,
  until: Revision | null,
  limits: ScanLimits = scanLimits,
): Promise<Map<number, Page<Change>>> {
  const after = page.after === null ? null : parseRevision(page.after, 'after')
  const before = page.before === null ? null : parseRevision(page.before, 'before')
  const way = await waysOf(session, scope, filter, limits)
  const times = way !== 'subjects' ? await rangeOfTimes(session, filter) : everAndAlways
  const stretches: Stretches = {
    wanted: {
      from: later(after === null ? null : after + 1, times.from),
      to: earlier(before === null ? null : before - 1, earlier(until, times.to)),
      reversed: page.backward,
      limit: page.size + 1,
    },
    behind: after === null ? null : { from: null, to: earlier(after, until), reversed: true, limit: 1 },
    ahead: before === null ? null : { from: before, to: until, reversed: false, limit: 1 },
  }
  const rows =
    way === 'scan'
      ? await scanPage(session, filter, stretches, limits)
      : await session.rows<Found>(pageOfEach(session, scope, filter, stretches, way === 'parts'))
  const byParent = Map.groupBy(rows, (row) => row.page_parent)
  const visible = await visibleOf(session, rows)
  return new Map(
    parentsOf(scope).map(({ key }) => {
      const found = byParent.get(key) ?? []
      const changes = found.flatMap((row) => visible.get(row) ?? [])
      changes.sort((a, b) => (page.backward ? b.revision - a.revision : a.revision - b.revision))
      const beyond = { behind: found.some((row) => row.page_behind), ahead: found.some((row) => row.page_ahead) }
      return [key, toPage(changes, page, beyond, ({ revision }) => String(revision))]
    }),
  )
}

/** The change of each row as the reader sees it. */
async function visibleOf(session: Session, rows: readonly Found[]): Promise<Map<Found, Change>> {
  const found = rows.filter(isChange)
  const changes = found.map(({ page_parent, page_behind, page_ahead, edge_low, edge_high, ...row }) => toChange(row))
  const seen = await visibleChanges(session, changes)
  return new Map(found.flatMap((row, index) => (seen[index]?.change ? [[row, seen[index].change]] : [])))
}

interface Stretches {
  readonly wanted: ChangeStretch
  /** The nearest change on the other side of a given cursor. */
  readonly behind: ChangeStretch | null
  readonly ahead: ChangeStretch | null
}

function pageOfEach(
  reader: Session,
  scope: ChangeScope,
  filter: ChangeFilter,
  { wanted, behind, ahead }: Stretches,
  byParts: boolean,
): SQL {
  const select = (stretch: ChangeStretch): SQL => selectOfParent(reader, scope, filter, stretch, byParts)
  return nameChanges(
    sql`parent.key as page_parent, ${isThere(behind && select(behind))} as page_behind, ${isThere(ahead && select(ahead))} as page_ahead,
      change.revision, change.change`,
    sql`${fromParents(scope)} left join lateral (${select(wanted)}) as change on true`,
  )
}

/** The probes read only one window. If the next change is further away, they say that there is none, which Relay permits. */
async function scanPage(
  session: Session,
  filter: ChangeFilter,
  { wanted, behind, ahead }: Stretches,
  limits: ScanLimits,
): Promise<Found[]> {
  const conditions = matchesChangeRow(session, filter)
  const near = (stretch: ChangeStretch | null): SQL | null => {
    if (!stretch) return null
    const from = stretch.from ?? (stretch.to ?? 0) - limits.span
    return selectChanges({ ...stretch, from, to: earlier(stretch.to, from + limits.span) }, conditions)
  }
  const found: Found[] = []
  const windows = scanWindows<Found>(session, filter, wanted, wanted.reversed, limits, ({ edge, low, high, isFirst }) =>
    nameChanges(
      sql`edge_low, edge_high, 0::bigint as page_parent, ${isThere(isFirst ? near(behind) : null)} as page_behind,
        ${isThere(isFirst ? near(ahead) : null)} as page_ahead, change.revision, change.change`,
      sql`${edge} left join lateral (${selectChanges(wanted, [beginsWithin(low, high), ...conditions])}) as change on true`,
    ),
  )
  try {
    for await (const rows of windows) {
      found.push(...rows)
      if (found.filter(isChange).length >= (wanted.limit ?? Number.POSITIVE_INFINITY)) break
    }
  } catch (error) {
    // A short page, after which more may follow: a client that continued where the refusal says would miss its changes.
    if (!isOverLimits(error) || !found.some(isChange)) throw error
    return found.map((row) => ({ ...row, ...(wanted.reversed ? { page_behind: true } : { page_ahead: true }) }))
  }
  return found
}

/** `labels`: at the first entry of each target only. */
type LabelledRecord = Omit<EntryRecord, 'labels'> & { readonly labels: EntryRecord['labels'] | null }

/**
 * The changes of the next entries after `after`, ascending, up to `until`: of at most `limit` entries, and of fewer if they are large (parts.ts). More may
 * follow unless it is empty. Of an entry that contains a bound, only the changes within the bounds.
 */
export async function readLog(session: Session, after: Revision, limit: number, until?: Revision): Promise<Change[]> {
  const entries = sql`${selectEntries(after + 1, until ?? null, limit)} as change`
  const rows = await session.rows<LabelledRecord>(
    nameChanges(sql`change.first_revision as "firstRevision", change.changes`, entries, sql`change.labels`),
  )
  rows.sort((a, b) => a.firstRevision - b.firstRevision)
  const labelsOf = new Map(rows.flatMap(({ targetKey, labels }) => (labels === null ? [] : [[targetKey, labels]])))
  const entriesWithLabels = rows.map((row): EntryRecord => ({ ...row, labels: labelsOf.get(row.targetKey) ?? [] }))
  return entriesWithLabels
    .flatMap(toChanges)
    .filter(({ revision }) => revision > after && revision <= (until ?? revision))
}

function isThere(select: SQL | null): SQL {
  return select ? sql`exists (${select})` : sql`false`
}

function isChange<T extends Found>(row: T): row is T & ChangeRecord {
  return row.revision !== null
}
