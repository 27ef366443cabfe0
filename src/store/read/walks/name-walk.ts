/** Deployments of the fleet or of one rollout in the order of their names, from the indexes beside the deployments (deployment_names). */

import { type SQL, sql } from 'drizzle-orm'
import { type Select, type Stretch, sorted, within } from '../../sql/page.ts'
import { all, fixed, nothing } from '../../sql/parameters.ts'
import { deploymentNames, deployments } from '../../tables/schema.ts'
import { d } from '../filters/deployment-filter.ts'
import { type NameOrder, orders } from '../orders/deployment-order.ts'
import { deploymentColumns } from '../past-rows.ts'
import type { Walk } from './walk.ts'

/** Makes the planner read the rows of a rollout by its index: the limit is one that it does not know. */
export const inOrderOfRollout = fixed(sql`order by ${d.rolloutKey}, ${d.revision} limit (select null::bigint)`)

/** The keys of deployments in the order of their names. `which`: a condition on deployment_names. */
export function keysByName(order: NameOrder, which: SQL, stretch: Stretch, limit: SQL): SQL {
  const names = sql`(select ${deploymentNames.deploymentKey} as key, ${deploymentNames.deploymentId} as deployment_id from ${deploymentNames}
    where ${which})`
  return sql`select ${d.key} from ${names} as ${d} where ${all([sql`true`, ...within(orders[order], stretch)])} ${sorted(orders[order], { ...stretch, limit })}`
}

/** The names of the listed deployments of a rollout. */
export function namesOfRollout(rollout: SQL): SQL {
  return sql`${deploymentNames.rolloutKey} = ${rollout} and not ${deploymentNames.isForgotten}`
}

/** `walked`: the names that are read for those that match. Null: nearly all match, and a page reads until it is full. */
export function walkByName(order: NameOrder, which: SQL, matches: readonly SQL[], walked: number | null): Walk {
  /** A subquery, so that the planner does not know the number: where it expects fewer entries, it sorts them all instead of reading the index. */
  const most = sql`(select ${walked}::bigint)`
  // As a lateral join, which keeps the order of the entries and reads them lazily. By the key alone, or the planner takes another index.
  const select: Select = (
    stretch,
  ) => sql`select ${deploymentColumns} from (${keysByName(order, which, stretch, most)}) as place
    cross join lateral (select ${deploymentColumns} from ${deployments} ${d} where ${d.key} = place.key offset 0) as ${d}
    cross join lateral (select where ${all([sql`true`, ...matches])} offset 0) as fits limit ${stretch.limit}`
  return {
    select,
    isShort: (stretch, last) =>
      walked === null || last ? nothing : sql`exists (${keysByName(order, which, stretch, sql`1 offset ${most}`)})`,
  }
}
