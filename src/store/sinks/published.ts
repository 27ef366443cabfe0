/** How far the log was published to a broker, and what exists to publish. The position is that of a duty, so its metrics and alerts apply. */
import type { Millis, Revision } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { iso } from '../sql/record-set.ts'

/** Null: nothing was published yet. */
export async function readPublished(session: Session, name: string): Promise<Revision | null> {
  const [row] = await session.run<{ cursor: Revision | null }>('select cursor from duties where name = $1', [name])
  return row?.cursor ?? null
}

/** `cursor` null: the round failed, and the position stays. It never goes back: a server that was paused may note an older one late. */
export async function notePublished(
  session: Session,
  round: { readonly name: string; readonly at: Millis; readonly seconds: number; readonly cursor: Revision | null },
): Promise<void> {
  await session.run(
    `insert into duties as d (name, cursor, attempted_at, succeeded_at, failures, seconds)
     values ($1, $3::bigint, $2::timestamptz, case when $3::bigint is not null then $2::timestamptz end, case when $3::bigint is null then 1 else 0 end, $4::float8)
     on conflict (name) do update set cursor = greatest(excluded.cursor, d.cursor), attempted_at = excluded.attempted_at,
       succeeded_at = coalesce(excluded.succeeded_at, d.succeeded_at), seconds = excluded.seconds,
       failures = case when excluded.cursor is null then d.failures + 1 else 0 end`,
    [round.name, iso(round.at), round.cursor, round.seconds],
  )
}

/** The next keys after `after`, ascending. Deployments that are not forgotten, or all rollouts. */
export async function keysAfter(
  session: Session,
  of: 'deployments' | 'rollouts',
  after: number,
  limit: number,
): Promise<number[]> {
  const rows = await session.run<{ key: number }>(
    of === 'deployments'
      ? 'select key from deployments where key > $1::bigint and forgotten_at is null order by key limit $2::int'
      : 'select key from rollouts where key > $1::bigint order by key limit $2::int',
    [after, limit],
  )
  return rows.map(({ key }) => key)
}
