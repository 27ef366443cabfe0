/** When rollouts were created, started, changed last and finished. The writer keeps it in their rows (ingest/unit-of-work/rollout-lives.ts). */
import { sql } from 'drizzle-orm'
import { kindsOfBothRollouts } from '../../../domain/change.ts'
import type { Counters } from '../../../domain/counters.ts'
import type { Millis, Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { asParents, isAnyOf } from '../../sql/parameters.ts'
import { toLife } from '../../sql/rows.ts'
import { changeLog } from '../../tables/schema.ts'

export interface Instant {
  readonly revision: Revision
  readonly at: Millis
}

/** Null: it has not come to that, or the reader does not see it. */
export interface RolloutLife {
  readonly created: Instant
  readonly started: Instant | null
  readonly changed: Instant | null
  readonly finished: Instant | null
}

/** A reader with labels sees only some deployments of a rollout, so it sees no times that others cause. */
export function seesWholeRollouts({ accessScope }: Pick<Session, 'accessScope'>): boolean {
  return !accessScope?.labels
}

export function lifeOf(
  reader: Pick<Session, 'accessScope'>,
  record: Parameters<typeof toLife>[0],
  counters: Counters,
): RolloutLife {
  const life = toLife(record)
  const created = { revision: life.createdRevision, at: life.createdAt }
  if (!seesWholeRollouts(reader)) return { created, started: null, changed: null, finished: null }
  const { pending, installing, removing } = counters
  return {
    created,
    started:
      life.startedRevision === null || life.startedAt === null
        ? null
        : { revision: life.startedRevision, at: life.startedAt },
    changed: { revision: life.changedRevision, at: life.changedAt },
    finished: pending + installing + removing > 0 ? null : { revision: life.activityRevision, at: life.activityAt },
  }
}

/** `changed` is absent: changedBefore reads it from the log. */
export function lifeAt(life: RolloutLife, asOf: Revision): RolloutLife {
  const then = (instant: Instant | null): Instant | null => (instant && instant.revision <= asOf ? instant : null)
  return {
    created: life.created,
    started: then(life.started),
    changed: then(life.changed),
    finished: then(life.finished),
  }
}

/** The last change of each rollout up to a revision. */
export async function changedBefore(
  session: Session,
  keys: readonly number[],
  asOf: Revision,
): Promise<Map<number, Instant>> {
  if (!seesWholeRollouts(session)) return new Map()
  const last = (column: typeof changeLog.rolloutKey | typeof changeLog.fromRolloutKey, entries: number) =>
    sql`(select * from ${changeLog} where ${column} = parent.key and ${changeLog.firstRevision} <= ${asOf}::bigint
      order by ${changeLog.firstRevision} desc limit ${sql.raw(String(entries))})`
  const own = sql`select least(last_revision, ${asOf}::bigint), at from ${last(changeLog.rolloutKey, 1)} as own`
  // Of the entry that spans the revision, all that describes the rollout may be later: then it is the entry before.
  const left = sql`select first_revision + body.ord - 1 as revision, at from ${last(changeLog.fromRolloutKey, 2)} as left_by
      cross join lateral json_array_elements(changes) with ordinality as body(change, ord)
      where ${isAnyOf(sql`body.change ->> 'kind'`, kindsOfBothRollouts, 'text')} and first_revision + body.ord - 1 <= ${asOf}::bigint`
  const rows = await session.rows<{ key: number; revision: Revision; at: Millis }>(
    sql`select parent.key, found.revision, found.at from ${asParents(keys)}
      cross join lateral (select * from (${left} union all ${own}) as either order by revision desc limit 1) as found`,
  )
  return new Map(rows.map(({ key, revision, at }) => [key, { revision, at }]))
}
