/** Leases of replicas for what only one of them should do at a time: single statements outside the writer's transactions. */
import { storableJson } from '../domain/text.ts'
import type { Millis } from '../domain/values.ts'
import type { Session } from './database.ts'
import { iso } from './sql/record-set.ts'

/**
 * The latest time until which a lease can be held now, with all differences between readings of the clock. A lease with a later end was taken before
 * the database's clock went back. It counts as ended, because its holder would have renewed it.
 */
export function latestEnd(now: Millis, term: Millis): Millis {
  return now + 2 * term
}

/**
 * Takes or renews a lease. Null: another replica holds it. Otherwise the time since which it has been held without a gap. A gap shorter than
 * `grace` between two holders does not count, because replicas without the lease listen, too.
 */
export async function holdLease(
  session: Session,
  lease: {
    readonly name: string
    readonly holder: string
    readonly now: Millis
    readonly term: Millis
    readonly grace: Millis
  },
): Promise<Millis | null> {
  const { name, holder, now, term, grace } = lease
  const [row] = await session.run<{ since: Millis }>(
    `insert into leases as l (name, holder, until, since) values ($1, $2, $3::timestamptz, $4::timestamptz)
     on conflict (name) do update set holder = excluded.holder, until = excluded.until,
       since = case when l.until between $5::timestamptz and $6::timestamptz then l.since else excluded.since end
     where l.holder = excluded.holder or l.until < $4::timestamptz or l.until > $6::timestamptz
     returning since`,
    [name, holder, iso(now + term), iso(now), iso(now - grace), iso(latestEnd(now, term))],
  )
  return row?.since ?? null
}

/** Takes or renews leases in one statement. Returns the names that this holder has until `now + term`. */
export async function holdLeases(
  session: Session,
  {
    names,
    holder,
    now,
    term,
  }: { readonly names: readonly string[]; readonly holder: string; readonly now: Millis; readonly term: Millis },
): Promise<Set<string>> {
  // All replicas lock rows in the same order, so they cannot deadlock.
  const rows = await session.run<{ name: string }>(
    `insert into leases as l (name, holder, until, since)
     select name, $2::text, $3::timestamptz, $4::timestamptz
     from json_array_elements_text($1::text::json) as wanted(name) order by name
     on conflict (name) do update set holder = excluded.holder, until = excluded.until,
       since = case when l.holder = excluded.holder then l.since else excluded.since end
     where l.holder = excluded.holder or l.until < $4::timestamptz or l.until > $5::timestamptz
     returning name`,
    [storableJson(names), holder, iso(now + term), iso(now), iso(latestEnd(now, term))],
  )
  return new Set(rows.map(({ name }) => name))
}

/** Releases leases, so that other replicas need not wait until they expire. */
export async function releaseLeases(session: Session, names: readonly string[], holder: string): Promise<void> {
  await session.run(
    `delete from leases where holder = $2::text and name in (select json_array_elements_text($1::text::json))`,
    [storableJson(names), holder],
  )
}

/** Holders of leases whose names begin with `prefix`. Removes leases that have expired: each server has a name of its own. */
export async function countLeaseHolders(session: Session, prefix: string, now: Millis): Promise<number> {
  const [row] = await session.run<{ n: number }>(
    `with gone as (delete from leases where starts_with(name, $1) and until < $2::timestamptz)
     select count(distinct holder)::int as n from leases where starts_with(name, $1) and until >= $2::timestamptz`,
    [prefix, iso(now)],
  )
  return row?.n ?? 0
}
