/**
 * The past is the present unwound (counts have a cheaper way: deployment-counts.ts). As of a revision R:
 *
 *   a deployment with newest revision <= R has its present state
 *   any other has the state that its earliest entry after R ended (past_deployments; none: it did not exist)
 *   the one whose entry spans R (first <= R < last) is folded up to R; there is at most one
 *
 * So the cost depends on the deployments that changed since, not on the length of the log.
 */
import { type SQL, sql } from 'drizzle-orm'
import { roundDown } from '../../domain/access-scope.ts'
import { isCounted as isCountedImage } from '../../domain/counters.ts'
import type { DeploymentImage } from '../../domain/deployment.ts'
import type { Convergence } from '../../domain/desired.ts'
import { DomainError } from '../../domain/errors.ts'
import { imageAt } from '../../domain/fold.ts'
import { storableJson } from '../../domain/text.ts'
import type { DeploymentState, Millis, Revision } from '../../domain/values.ts'
import type { LogHead, Session, Snapshot } from '../database.ts'
import { badArgument, parseRevision } from '../sql/cursor.ts'
import { iso } from '../sql/record-set.ts'
import { fieldsBut, type RowOf, rowMapper } from '../sql/row-mapping.ts'
import { toImage, toImageRecord } from '../sql/rows.ts'
import { changeLog, epochs, logHead, pastDeployments } from '../tables/schema.ts'
import { newestEntry } from './changes/newest-entry.ts'
import { newestSeen } from './changes/newest-seen.ts'
import { timeOf } from './changes/recorded-at.ts'

/** The revision for `asOf` or `atRevision`. Null: the present. */
export async function resolvePast(
  snapshot: Snapshot,
  when: { readonly asOf: Millis | null; readonly atRevision: string | null },
): Promise<Revision | null> {
  const { asOf, atRevision } = when
  if (asOf !== null && atRevision !== null) throw badArgument('atRevision', 'cannot be combined with asOf')
  if (atRevision !== null) return requireRetained(snapshot, parseRevision(atRevision, 'atRevision'))
  return asOf === null ? null : newestAt(snapshot, asOf)
}

/** Returns the revision if all later changes are retained. Throws HISTORY_EXPIRED otherwise. */
export async function requireRetained(snapshot: Snapshot, revision: Revision): Promise<Revision> {
  const head = await snapshot.head
  const { epochBase, revision: newest, tail } = head
  if (revision >= Math.max(epochBase, tail) && revision <= newest) return revision
  if (revision > newest) throw expired(`${nameOf(revision)} does not exist yet: the newest one is ${newest}`, head)
  if (revision < tail) throw expired(ofOld(`revision ${revision}`, tail), head)
  const [epoch] = await snapshot.rows<{ ended: Revision | null }>(
    sql`select ${epochs.ended} from ${epochs} where ${epochs.base} <= ${revision}::bigint order by ${epochs.base} desc limit 1`,
  )
  if (!epoch || (epoch.ended !== null && revision > epoch.ended))
    throw expired(`revision ${revision} is in no epoch of this database`, head)
  return revision
}

/** A clamped number (parseRevision) is not the number that the caller sent. */
function nameOf(revision: Revision): string {
  return revision === Number.MAX_SAFE_INTEGER ? 'that revision' : `revision ${revision}`
}

async function newestAt(snapshot: Snapshot, asOf: Millis): Promise<Revision> {
  const [revision] = await revisionsAt(snapshot, [asOf])
  return revision ?? (await snapshot.head).revision
}

interface FoundMoment {
  readonly base: Revision | null
  readonly last_revision: Revision | null
}

/**
 * The newest revision at or before each time. Throws HISTORY_EXPIRED for a time before the retained history. A restricted reader gets a revision with the
 * same state of what it sees: its own newest one, or that of the rounded time (newest-seen.ts).
 */
export async function revisionsAt(snapshot: Snapshot, times: readonly Millis[]): Promise<Revision[]> {
  if (!snapshot.accessScope) return newestAtEach(snapshot, times)
  const { tailAt } = await snapshot.head
  const rounded = times.map((time) => Math.max(roundDown(time), tailAt))
  const found = await newestAtEach(snapshot, [...times, ...rounded])
  const last = found.slice(0, times.length)
  const first = found.slice(times.length).map((revision, index) => Math.min(revision, last[index] ?? revision))
  // No entry is searched for two times.
  const gaps = last.map((high, index) => {
    const [before = 0, low = 0] = [last[index - 1], first[index]]
    return { low: before <= high ? Math.max(before, low) : low, high }
  })
  const own = await newestSeen(snapshot, gaps)
  const shown: Revision[] = []
  for (const [index, { high }] of gaps.entries()) {
    const [before = 0, low = 0] = [last[index - 1], first[index]]
    const earlier = before <= high ? (shown[index - 1] ?? 0) : 0
    shown.push(own[index]?.revision ?? Math.max(earlier, low))
  }
  return shown
}

interface Moment {
  readonly revision: Revision
  readonly at: Millis
}

/** The newest change up to a revision, or of all. For a restricted reader: its own newest one, or the rounded time and what was the newest then. */
export async function newestMoment(snapshot: Snapshot, asOf: Revision | null): Promise<Moment> {
  const head = await snapshot.head
  const last = asOf === null ? head : { revision: asOf, at: await timeOf(snapshot, asOf) }
  if (!snapshot.accessScope) return last
  const at = Math.max(roundDown(last.at), Math.min(head.tailAt, last.at))
  const [revision = 0] = await newestAtEach(snapshot, [Math.max(at, head.tailAt)])
  const low = Math.min(revision, last.revision)
  const [own] = await newestSeen(snapshot, [{ low, high: last.revision }])
  return own ?? { revision: low, at }
}

async function newestAtEach(snapshot: Snapshot, times: readonly Millis[]): Promise<Revision[]> {
  const head = await snapshot.head
  const { revision, tail, tailAt, at } = head
  const expiredTime = times.find((time) => time < at && time < tailAt)
  if (expiredTime !== undefined) throw expired(ofOld(toTime(expiredTime), toTime(tailAt)), head)
  const asked = times.filter((time) => time < at)
  // Within an epoch `at` never decreases. After a clock that was ahead, a later epoch may begin at an earlier time.
  const found = await (asked.length === 0
    ? []
    : snapshot.rows<FoundMoment>(
        sql`select began.base, found.revision as last_revision
          from json_array_elements_text(${storableJson(asked.map((time) => iso(time)))}::text::json) with ordinality as asked(time, place)
          left join lateral (
            select ${epochs.base}, coalesce(${epochs.ended}, ${revision}::bigint) as ended
            from ${epochs} where ${epochs.beganAt} <= asked.time::timestamptz order by ${epochs.base} desc limit 1) as began on true
          left join lateral ${newestEntry(sql`began.base`, sql`began.ended`, '<=', sql`asked.time::timestamptz`)} on true
          order by asked.place`,
      ))
  // Summaries outlive the entries before the tail for a moment.
  const revisions = found.map(({ base, last_revision: newest }) => Math.max(newest ?? base ?? tail, tail))
  let next = 0
  return times.map((time) => (time < at ? (revisions[next++] ?? tail) : revision))
}

function ofOld(asked: string, oldest: Revision | string): string {
  return `${asked} is not part of the history that is kept, which begins at ${oldest}`
}

function toTime(time: Millis): string {
  return new Date(time).toISOString()
}

function expired(message: string, head: LogHead): DomainError {
  return new DomainError('HISTORY_EXPIRED', message, {
    facts: {
      oldestRevision: String(head.tail),
      oldestTime: toTime(head.tailAt),
      newestRevision: String(head.revision),
    },
  })
}

/** A past revision, with the state that SQL cannot compute. */
export interface Past {
  readonly revision: Revision
  readonly spanned: Spanned | null
  /** How far back it is. Each entry since has at least one revision. */
  readonly revisions: number
  /**
   * Which deployments that have changed since are read (filters/past-candidates.ts): those of a select of keys, or all. All are looked up one by one, or
   * come from a scan of the former states that have ended since.
   */
  readonly candidates: SQL | 'all' | 'scan'
}

/** The deployment whose entry spans the revision. */
export interface Spanned {
  readonly key: number
  /** As of that revision, by the columns of past_deployments. */
  readonly image: object | null
  /** The same, and what it is after the entry. Null: it did not exist. */
  readonly was: DeploymentImage | null
  readonly becomes: DeploymentImage | null
  /** What it counts as at that revision, and after the entry. Null: it is not counted. */
  readonly counted: Counted | null
  readonly countedAfter: Counted | null
}

export interface Counted {
  readonly rolloutKey: number
  readonly state: DeploymentState
  readonly convergence: Convergence
}

/** The last past of each session: an operation asks for the same revision many times. */
const opened = new WeakMap<Session, { readonly revision: Revision; readonly past: Promise<Past> }>()

export function openPast(session: Session, revision: Revision): Promise<Past> {
  const known = opened.get(session)
  if (known?.revision === revision) return known.past
  const past = findSpanned(session, revision)
  opened.set(session, { revision, past })
  return past
}

const toEntry = rowMapper(changeLog, fieldsBut(changeLog))

async function findSpanned(session: Session, revision: Revision): Promise<Past> {
  const [row] = await session.rows<
    { readonly head: Revision } & (RowOf<typeof changeLog> | { readonly last_revision: null })
  >(
    sql`select entry.*, ${logHead.revision} as head from ${logHead} left join lateral (
      select * from ${changeLog} where ${changeLog.firstRevision} <= ${revision}::bigint
      order by ${changeLog.firstRevision} desc limit 1) as entry on true`,
  )
  const nothing: Past = { revision, revisions: (row?.head ?? revision) - revision, spanned: null, candidates: 'all' }
  if (!row || row.last_revision === null || row.last_revision <= revision) return nothing
  const { deploymentKey: key, targetKey, rolloutKey, toState, toConvergence, ...entry } = toEntry(row)
  if (key === null || targetKey === null || rolloutKey === null || entry.resourceKey !== null) return nothing
  const [former] = await session.rows<RowOf<typeof pastDeployments>>(
    sql`select ${pastDeployments}.* from ${pastDeployments} where ${pastDeployments.until} = ${entry.firstRevision}::bigint`,
  )
  const at = (then: Revision) => imageAt(former ? toImage(former) : null, { ...entry, targetKey, rolloutKey }, then)
  const image = at(revision)
  const spanned: Spanned = {
    key,
    image: image && { ...toImageRecord(image), key, until: revision },
    was: image,
    becomes: at(entry.lastRevision),
    counted: image && isCountedImage(image) ? image : null,
    countedAfter: toState && toConvergence && { rolloutKey, state: toState, convergence: toConvergence },
  }
  return { ...nothing, spanned }
}
