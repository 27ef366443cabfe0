/**
 * Keeps the inverted index of deployments (deployment_search) behind the writer: what a filter looks for seldom changes, but each report would pay
 * for it in the writer's transaction. Readers add the deployments that have changed since the cursor (store/read/filters/search-ranges.ts), so
 * an index that is late costs time, not exactness.
 */
import type { Projection } from '../../projection.ts'

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

/** A deployment whose entry would be the same is not written. */
export const searchProjection: Projection = {
  name: 'search',
  version: 1,
  tables: ['deployment_search'],
  reads: 'deployments',
  columns: '*',
  most: { postgres: 250, pglite: 100 },
  write: `made as (
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
  ), shown as (
    select key, terms, case when length(text) <= ${longest} then text end as text from made
  ), written as (
    insert into deployment_search as known (deployment_key, terms, text)
    select e.* from shown e left join lateral (
      select s.* from deployment_search s where s.deployment_key = e.key offset 0) s on true
    where s.deployment_key is null or (s.terms, s.text) is distinct from (e.terms, e.text)
    on conflict (deployment_key) do update set terms = excluded.terms, text = excluded.text
  ), gone as (
    delete from deployment_search where deployment_key = any (array(select key from changed where forgotten_at is not null))
  )`,
}
