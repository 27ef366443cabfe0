/** The time that a device was in maintenance: durations, standstills and forecasts leave it out. */

/** Milliseconds, of the time between two expressions, whose columns are named with their tables. `target`: the key of the device. Where nothing was ever planned, nothing is looked up. */
export function maintained(target: string, from: string, to: string): string {
  return `case when (select exists (select from maintenance_periods)) then (
      select coalesce(sum(extract(epoch from least(coalesce(p.ended_at, ${to}), ${to}) - greatest(p.began_at, ${from}))), 0)::float8 * 1000
      from maintenance_periods p where p.target_key = ${target} and p.began_at < ${to} and (p.ended_at is null or p.ended_at > ${from}))
    else 0::float8 end`
}
