/**
 * Summarises the log behind the writer: which kinds of changes, states, components and error codes each 1,000 entries have. Complete blocks only: a
 * row is written once, and readers scan the entries behind the cursor.
 */
import type { Projection } from '../../projection.ts'

/** Entries of one summary. */
const size = 1_000

/** The times of so many entries of a block are kept (store/read/changes/newest-entry.ts): the others lie between two of them. */
const samples = 32

/** Terms of one sort. Beyond it, only the letter is kept, and readers read the block whatever the value. */
const mostTerms = 200

/**
 * Devices of a rollout go through the same changes, so equal JSON is parsed once. A record set parses each change once, and only distinct facts
 * become terms.
 */
export const summariesProjection: Projection = {
  name: 'summaries',
  version: 1,
  tables: ['change_summaries'],
  reads: 'entries',
  columns: 'at, changes',
  most: { postgres: size, pglite: size },
  inBlocks: true,
  write: `facts as (
    select distinct kind, component, error->>'code' as code,
      case when kind in ('DEPLOYMENT_STATE_CHANGED', 'COMPONENT_STATE_CHANGED') then "to" end as state
    from (select distinct changes::text collate "C" as changes from entries) alike
      cross join json_to_recordset(changes::json) as change (kind text, component text, "to" text, error json)
  ), terms as (
    select distinct left(term, 1) as sort, term collate "C" as term
    from facts cross join lateral (values ('k:' || kind), ('c:' || component), ('e:' || code), ('s:' || state)) v (term)
    where term is not null
  ), sorts as (
    select case when count(*) > ${mostTerms} then array[sort || ':'] else array_agg(term order by term) end as terms from terms group by sort
  ), sampled as (
    select array_agg(last_revision order by n) as revisions, array_agg(at order by n) as times
    from (select *, row_number() over (order by first_revision) as n from entries) numbered where n % ($2::int / ${samples} + 1) = 0
  ), written as (
    insert into change_summaries (first_revision, last_revision, entries, terms, last_at, sample_revisions, sample_times)
    select min(first_revision), max(last_revision), count(*), array(select unnest(terms) from sorts),
      (select at from entries order by first_revision desc limit 1), (select revisions from sampled), (select times from sampled)
    from entries having count(*) > 0
    on conflict (first_revision) do update set last_revision = excluded.last_revision, entries = excluded.entries, terms = excluded.terms,
      last_at = excluded.last_at, sample_revisions = excluded.sample_revisions, sample_times = excluded.sample_times
  )`,
}
