/**
 * Keeps counts of deployments by facet (store/sql/facet-moves.ts) behind the writer: what they are at the cursor `facets`, and what they were before
 * each 1,000 entries of the log that changed them, from the cursor `facets-past` on. So a count at any of these revisions reads no deployments
 * (store/read/counts/facet-counts.ts). The first counts are counted once; the entries before them follow from the newest to the oldest.
 */
import { storableJson } from '../../../domain/text.ts'
import type { Revision } from '../../../domain/values.ts'
import { noLogHead } from '../../connection/failure.ts'
import type { Database, Session } from '../../database.ts'
import type { Projection } from '../../projection.ts'
import { totalFacets } from '../../read/counts/facet-totals.ts'
import { entryColumns, selectFacetMoves } from '../../sql/facet-moves.ts'
import { sumOfStates } from '../../sql/state-counters.ts'

export const facetsDuty = 'facets'
const pastFacetsDuty = 'facets-past'

/** Entries of one step. */
export const facetSpacing = 1_000

export interface FacetState {
  /** Null: nothing is counted. */
  readonly cursor: Revision | null
  readonly past: Revision | null
  /** Entries up to here are removed. */
  readonly oldest: Revision
  readonly deployments: number
  /** How many facets have counts. */
  readonly facets: number
}

export async function readFacetState(session: Session): Promise<FacetState> {
  await session.run(
    `insert into duties (name) values ('${facetsDuty}'), ('${pastFacetsDuty}') on conflict (name) do nothing`,
  )
  // A facet that no deployment has. Error codes with numbers in them would add up for ever.
  await session.run("delete from facet_counts where counts::text = '[]'")
  const [row] = await session.run<FacetState>(
    `select d.cursor, p.cursor as past, h.tail as oldest, ${sumOfStates('h')} as deployments,
       (select count(*)::int from facet_counts) as facets
     from log_head h cross join duties d cross join duties p
     where d.name = '${facetsDuty}' and p.name = '${pastFacetsDuty}'`,
  )
  if (!row) throw noLogHead()
  return row
}

/** Rows that a statement removes. */
const removed = 20_000

/** Removes all counts. The cursors first: a snapshot without them uses no counts, and one that has them has all counts. */
export async function clearFacets(session: Session): Promise<void> {
  await session.run(`update duties set cursor = null where name in ('${facetsDuty}', '${pastFacetsDuty}')`)
  for (const table of ['facet_checkpoints', 'facet_counts'])
    for (let rows = [{}]; rows.length > 0; )
      rows = await session.run(
        `delete from ${table} where ctid = any (array(select ctid from ${table} limit ${removed})) returning 1`,
      )
}

const tallies = `json_agg(json_build_object('state', state, 'convergence', convergence, 'n', n))`
const talliesLeft = `coalesce(${tallies} filter (where n <> 0), '[]')`
const tallied = (counts: string): string =>
  `json_to_recordset(${counts}) as had(state deployment_state, convergence convergence, n int)`

/** Counts all deployments. False: they have more than `most` facets. */
export async function beginFacets(database: Database, most: number): Promise<boolean> {
  const { session } = database
  const snapshot = await database.snapshot(undefined, 'primary')
  const read = async () => ({ totals: await totalFacets(snapshot, most), revision: (await snapshot.head).revision })
  // The embedded database has one connection: it writes after the snapshot is closed.
  const { totals, revision } = await read().finally(() => snapshot.close())
  if (totals === null) return false
  await clearFacets(session)
  const rows = [...totals].map(([facet, places]) => ({
    facet,
    counts: [...places].map(([place, n]) => {
      const [state, convergence] = place.split('/')
      return { state, convergence, n }
    }),
  }))
  await session.run(
    `with begun as (
       update duties set cursor = $2::bigint where name in ('${facetsDuty}', '${pastFacetsDuty}') and cursor is null returning name
     ), boundary as (
       insert into facet_checkpoints (facet, revision, counts) select '', $2::bigint, '[]' from begun where name = '${facetsDuty}'
     )
     insert into facet_counts (facet, counts)
     select facet, counts from json_to_recordset($1::text::json) as total(facet text, counts json) where exists (select from begun)`,
    [storableJson(rows), revision],
  )
  return true
}

/** The next 1,000 entries. */
export const facetsProjection: Projection = {
  name: facetsDuty,
  version: 1,
  tables: ['facet_checkpoints', 'facet_counts'],
  reads: 'entries',
  columns: entryColumns,
  most: { postgres: facetSpacing, pglite: facetSpacing },
  inBlocks: true,
  isCountedFirst: true,
  write: `moves as materialized (
      select * from (${selectFacetMoves}) moves
    ), moved as (
      select f.facet, coalesce(c.counts, '[]') as counts from (select distinct facet from moves) f left join facet_counts c using (facet)
    ), written as (
      insert into facet_checkpoints (facet, revision, counts)
      select facet, revision, counts from read cross join moved union all select '', revision, '[]' from read where is_full
    ), summed as (
      select facet, state, convergence, sum(n)::int as n from (
        select * from moves union all select moved.facet, had.* from moved cross join lateral ${tallied('moved.counts')}) parts
      group by 1, 2, 3
    ), counted as (
      insert into facet_counts (facet, counts)
      select facet, ${talliesLeft} from summed group by facet
      on conflict (facet) do update set counts = excluded.counts
    )`,
}

/**
 * Counts the 1,000 entries before those that are counted, after `oldest`, and returns where they begin. Null: there are none, or another replica has
 * counted them. The entries are found without their lower bound: with both, a planner without statistics expects few, and sorts them all.
 */
export async function countPrevious(
  session: Session,
  past: Revision,
  oldest: Revision,
  entries: number = facetSpacing,
): Promise<Revision | null> {
  const [moved] = await session.run<{ cursor: Revision }>(
    `with turn as (
       select from duties where name = '${pastFacetsDuty}' and cursor = $1::bigint for update
     ), read as materialized (
       select l.* from turn cross join lateral (
         select first_revision, last_revision, ${entryColumns} from change_log
         where first_revision <= $1::bigint order by first_revision desc limit $3::int + 1) l
       where first_revision > $2::bigint
     ), block as (
       select coalesce((select last_revision from read order by first_revision desc offset $3::int limit 1), $2::bigint) as start
       where $1::bigint > $2::bigint and exists (select from turn)
     ), entries as (
       select read.* from block join read on read.first_revision > block.start
     ), moves as materialized (
       select * from (${selectFacetMoves}) moves
     ), known as (
       select f.facet, coalesce(later.counts, c.counts, '[]') as counts from (select distinct facet from moves) f
       left join facet_counts c using (facet)
       left join lateral (
         select p.counts from facet_checkpoints p where p.facet = f.facet and p.revision > $1::bigint order by p.revision limit 1) later on true
     ), summed as (
       select facet, state, convergence, sum(n)::int as n from (
         select facet, state, convergence, -n as n from moves
         union all select known.facet, had.* from known cross join lateral ${tallied('known.counts')}) parts
       group by 1, 2, 3
     ), written as (
       insert into facet_checkpoints (facet, revision, counts)
       select facet, $1::bigint, ${talliesLeft} from summed group by facet union all select '', start, '[]' from block
     )
     update duties set cursor = (select start from block) where name = '${pastFacetsDuty}' and exists (select from block) returning cursor`,
    [past, oldest, entries],
  )
  return moved?.cursor ?? null
}
