/**
 * Which deployments a filtered list or count in the past unwinds: those that an index says may have matched then, if they are few.
 *
 *   states and convergence   the log has what a deployment counted as before each entry (changes/stays.ts)
 *   targets                  the deployments on them, and those that have left them since
 *
 * A condition without such an index, or with too many deployments, unwinds all that have changed since. The estimates are counts up to a limit,
 * as in deployment-source.ts.
 */
import { type SQL, sql } from 'drizzle-orm'
import { leavesOf } from '../../../domain/selectors/selector.ts'
import { deploymentStates, type Revision } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { listParameter } from '../../sql/parameters.ts'
import { deployments, changeLog as l } from '../../tables/schema.ts'
import { type CountedAs, keysThatCounted } from '../changes/stays.ts'
import type { Scope } from '../deployment-scope.ts'
import { openPast, type Past } from '../past.ts'
import type { Run } from '../walks/past-changes.ts'
import { countChangedSince } from './changed-since.ts'
import { type DeploymentCondition, type DeploymentFilter, onTarget } from './deployment-filter.ts'
import { tooMuchChanged } from './deployment-source.ts'
import type { SourceLimits } from './source.ts'
import { targetsByIndex } from './target-filter.ts'

/** `from …` of rows `entry`, and a select of the keys of their deployments. */
interface Choice {
  readonly entries: SQL
  readonly keys: SQL
}

/** The same past, with `candidates` if few deployments may have matched. With more, to read all in one pass costs less. */
export async function narrowPast(
  session: Session,
  past: Past,
  scope: Scope,
  filter: DeploymentFilter,
  { candidates: most }: SourceLimits,
): Promise<Past> {
  const leaves = unnamedLeaves(scope, filter)
  const rollouts = rolloutsOf(scope, filter)
  const choices = [
    ...(rollouts ? [] : leaves.flatMap((leaf) => targetsByIndex(onTarget, leaf).map(({ keys }) => wasOn(past, keys)))),
    ...choicesOfReader(session, past, scope),
  ]
  const best = await fewest(session, choices, most)
  if (best) return { ...past, candidates: best }
  for (const counted of areCounted(filter) ? countedAs(scope, filter) : []) {
    const candidates = await thatCounted(session, past, rollouts, counted, most)
    if (candidates) return { ...past, candidates }
  }
  return past
}

/** A select of the keys of those that counted as one of some values then, and have changed since. Null: they are too many. */
async function thatCounted(
  session: Session,
  { revision }: Past,
  rollouts: readonly number[] | undefined,
  counted: CountedAs,
  most: number,
): Promise<SQL | null> {
  const keys = await keysThatCounted(session, revision, counted, rollouts, most)
  return keys && sql`select unnest(${listParameter(keys, 'bigint')})`
}

async function fewest(session: Session, choices: readonly Choice[], most: number): Promise<SQL | null> {
  if (choices.length === 0) return null
  const counts = choices.map(
    ({ entries }, index) =>
      sql`(select count(*)::int from (select 1 ${entries} limit ${most + 1}) as found) as ${sql.raw(`n${index}`)}`,
  )
  const [row] = await session.rows<Readonly<Record<string, number>>>(sql`select ${sql.join(counts, sql`, `)}`)
  const [best] = choices
    .map(({ keys }, index) => ({ keys, n: row?.[`n${index}`] ?? most + 1 }))
    .filter(({ n }) => n <= most)
    .sort((a, b) => a.n - b.n)
  return best?.keys ?? null
}

/** The same for what reads every row: a count, or groups. Throws BAD_USER_INPUT if that is too many to unwind. */
export async function narrowWhole(
  session: Session,
  revision: Revision,
  scope: Scope,
  filter: DeploymentFilter,
  limits: SourceLimits,
): Promise<Past> {
  const past = await narrowPast(session, await openPast(session, revision), scope, filter, limits)
  if (past.candidates !== 'all') return past
  const changed = await countChangedSince(session, past, scope, filter, limits.counted + 1)
  if (changed > limits.candidates && past.revisions <= limits.scanned) return { ...past, candidates: 'scan' }
  if (changed > limits.counted) throw tooMuchChanged(limits.counted)
  return past
}

/** The conditions that all rows match. None: other fields than these name the deployments, or deployment-scope.ts narrows them. */
function unnamedLeaves(scope: Scope, filter: DeploymentFilter): readonly DeploymentCondition[] {
  const { keys, deploymentIds, reporters, deviceIds } = filter
  if (scope.of === 'target' || scope.of === 'instance') return []
  if (keys || deploymentIds || reporters || deviceIds) return []
  return leavesOf<DeploymentCondition>(filter)
}

/** Whether entries say which deployments matched: those of replaced instances and closed ones do not count. */
function areCounted({ instanceIds, retired }: DeploymentFilter): boolean {
  return !instanceIds && !retired
}

/** What all rows counted as. */
export function countedAs(scope: Scope, filter: DeploymentFilter): readonly CountedAs[] {
  return unnamedLeaves(scope, filter).flatMap(({ states, convergence }): CountedAs[] => [
    ...(states ? [{ by: 'state', values: states } as const] : []),
    ...(convergence ? [{ by: 'convergence', values: convergence } as const] : []),
  ])
}

/** The states that the rows of a list may have, in which few deployments may have been or not. */
export async function runsOf(
  session: Session,
  past: Past,
  scope: Scope,
  filter: DeploymentFilter,
  { candidates }: SourceLimits,
): Promise<Run[]> {
  const counted = countedAs(scope, filter)
  const runs: Run[] = []
  for (const state of deploymentStates) {
    if (counted.some((one) => one.by === 'state' && !one.values.includes(state))) continue
    const ofState: CountedAs = { by: 'state', values: [state] }
    const keys = areCounted(filter)
      ? await thatCounted(session, past, rolloutsOf(scope, filter), ofState, candidates)
      : null
    runs.push({ state, keys })
  }
  return runs
}

function rolloutsOf(scope: Scope, { rolloutKeys }: DeploymentFilter): readonly number[] | undefined {
  return scope.of === 'rollout' ? scope.keys : rolloutKeys
}

/** Those on the targets that the reader sees. */
function choicesOfReader({ accessScope }: Session, past: Past, scope: Scope): readonly Choice[] {
  if (scope.of !== 'fleet' || !accessScope?.labels) return []
  return targetsByIndex(onTarget, { labels: accessScope.labels }).map(({ keys }) => wasOn(past, keys))
}

function wasOn({ revision }: Past, targets: SQL): Choice {
  const entries = sql`from (${targets} offset 0) as place cross join lateral (
    select ${deployments.key} from ${deployments} where ${deployments.targetKey} = place.key and ${deployments.revision} > ${revision}::bigint
    union all select ${l.deploymentKey} from ${l} where ${l.fromTargetKey} = place.key and ${l.firstRevision} > ${revision}::bigint) as entry`
  return { entries, keys: sql`select entry.key ${entries}` }
}
