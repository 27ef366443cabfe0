/**
 * The deployments that counted as certain values at a revision and have changed since. The first entry of each after the revision says so: what it
 * counted as before, and since when. Where these entries are looked for:
 *
 *   in one rollout   in an index of its entries
 *   in the fleet     in the blocks that ended something so old, as their summaries say (write/derived/change-summaries.ts). So states that deployments
 *                    soon leave cost what lies near the revision, and not what the log has since
 */
import { type SQL, sql } from 'drizzle-orm'
import type { Convergence } from '../../../domain/desired.ts'
import type { DeploymentState, Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { isAnyOf, listParameter } from '../../sql/parameters.ts'
import { changeSummaries, changeLog as l } from '../../tables/schema.ts'
import { summarizedTo } from './summaries.ts'

export type CountedAs =
  | { readonly by: 'state'; readonly values: readonly DeploymentState[] }
  | { readonly by: 'convergence'; readonly values: readonly Convergence[] }

/** Entries of a block that is read, at the least: a block is skipped only if it has none at all. */
const entriesOfBlock = 100

/** Their keys, and maybe that of the deployment whose entry spans the revision. Null: more than `most` entries would be read. */
export async function keysThatCounted(
  session: Session,
  revision: Revision,
  counted: CountedAs,
  rollouts: readonly number[] | undefined,
  most: number,
): Promise<readonly number[] | null> {
  const mostBlocks = Math.ceil(most / entriesOfBlock)
  const inRollouts =
    rollouts &&
    (await keysOf(session, revision, sql`select 0`, entriesOfRollouts(revision, counted, rollouts), 0, most))
  return (
    inRollouts ??
    keysOf(
      session,
      revision,
      blocksThatEnded(revision, counted, mostBlocks),
      entriesOfBlocks(counted),
      mostBlocks,
      most,
    )
  )
}

/** `blocks` and `entries`: selects of rows. The first revisions of entries may depend on a row `block`. */
async function keysOf(
  session: Session,
  after: Revision,
  blocks: SQL,
  entries: SQL,
  mostBlocks: number,
  most: number,
): Promise<readonly number[] | null> {
  const areBlocksFew = sql`(select count(*) from blocks) <= ${mostBlocks + 1}`
  const isFew = sql`${areBlocksFew} and (select count(*) from entries) <= ${most}`
  const [row] = await session.rows<{ readonly is_few: boolean; readonly keys: readonly number[] }>(
    sql`with blocks as materialized (${blocks}), entries as materialized (
        select entry.first_revision from blocks as block cross join lateral (${entries} offset 0) as entry where ${areBlocksFew} limit ${most + 1}
      )
      select ${isFew} as is_few, array_to_json(array(
        select ended.key from entries cross join lateral (
          select ${l.deploymentKey} as key, ${l.fromRevision} as was from ${l} where ${l.firstRevision} = entries.first_revision offset 0
        ) as ended where ${isFew} and ended.was <= ${after}::bigint)) as keys`,
  )
  return row?.is_few ? row.keys : null
}

/** The blocks whose summary allows for it, and what lies behind the last summary. */
function blocksThatEnded(after: Revision, { by, values }: CountedAs, most: number): SQL {
  const revision = sql`${after}::bigint`
  const isOld = sql`exists (select 1 from unnest(${listParameter(values, 'text')}) as value
    where (${changeSummaries.oldestBefore} -> ${by}::text ->> value)::bigint <= ${revision})`
  return sql`select greatest(${summarizedTo}, ${revision}) + 1 as first_revision, ${Number.MAX_SAFE_INTEGER}::bigint as last_revision
    union all (select greatest(${changeSummaries.firstRevision}, ${revision} + 1), ${changeSummaries.lastRevision} from ${changeSummaries}
      where ${changeSummaries.lastRevision} > ${revision} and ${isOld} limit ${most + 1})`
}

function entriesOfBlocks(counted: CountedAs): SQL {
  return sql`select ${l.firstRevision} from ${l}
    where ${l.firstRevision} >= block.first_revision and ${l.firstRevision} <= block.last_revision and ${isOne(counted)}`
}

/** Those that moved a deployment out of one of them, too. */
function entriesOfRollouts(after: Revision, counted: CountedAs, rollouts: readonly number[]): SQL {
  const [own, left] = [l.rolloutKey, l.fromRolloutKey].map(
    (key) =>
      sql`select ${l.firstRevision} from ${l} where ${isAnyOf(key, rollouts, 'bigint')} and ${l.firstRevision} > ${after}::bigint and ${isOne(counted)}`,
  )
  return sql`${own} union all ${left}`
}

function isOne({ by, values }: CountedAs): SQL {
  return by === 'state'
    ? isAnyOf(l.fromState, values, 'deployment_state')
    : isAnyOf(l.fromConvergence, values, 'convergence')
}
