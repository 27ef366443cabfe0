/** Who works on a signed message: single statements outside the writer's transactions, because the work may take several of those. */
import type { Millis } from '../domain/values.ts'
import type { Session } from './database.ts'
import { iso } from './sql/record-set.ts'

/** Those that are ours now: neither done, nor held by another. One insert decides, whichever replicas ask. */
export async function claimSignatures(
  session: Session,
  claims: readonly { readonly id: string; readonly until: Millis }[],
  seconds: number,
): Promise<Map<string, true>> {
  // In one order, so that two replicas wait for each other and never both.
  const rows = await session.run<{ id: string }>(
    `insert into used_signatures as held (id, until, held_until)
     select id, until, now() + make_interval(secs => $3::int) from unnest($1::text[], $2::timestamptz[]) as x(id, until) order by id
     on conflict (id) do update set held_until = excluded.held_until where held.held_until < now()
     returning id`,
    [`{${claims.map(({ id }) => id).join()}}`, `{${claims.map(({ until }) => iso(until)).join()}}`, seconds],
  )
  return new Map(rows.map(({ id }) => [id, true]))
}

/** It was not done: the same message may come again. One that is done stays so. */
export async function releaseSignature(session: Session, id: string): Promise<void> {
  await session.run('delete from used_signatures where id = $1 and held_until is not null', [id])
}
