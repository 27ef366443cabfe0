/**
 * Keeps the inverted index of deployments (deployment_search) behind the writer: what a filter looks for seldom changes, but each report would pay
 * for it in the writer's transaction. Readers add the deployments that have changed since the cursor (store/read/filters/search-range.ts), so
 * an index that is late costs time, not exactness.
 */
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'

export const indexed = 'search'

/** Characters of a deployment's text. A longer text, of many errors, is not indexed: each search reads its deployment. */
const longest = 4_000

const lowered = (value: string): string => `lower(${value})`
const errorText = (error: string): string => `${lowered(`${error}->>'code'`)}, ${lowered(`${error}->>'message'`)}`

/**
 * The names of the gateways above a target. The first report of a declared deployment may be its gateway's. If it changes nothing else, the
 * deployment has a new reporter without a revision, so its entry has these names before. A gateway that is set between is found at the next change.
 */
const gateways = `
  (with recursive above as (
    select t.parent_key as key, 1 as level
    union all select g.parent_key, above.level + 1 from above join targets g on g.key = above.key where above.level < 8
  ) select string_agg(lower(g.name), chr(10)) from above join targets g on g.key = above.key)`

/**
 * The next deployments by revision: each as it is now, however often it has changed. The indexes by revision are partial, so each has its part.
 * A deployment whose entry would be the same is not written. $1 the cursor, $2 deployments at most. Nothing happens if the cursor has moved: another
 * replica has read them.
 */
const index = `
  with turn as (
    select from duties where name = '${indexed}' and coalesce(cursor, 0) = $1::bigint for update
  ), changed as materialized (
    select d.* from turn cross join lateral (
      (select * from deployments where forgotten_at is null and revision > $1::bigint order by revision limit $2::int)
      union all (select * from deployments where forgotten_at is not null and revision > $1::bigint order by revision limit $2::int)
      order by revision limit $2::int) d
  ), made as (
    select d.key, array(
        select distinct term collate "C" from (
          select 'a:' || d.application union all select 'v:' || d.application_version
          union all select 'c:' || (part->>'name') from json_array_elements(d.components) part) terms (term)
        where term is not null order by 1) as terms,
      concat_ws(chr(10), ${['d.deployment_id', 'd.reporter', 'd.application', 't.name'].map(lowered).join()}, ${errorText('d.error')},
        case when not d.claimed then ${gateways} end,
        case when deployment_has_error(d.error, d.components) then (
          select string_agg(concat_ws(chr(10), ${errorText("(part->'error')")}), chr(10)) from json_array_elements(d.components) part) end) as text
    from changed d left join lateral (select name, parent_key from targets where key = d.target_key offset 0) t on true
    where d.forgotten_at is null
  ), entries as (
    select key, terms, case when length(text) <= ${longest} then text end as text from made
  ), written as (
    insert into deployment_search as known (deployment_key, terms, text)
    select e.* from entries e left join lateral (
      select s.* from deployment_search s where s.deployment_key = e.key offset 0) s on true
    where s.deployment_key is null or (s.terms, s.text) is distinct from (e.terms, e.text)
    on conflict (deployment_key) do update set terms = excluded.terms, text = excluded.text
  ), gone as (
    delete from deployment_search where deployment_key = any (array(select key from changed where forgotten_at is not null))
  )
  update duties set cursor = (select max(revision) from changed)
  where name = '${indexed}' and exists (select from changed)
  returning cursor, (select count(*)::int from changed) as deployments`

/** The cursor: the entries of deployments that have not changed since are current. */
export async function readIndexed(session: Session): Promise<Revision> {
  await session.run(`insert into duties (name, cursor) values ('${indexed}', 0) on conflict (name) do nothing`)
  const [row] = await session.run<{ cursor: Revision }>(
    `select coalesce(cursor, 0) as cursor from duties where name = '${indexed}'`,
  )
  return row?.cursor ?? 0
}

/** Indexes at most `limit` deployments that have changed after `cursor`. Null: there are none, or another replica has done it. */
export async function indexChanged(
  session: Session,
  cursor: Revision,
  limit: number,
): Promise<{ readonly cursor: Revision; readonly deployments: number } | null> {
  const [row] = await session.run<{ cursor: Revision; deployments: number }>(index, [cursor, limit])
  return row ?? null
}
