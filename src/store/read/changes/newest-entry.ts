/**
 * Finds the newest entry of an epoch up to a time, because times never decrease within an epoch. An index of times was rejected: every report would
 * pay for it. Summaries of the log have the time of each thousandth entry, an index of that, and the times of samples between them. Behind the last
 * summary, bisection takes one look-up for each doubling of the revisions, up to a few that it reads at once.
 */
import { type SQL, sql } from 'drizzle-orm'
import { changeLog, changeSummaries } from '../../tables/schema.ts'

/** Revisions of the last step: their entries lie on a few pages, which cost less than the look-ups that would divide them further. */
const few = 64

/**
 * `(select …) as found(revision)`: the last revision of the newest entry before a time (`<`) or up to it (`<=`), or null. The entries that begin after
 * `base`, up to `ended`, are searched.
 */
export function newestEntry(base: SQL, ended: SQL, order: '<' | '<=', time: SQL): SQL {
  const isOld = (at: SQL): SQL => sql`${at} ${sql.raw(order)} ${time}`
  const isEntryOld = isOld(sql`entry.at`)
  const { lastAt, lastRevision, sampleRevisions, sampleTimes } = changeSummaries
  const inEpoch = sql`${lastRevision} > ${base}::bigint and ${lastRevision} <= ${ended}::bigint`
  const older = sql`select ${lastRevision} from ${changeSummaries} where ${isOld(sql`${lastAt}`)} and ${inEpoch} order by ${lastAt} desc, ${lastRevision} desc limit 1`
  const newer = sql`select ${lastRevision} as revision, ${sampleRevisions} as revisions, ${sampleTimes} as times from ${changeSummaries}
    where ${lastAt} ${sql.raw(order === '<' ? '>=' : '>')} ${time} and ${inEpoch} order by ${lastAt}, ${lastRevision} limit 1`
  const isSampleOld = isOld(sql`sample.at`)
  const sampled = sql`select max(revision) filter (where ${isSampleOld}) as low, min(revision) filter (where not ${isSampleOld}) as high
    from unnest(newer.revisions, newer.times) as sample(revision, at) where revision > ${base}::bigint`
  // Everything up to `low` is old, nothing after `high` is. The middle belongs to the upper half, so each step makes the range smaller.
  return sql`(with recursive probe (low, high, revision) as (
      select coalesce(sampled.low, older.revision, ${base}::bigint), coalesce(sampled.high, newer.revision, ${ended}::bigint), coalesce(sampled.low, older.revision)
      from (values (0)) as one left join lateral (${older}) as older(revision) on true left join lateral (${newer}) as newer on true
        left join lateral (${sampled}) as sampled on true
      union all
      select case when entry.at is null then middle.revision when ${isEntryOld} then greatest(entry.last, middle.revision) else low end,
        case when ${isEntryOld} is not false then high else entry.first - 1 end,
        case when ${isEntryOld} then entry.last else probe.revision end
      from probe cross join lateral (select low + (high - low + 1) / 2 as revision) as middle
      left join lateral (
        select ${changeLog.firstRevision} as first, ${changeLog.lastRevision} as last, ${changeLog.at} as at from ${changeLog}
        where ${changeLog.firstRevision} > probe.low and ${changeLog.firstRevision} <= middle.revision
        order by ${changeLog.firstRevision} desc limit 1) as entry on true
      where high - low > ${sql.raw(String(few))})
    select coalesce(
      (select ${changeLog.lastRevision} from ${changeLog}
        where ${changeLog.firstRevision} > probe.low and ${changeLog.firstRevision} <= probe.high and ${isOld(sql`${changeLog.at}`)}
        order by ${changeLog.firstRevision} desc limit 1), probe.revision)
    from probe order by probe.high - probe.low limit 1) as found(revision)`
}
