/** The state of the background duties, for all servers: how far they have read the log, and how they go. One server performs a duty, and each shows them. */
import type { Millis, Revision } from '../domain/values.ts'
import type { Session } from './database.ts'
import { iso } from './sql/record-set.ts'

export interface DutyState {
  readonly name: string
  /** Null: not yet. */
  readonly succeededAt: Millis | null
  readonly failures: number
  /** Of the last round. */
  readonly seconds: number
  /** Everything up to this revision has been read. Null: the duty reads no log. */
  readonly cursor: Revision | null
}

interface DutyRound {
  readonly name: string
  readonly at: Millis
  readonly seconds: number
  readonly isFine: boolean
  /** Up to where it has read the log. It never goes back: a server that was paused may note an older one late. Absent or null: as before. */
  readonly cursor?: Revision | null
}

export function listDuties(session: Session): Promise<DutyState[]> {
  return session.run(
    'select name, succeeded_at as "succeededAt", failures, seconds, cursor from duties where attempted_at is not null order by name',
  )
}

/** Seconds since a duty was done; null: it never was. */
export function ageOf(succeededAt: Millis | null, now: Millis): number | null {
  return succeededAt === null ? null : Math.max(Math.round((now - succeededAt) / 1_000), 0)
}

/** Null: it has read nothing yet. */
export async function readCursor(session: Session, name: string): Promise<Revision | null> {
  const [row] = await session.run<{ cursor: Revision | null }>('select cursor from duties where name = $1', [name])
  return row?.cursor ?? null
}

export async function noteDuty(
  session: Session,
  { name, at, seconds, isFine, cursor = null }: DutyRound,
): Promise<void> {
  await session.run(
    `insert into duties as d (name, cursor, attempted_at, succeeded_at, failures, seconds)
     values ($1, $5::bigint, $2::timestamptz, case when $3::boolean then $2::timestamptz end, case when $3::boolean then 0 else 1 end, $4::float8)
     on conflict (name) do update set cursor = greatest(excluded.cursor, d.cursor), attempted_at = excluded.attempted_at, seconds = excluded.seconds,
       succeeded_at = coalesce(excluded.succeeded_at, d.succeeded_at), failures = case when $3::boolean then 0 else d.failures + 1 end`,
    [name, iso(at), isFine, seconds, cursor],
  )
}
