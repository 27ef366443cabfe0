/**
 * How a list or a count in the past reads the deployments that have changed since:
 *
 *   candidates   those on targets that an index finds, and those that have left them since, if they are few
 *   all          each is looked up: few have changed since, or the scope or the filter names them
 *   scan         all states that held then are read (past.ts)
 *
 * The estimates are counts up to a limit, as in deployment-source.ts.
 */
import { type SQL, sql } from 'drizzle-orm'
import { leavesOf } from '../../../domain/selectors/selector.ts'
import type { Session } from '../../database.ts'
import { deployments, changeLog as l } from '../../tables/schema.ts'
import type { Scope } from '../deployment-scope.ts'
import type { Past } from '../past.ts'
import { countChangedSince } from './changed-since.ts'
import { type DeploymentCondition, type DeploymentFilter, onTarget } from './deployment-filter.ts'
import type { SourceLimits } from './source.ts'
import { type TargetCondition, targetsByIndex } from './target-filter.ts'

export async function readingOf(
  session: Session,
  past: Past,
  scope: Scope,
  filter: DeploymentFilter,
  { candidates: most }: SourceLimits,
): Promise<Past> {
  const best = await fewest(session, choicesOf(session, past, scope, filter), most)
  if (best) return { ...past, candidates: best }
  const changed = await countChangedSince(session, past, scope, filter, most + 1)
  return { ...past, candidates: changed > most ? 'scan' : 'all' }
}

/** `from …` of rows `entry`, and a select of the keys of their deployments. */
interface Choice {
  readonly entries: SQL
  readonly keys: SQL
}

/** None: other fields name the deployments, or deployment-scope.ts narrows them. */
function choicesOf({ accessScope }: Session, past: Past, scope: Scope, filter: DeploymentFilter): readonly Choice[] {
  const { keys, deploymentIds, reporters, deviceIds, rolloutKeys } = filter
  if (scope.of !== 'fleet' || keys || deploymentIds || reporters || deviceIds || rolloutKeys) return []
  const conditions: readonly TargetCondition[] = [
    ...leavesOf<DeploymentCondition>(filter),
    ...(accessScope?.labels ? [{ labels: accessScope.labels }] : []),
  ]
  return conditions.flatMap((one) => targetsByIndex(onTarget, one).map((found) => wasOn(past, found.keys)))
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

function wasOn({ revision }: Past, targets: SQL): Choice {
  const entries = sql`from (${targets} offset 0) as place cross join lateral (
    select ${deployments.key} from ${deployments} where ${deployments.targetKey} = place.key and ${deployments.revision} > ${revision}::bigint
    union all select ${l.deploymentKey} from ${l} where ${l.fromTargetKey} = place.key and ${l.firstRevision} > ${revision}::bigint) as entry`
  return { entries, keys: sql`select entry.key ${entries}` }
}
