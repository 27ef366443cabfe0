/**
 * The parts of the log that may have changes that a filter selects: the blocks whose summary names what it asks for, and the entries behind the last
 * summary. A duty writes the summaries (store/write/derived/change-summaries.ts), so they cost a report nothing. A late one costs time, not exactness.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { ChangeCondition, ChangeFilter } from '../../../domain/nouns/change.ts'
import { leavesOf } from '../../../domain/selectors/selector.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { covered } from '../../projection.ts'
import { all } from '../../sql/parameters.ts'
import { changeLog, changeSummaries } from '../../tables/schema.ts'
import { summariesProjection } from '../../write/derived/change-summaries.ts'
import { hasTerm } from '../filters/search-ranges.ts'
import type { Range } from './rows.ts'

/** A range of first revisions of entries, both inclusive. Null: no bound. */
export type Part = Range

interface Parts {
  /** In the order of the scan. */
  readonly parts: readonly Part[]
  /** More parts follow. */
  readonly isCut: boolean
}

/** Blocks of one scan: more than it reads. */
const mostBlocks = 200

export const summarizedTo = sql.raw(covered(summariesProjection))

/** The conditions on a block that a filter's changes require. */
export function termsOf(filter: ChangeFilter): SQL[] {
  return leavesOf<ChangeCondition>(filter).flatMap(({ kinds, to, components, errorCodes }) => [
    ...(kinds ? [hasAny('k', kinds)] : []),
    ...(to ? [hasAny('s', to)] : []),
    ...(components ? [hasAny('c', components)] : []),
    ...(errorCodes ? [hasAny('e', errorCodes)] : []),
  ])
}

function hasAny(sort: 'k' | 's' | 'c' | 'e', values: readonly string[]): SQL {
  const terms = values.length === 0 ? [] : [`${sort}:`, ...values.map((value) => `${sort}:${value}`)]
  return hasTerm(changeSummaries.terms, terms)
}

function blocksWithin({ from, to }: Range): SQL[] {
  return [
    ...(from === null ? [] : [sql`${changeSummaries.lastRevision} >= ${from}::bigint`]),
    ...(to === null ? [] : [sql`${changeSummaries.firstRevision} <= ${to}::bigint`]),
  ]
}

/**
 * A select of the `first` and `last` revisions of the entries of each part, in the order of the scan, where another select reads the parts one by one.
 * Unlike partsOf(), which reads ahead, it is of any number of parts.
 */
export function selectParts(filter: ChangeFilter, range: Range, reversed: boolean): SQL {
  const direction = reversed ? sql`desc` : sql`asc`
  const last = sql`${Number.MAX_SAFE_INTEGER}::bigint`
  return sql`select part.first, part.last from (
      select ${changeSummaries.firstRevision} as first, ${changeSummaries.lastRevision} as last from ${changeSummaries}
        where ${all([...termsOf(filter), sql`${changeSummaries.lastRevision} <= ${summarizedTo}`, ...blocksWithin(range)])}
      union all select ${summarizedTo} + 1, ${last}) as part order by part.first ${direction}`
}

export async function partsOf(session: Session, filter: ChangeFilter, range: Range, reversed: boolean): Promise<Parts> {
  const terms = termsOf(filter)
  if (terms.length === 0) return { parts: [{ from: null, to: null }], isCut: false }
  const direction = reversed ? sql`desc` : sql`asc`
  const rows = await session.rows<{ cursor: Revision; first: Revision | null; last: Revision | null }>(
    sql`select known.cursor, block.first, block.last from (select ${summarizedTo} as cursor) as known left join lateral (
      select ${changeSummaries.firstRevision} as first, ${changeSummaries.lastRevision} as last from ${changeSummaries}
      where ${all([...terms, ...blocksWithin(range)])}
      order by ${changeSummaries.firstRevision} ${direction} limit ${mostBlocks}) as block on true
      order by block.first ${direction}`,
  )
  const blocks = rows.flatMap(({ first, last }) => (first === null || last === null ? [] : [{ first, last }]))
  const joined: { from: Revision; to: Revision }[] = []
  for (const { first, last } of reversed ? blocks.toReversed() : blocks) {
    const before = joined.at(-1)
    if (before && first <= before.to + 1) before.to = Math.max(before.to, last)
    else joined.push({ from: first, to: last })
  }
  const cursor = rows[0]?.cursor ?? 0
  const isCut = blocks.length === mostBlocks
  const hasMore = range.to === null || range.to > cursor
  const behind: readonly Part[] = hasMore || joined.length === 0 ? [{ from: cursor + 1, to: null }] : []
  if (reversed) return { parts: [...behind, ...joined.toReversed()], isCut }
  return { parts: isCut ? joined : [...joined, ...behind], isCut }
}

/** The entries that a count has to read: at most `most` of those behind the summaries, and whole blocks at both ends of the range. */
export async function entriesToRead(
  session: Session,
  filter: ChangeFilter,
  range: Range,
  most: number,
): Promise<number> {
  const isBehind = [
    sql`${changeLog.firstRevision} > greatest(${summarizedTo}, ${(range.from ?? 1) - 1}::bigint)`,
    ...(range.to === null ? [] : [sql`${changeLog.firstRevision} <= ${range.to}::bigint`]),
  ]
  const [row] = await session.rows<{ n: number }>(
    sql`select coalesce((select sum(${changeSummaries.entries}) from ${changeSummaries}
        where ${all([...termsOf(filter), ...blocksWithin(range)])}), 0)::float8
      + (select count(*) from (select 1 from ${changeLog} where ${all(isBehind)}
        order by ${changeLog.firstRevision} limit ${most}) as entry) as n`,
  )
  return row?.n ?? 0
}
