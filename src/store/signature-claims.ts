/** Claims on signed messages: single statements outside the writer's transactions, because the work may take several transactions. */
import type { Millis } from '../domain/values.ts'
import type { Session } from './database.ts'
import { iso } from './sql/record-set.ts'

/** A signed message. It is valid once, until that time. */
export interface Proof {
  readonly id: string
  readonly until: Millis
}

/** Claims messages and returns those that were neither executed nor claimed by another replica. One insert decides between replicas. */
export async function claimSignatures(
  session: Session,
  claims: readonly Proof[],
  seconds: number,
): Promise<Map<string, true>> {
  // Every server claims and spends signatures in this order (store/write/tokens.ts), so they cannot deadlock.
  const rows = await session.run<{ id: string }>(
    `insert into used_signatures as held (id, until, held_until)
     select id, until, now() + make_interval(secs => $3::int) from unnest($1::text[], $2::timestamptz[]) as x(id, until) order by id collate "C"
     on conflict (id) do update set held_until = excluded.held_until where held.held_until < now()
     returning id`,
    [`{${claims.map(({ id }) => id).join()}}`, `{${claims.map(({ until }) => iso(until)).join()}}`, seconds],
  )
  return new Map(rows.map(({ id }) => [id, true]))
}

/** Releases messages that were not executed, so that they can be sent again. An executed message stays used. */
export async function releaseSignature(session: Session, id: string): Promise<void> {
  await session.run('delete from used_signatures where id = $1 and held_until is not null', [id])
}
