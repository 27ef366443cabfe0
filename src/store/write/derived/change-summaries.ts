/**
 * Summarises the log behind the writer: which kinds of changes, states, components and error codes each 1,000 entries have. Complete blocks only: a
 * row is written once, and readers scan the entries behind the cursor.
 */
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'

export const summarized = 'summaries'

/** Entries of one summary. */
export const summarySize = 1_000

/** Terms of one sort. Beyond it, only the letter is kept, and readers read the block whatever the value. */
const mostTerms = 200

/** Summarises the next $2 entries after the cursor $1. Nothing happens if there are fewer, or if another replica has moved the cursor. */
const summarize = `
  with turn as (
    select from duties where name = '${summarized}' and coalesce(cursor, 0) = $1::bigint for update
  ), entries as materialized (
    select l.* from turn cross join lateral (
      select first_revision, last_revision, changes from change_log where first_revision > $1::bigint order by first_revision limit $2::int) l
  ), terms as (
    select distinct left(term, 1) as sort, term collate "C" as term from entries cross join json_array_elements(changes) change
    cross join lateral (values ('k:' || (change->>'kind')), ('c:' || (change->>'component')), ('e:' || (change->'error'->>'code')),
      (case when change->>'kind' in ('DEPLOYMENT_STATE_CHANGED', 'COMPONENT_STATE_CHANGED') then 's:' || (change->>'to') end)) v (term)
    where term is not null
  ), sorts as (
    select case when count(*) > ${mostTerms} then array[sort || ':'] else array_agg(term order by term) end as terms from terms group by sort
  ), written as (
    insert into change_summaries (first_revision, last_revision, entries, terms)
    select min(first_revision), max(last_revision), count(*), array(select unnest(terms) from sorts) from entries having count(*) = $2::int
    on conflict (first_revision) do update set last_revision = excluded.last_revision, entries = excluded.entries, terms = excluded.terms
    returning last_revision
  )
  update duties set cursor = (select last_revision from written) where name = '${summarized}' and exists (select from written)
  returning cursor`

/** The cursor: the entries up to it are summarised. And the head of the log. */
export async function readSummarized(
  session: Session,
): Promise<{ readonly cursor: Revision; readonly head: Revision }> {
  await session.run(`insert into duties (name, cursor) values ('${summarized}', 0) on conflict (name) do nothing`)
  const [row] = await session.run<{ cursor: Revision; head: Revision }>(
    `select coalesce(d.cursor, 0) as cursor, h.revision as head from duties d cross join log_head h where d.name = '${summarized}'`,
  )
  return row ?? { cursor: 0, head: 0 }
}

/** The new cursor. Null: too few entries follow, or another replica has summarised them. */
export async function summarizeNext(
  session: Session,
  cursor: Revision,
  entries: number = summarySize,
): Promise<Revision | null> {
  const [row] = await session.run<{ cursor: Revision }>(summarize, [cursor, entries])
  return row?.cursor ?? null
}
