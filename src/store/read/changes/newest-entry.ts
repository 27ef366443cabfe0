/**
 * Finds the newest entry of an epoch up to a time by bisection, because times never decrease within an epoch. An index of times was rejected:
 * every report would pay for it. A search takes one look-up for each doubling of the revisions, up to a few that it reads at once.
 */
import { type SQL, sql } from 'drizzle-orm'
import { changeLog } from '../../tables/schema.ts'

/** Revisions of the last step: their entries lie on a few pages, which cost less than the look-ups that would divide them further. */
const few = 64

/**
 * `(select …) as found(revision)`: the last revision of that entry, or null. The entries that begin after `base`, up to `ended`, are searched.
 * `isOld`: whether an entry of the column `at` is old enough, which holds for the first entries and not for the others.
 */
export function newestEntry(base: SQL, ended: SQL, isOld: (at: SQL) => SQL): SQL {
  // Everything up to `low` is old, nothing after `high` is. The middle belongs to the upper half, so each step makes the range smaller.
  return sql`(with recursive probe (low, high, revision) as (
      select ${base}::bigint, ${ended}::bigint, null::bigint
      union all
      select case when entry.at is null then middle.revision when ${isOld(sql`entry.at`)} then greatest(entry.last, middle.revision) else low end,
        case when ${isOld(sql`entry.at`)} is not false then high else entry.first - 1 end,
        case when ${isOld(sql`entry.at`)} then entry.last else probe.revision end
      from probe cross join lateral (select low + (high - low + 1) / 2 as revision) as middle
      left join lateral (
        select ${changeLog.firstRevision} as first, ${changeLog.lastRevision} as last, ${changeLog.at} as at from ${changeLog}
        where ${changeLog.firstRevision} > probe.low and ${changeLog.firstRevision} <= middle.revision
        order by ${changeLog.firstRevision} desc limit 1) as entry on true
      where high - low > ${sql.raw(String(few))})
    select coalesce(
      (select max(${changeLog.lastRevision}) from ${changeLog}
        where ${changeLog.firstRevision} > probe.low and ${changeLog.firstRevision} <= probe.high and ${isOld(sql`${changeLog.at}`)}), probe.revision)
    from probe order by probe.high - probe.low limit 1) as found(revision)`
}
