/**
 * Which deployments a filtered list or count in the past unwinds: those that an index says may have matched then, if they are few.
 *
 *   states and convergence   the log has what a deployment counted as before each entry, in indexes
 *   targets                  the deployments on them, and those that have left them since
 *
 * A condition without such an index, or with too many deployments, unwinds all that have changed since. The estimates are counts up to a limit,
 * as in deployment-source.ts.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all, isAnyOf } from '../../sql/parameters.ts'
import { deployments, changeLog as l } from '../../tables/schema.ts'
import { type DeploymentFilter, onTarget } from '../deployment-filter.ts'
import type { Scope } from '../deployment-scope.ts'
import { openPast, type Past } from '../past.ts'
import { conjuncts } from './choices.ts'
import { type SourceLimits, tooMuchChanged } from './deployment-source.ts'
import { countChangedSince } from './past-walk.ts'
import { targetsByIndex } from './target-filter.ts'

/** Deployments that are unwound one by one. With more, to read all in one pass costs less. */
const most = 10_000

/** `from …` of rows `entry`, and a select of the keys of their deployments. */
interface Choice {
  readonly entries: SQL
  readonly keys: SQL
}

/** The same past, with `candidates` if few deployments may have matched. */
export async function narrowPast(session: Session, past: Past, scope: Scope, filter: DeploymentFilter): Promise<Past> {
  const choices = [...choicesOf(past, scope, filter), ...choicesOfReader(session, past, scope)]
  if (choices.length === 0) return past
  const counts = choices.map(
    ({ entries }, index) =>
      sql`(select count(*)::int from (select 1 ${entries} limit ${most + 1}) as found) as ${sql.raw(`n${index}`)}`,
  )
  const [row] = await session.rows<Readonly<Record<string, number>>>(sql`select ${sql.join(counts, sql`, `)}`)
  const [best] = choices
    .map(({ keys }, index) => ({ keys, n: row?.[`n${index}`] ?? most + 1 }))
    .filter(({ n }) => n <= most)
    .sort((a, b) => a.n - b.n)
  return best ? { ...past, candidates: best.keys } : past
}

/** The same for what reads every row: a count, or groups. Throws BAD_USER_INPUT if that is too many to unwind. */
export async function narrowWhole(
  session: Session,
  revision: Revision,
  scope: Scope,
  filter: DeploymentFilter,
  { counted }: SourceLimits,
): Promise<Past> {
  const past = await narrowPast(session, await openPast(session, revision), scope, filter)
  if (past.candidates === null && (await countChangedSince(session, past, scope, filter, counted + 1)) > counted)
    throw tooMuchChanged(counted)
  return past
}

/** Other fields than these name their deployments, or are narrowed by deployment-scope.ts. */
function choicesOf(past: Past, scope: Scope, filter: DeploymentFilter): readonly Choice[] {
  const { keys, deploymentIds, reporters, deviceIds, instanceIds, retired, where } = filter
  if (scope.of === 'target' || scope.of === 'instance') return []
  if (keys || deploymentIds || reporters || deviceIds) return []
  const leaves = [filter, ...(where ? conjuncts(where) : [])]
  const rollouts = scope.of === 'rollout' ? scope.keys : filter.rolloutKeys
  // Deployments of replaced instances and closed ones do not count.
  const isCounted = past.isCounted && !instanceIds && !retired
  return leaves.flatMap((leaf) => [
    ...(isCounted && leaf.states
      ? [wasCounted(past, rollouts, isAnyOf(l.fromState, leaf.states, 'deployment_state'))]
      : []),
    ...(isCounted && leaf.convergence
      ? [wasCounted(past, rollouts, isAnyOf(l.fromConvergence, leaf.convergence, 'convergence'))]
      : []),
    ...(rollouts ? [] : targetsByIndex(onTarget, leaf).map(({ keys }) => wasOn(past, keys))),
  ])
}

/** Those on the targets that the reader sees. */
function choicesOfReader({ accessScope }: Session, past: Past, scope: Scope): readonly Choice[] {
  if (scope.of !== 'fleet' || !accessScope?.labels) return []
  return targetsByIndex(onTarget, { labels: accessScope.labels }).map(({ keys }) => wasOn(past, keys))
}

/** Index-only reads of the log find the entries, so that rows are read of few. */
function wasCounted({ revision }: Past, rollouts: readonly number[] | undefined, condition: SQL): Choice {
  const of = (which: SQL): SQL =>
    sql`select ${l.firstRevision} from ${l} where ${all([which, sql`${l.firstRevision} > ${revision}::bigint`, condition])}`
  const isOne = (column: SQLWrapper): SQL => isAnyOf(column, rollouts ?? [], 'bigint')
  const found = rollouts ? sql`${of(isOne(l.rolloutKey))} union all ${of(isOne(l.fromRolloutKey))}` : of(sql`true`)
  const entries = sql`from (${found} offset 0) as entry`
  return {
    entries,
    keys: sql`select subject.key ${entries} cross join lateral (
      select ${l.deploymentKey} as key from ${l} where ${l.firstRevision} = entry.first_revision offset 0) as subject`,
  }
}

function wasOn({ revision }: Past, targets: SQL): Choice {
  const entries = sql`from (${targets} offset 0) as place cross join lateral (
    select ${deployments.key} from ${deployments} where ${deployments.targetKey} = place.key and ${deployments.revision} > ${revision}::bigint
    union all select ${l.deploymentKey} from ${l} where ${l.fromTargetKey} = place.key and ${l.firstRevision} > ${revision}::bigint) as entry`
  return { entries, keys: sql`select entry.key ${entries}` }
}
