/**
 * What a narrowed reader sees of manifests. A manifest has no place: its documents belong to deployments, which move between targets and rollouts.
 *
 *   a document   visible if its deployment was visible at any time while the manifest listed it
 *   a change     visible if its deployment was visible at the place that the change was made for
 *
 * The next entry of the log that moved the deployment says where it was; without one it is where it was. What ended before the log begins is
 * hidden, because the log no longer says where it happened.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Session } from '../../database.ts'
import { all, either } from '../../sql/parameters.ts'
import { changeLog, deployments, logHead } from '../../tables/schema.ts'
import { sawOrigin, visiblePlace } from '../access-scope.ts'

type Reader = Pick<Session, 'accessScope'>

const move = alias(changeLog, 'move')
const owner = alias(deployments, 'owner')

interface Stay {
  readonly deploymentKey: SQLWrapper
  /** Times. `until` null: still listed. */
  readonly from: SQLWrapper
  readonly until: SQLWrapper
}

export function visibleStay(reader: Reader, { deploymentKey, from, until }: Stay): SQL[] {
  if (!reader.accessScope) return []
  return [
    sql`(${until} is null or ${isLogged(until)})`,
    either([
      // A command may replace a document and move the deployment: the former document was never at the new place.
      sql`case when ${until} = ${from} then ${seenAt(reader, deploymentKey, sql`${move.at} >= ${from}`)}
        else ${seenAt(reader, deploymentKey, sql`${move.at} > ${from}`)} end`,
      sql`exists (select 1 from ${changeLog} ${move} where ${isMoveOf(deploymentKey)}
        and ${move.at} > ${from} and (${until} is null or ${move.at} < ${until}) and ${all(visiblePlace(reader, move))})`,
    ]),
  ]
}

/** A document that was added at that time: for the place that the same command moved the deployment to. */
export function visibleAddition(reader: Reader, deploymentKey: SQLWrapper, at: SQLWrapper): SQL[] {
  if (!reader.accessScope) return []
  return [isLogged(at), seenAt(reader, deploymentKey, sql`${move.at} > ${at}`)]
}

/** A document that was removed at that time: from the place where the deployment was before. */
export function visibleRemoval(reader: Reader, deploymentKey: SQLWrapper, at: SQLWrapper): SQL[] {
  if (!reader.accessScope) return []
  return [isLogged(at), seenAt(reader, deploymentKey, sql`${move.at} >= ${at}`)]
}

function seenAt(reader: Reader, deploymentKey: SQLWrapper, isLater: SQL): SQL {
  return sql`coalesce(
    (select ${all(sawOrigin(reader, move))} from ${changeLog} ${move}
      where ${isMoveOf(deploymentKey)} and ${isLater} order by ${move.firstRevision} limit 1),
    (select ${all(visiblePlace(reader, owner))} from ${deployments} ${owner} where ${owner.key} = ${deploymentKey}), false)`
}

function isMoveOf(deploymentKey: SQLWrapper): SQL {
  return sql`${move.deploymentKey} = ${deploymentKey} and ${move.resourceKey} is null
    and (${move.fromTargetKey} is not null or ${move.fromRolloutKey} is not null)`
}

function isLogged(at: SQLWrapper): SQL {
  return sql`${at} >= (select ${logHead.tailAt} from ${logHead})`
}
