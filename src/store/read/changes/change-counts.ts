/** Counts the changes that a filter matches. A count that would have to read too many entries is refused (scan.ts). */
import { type SQL, sql } from 'drizzle-orm'
import { type ChangeFilter, subjectsOf } from '../../../domain/nouns/change.ts'
import type { Revision } from '../../../domain/values.ts'
import { readRange } from '../../connection/log-head.ts'
import type { Session } from '../../database.ts'
import { presentFields } from '../../sql/conditions.ts'
import { beginsWithin, type ChangeStretch, matchesChangeRow, selectChanges } from './rows.ts'
import { type ScanLimits, scanLimits, scanWindows, tooMany } from './scan.ts'
import {
  type ChangeScope,
  entriesOfRollouts,
  fromParents,
  hasAtMost,
  parentsOf,
  selectOfParent,
  waysOf,
} from './scope.ts'
import { entriesToRead } from './summaries.ts'
import { earlier, everAndAlways, rangeOfTimes } from './time-range.ts'

/** Zero-filled. */
export async function countChanges(
  session: Session,
  scope: ChangeScope,
  filter: ChangeFilter,
  until: Revision | null,
  limits: ScanLimits = scanLimits,
): Promise<Map<number, number>> {
  if (!session.accessScope && scope.of === 'fleet' && presentFields(filter).length === 0)
    return new Map([[0, await countAll(session, until)]])
  const way = await waysOf(session, scope, filter, limits)
  const named = scope.of === 'fleet' ? subjectsOf(filter)?.rolloutKeys : undefined
  const isOfRollouts = scope.of === 'rollout' || named !== undefined
  const times = way === 'scan' || isOfRollouts ? await rangeOfTimes(session, filter) : everAndAlways
  const timed: ChangeStretch = { from: times.from, to: earlier(until, times.to), reversed: false, limit: null }
  if (way === 'scan') return new Map([[0, await countByScan(session, filter, timed, limits)]])
  if (named && (await entriesOfRollouts(session, named, limits.counted + 1, timed)) > limits.counted) {
    const areFew =
      way === 'parts' && (await entriesToRead(session, filter, timed, limits.counted + 1)) <= limits.counted
    if (!areFew) throw tooMany(limits.counted)
  }
  return countByParent(session, scope, selectOfParent(session, scope, filter, timed, way === 'parts'), timed, limits)
}

async function countByParent(
  session: Session,
  scope: ChangeScope,
  changes: SQL,
  timed: ChangeStretch,
  limits: ScanLimits,
): Promise<Map<number, number>> {
  // Each rollout of a list is counted by itself, so a page of them is not refused for their sum.
  const isCounted = scope.of === 'rollout' ? hasAtMost(limits.counted, sql`select parent.key as key`, timed) : sql`true`
  const rows = await session.rows<{ parent: number; n: number | null }>(
    sql`select parent.key as parent, case when ${isCounted} then (select count(*)::int from (${changes}) as change) end as n
      from ${fromParents(scope)}`,
  )
  if (rows.some(({ n }) => n === null)) throw tooMany(limits.counted)
  const counts = new Map(rows.map(({ parent, n }) => [parent, n]))
  return new Map(parentsOf(scope).map(({ key }) => [key, counts.get(key) ?? 0]))
}

async function countByScan(
  session: Session,
  filter: ChangeFilter,
  timed: ChangeStretch,
  limits: ScanLimits,
): Promise<number> {
  if ((await entriesToRead(session, filter, timed, limits.counted + 1)) > limits.counted) throw tooMany(limits.counted)
  const unlimited = { ...limits, budget: Number.POSITIVE_INFINITY }
  const windows = scanWindows<{ n: number }>(session, filter, timed, false, unlimited, ({ edge, low, high }) => {
    const changes = selectChanges(timed, [beginsWithin(low, high), ...matchesChangeRow(session, filter)])
    return sql`select edge_low, edge_high, counted.n from ${edge}
      cross join lateral (select count(*)::int as n from (${changes}) as change) as counted`
  })
  let total = 0
  for await (const rows of windows) for (const { n } of rows) total += n
  return total
}

/** Revisions have no gaps within an epoch, so the bounds give the count. */
async function countAll(session: Session, until: Revision | null): Promise<number> {
  const { head, tail, epochs } = await readRange(session)
  const newest = Math.min(head.revision, until ?? head.revision)
  const inEpochs = epochs.map(({ base, ended }) => Math.min(ended ?? newest, newest) - Math.max(base, tail))
  return inEpochs.reduce((sum, count) => sum + Math.max(count, 0), 0)
}
