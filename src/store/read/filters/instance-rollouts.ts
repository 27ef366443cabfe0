/**
 * The rollout of an instance, at present or in the past. An upgrade moves an instance of a resource bundle to another rollout, with its deployment and all
 * its resources. Of these, only the deployment has a history of its rollouts. So in the past, the rollout of an instance is that of its deployment.
 * Instances of other orchestrators never move.
 */
import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { Revision } from '../../../domain/values.ts'
import { changeLog, deployments, instances, pastDeployments } from '../../tables/schema.ts'

const own = alias(deployments, 'own_deployment')
const later = alias(changeLog, 'later_move')
const left = alias(changeLog, 'left_rollout')

/** The key of the rollout of a row of `instances`. */
export function rolloutOfInstance(asOf: Revision | null): SQL {
  if (asOf === null) return sql`${instances.rolloutKey}`
  return sql`coalesce((select ${pastDeployments.rolloutKey} from ${changeLog} ${later}
    cross join lateral (select * from ${pastDeployments} where ${pastDeployments.until} = ${later.firstRevision} offset 0) as ${pastDeployments}
    where ${later.deploymentKey} = (select ${own.key} from ${deployments} ${own} where ${own.instanceKey} = ${instances.key} limit 1)
      and ${later.resourceKey} is null and ${later.firstRevision} > ${asOf}::bigint
    order by ${later.firstRevision} limit 1), ${instances.rolloutKey})`
}

/** A select of the keys of the instances whose rollout is wanted. */
export function instancesIn(isWanted: (rolloutKey: SQL) => SQL, asOf: Revision | null): SQL {
  const present = sql`select ${instances.key} from ${instances} where ${isWanted(sql`${instances.rolloutKey}`)}`
  if (asOf === null) return present
  // Those that are there now, and those that have left since.
  return sql`select ${instances.key} from ${instances} where ${isWanted(rolloutOfInstance(asOf))} and ${instances.key} in (
    ${present} union all select ${left.instanceKey} from ${changeLog} ${left}
      where ${isWanted(sql`${left.fromRolloutKey}`)} and ${left.instanceKey} is not null and ${left.firstRevision} > ${asOf}::bigint)`
}
