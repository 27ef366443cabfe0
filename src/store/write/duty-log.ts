/** Records the results of background duties, for all replicas (store/read/duties.ts). */
import type { Millis } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { iso } from '../sql/record-set.ts'

interface DutyRound {
  readonly name: string
  readonly at: Millis
  readonly seconds: number
  readonly isFine: boolean
}

export async function noteDuty(session: Session, { name, at, seconds, isFine }: DutyRound): Promise<void> {
  await session.run(
    `insert into duties as d (name, attempted_at, succeeded_at, failures, seconds)
     values ($1, $2::timestamptz, case when $3::boolean then $2::timestamptz end, case when $3::boolean then 0 else 1 end, $4::float8)
     on conflict (name) do update set attempted_at = excluded.attempted_at, seconds = excluded.seconds,
       succeeded_at = coalesce(excluded.succeeded_at, d.succeeded_at), failures = case when $3::boolean then 0 else d.failures + 1 end`,
    [name, iso(at), isFine, seconds],
  )
}
