/**
 * The deployments of one rollout in the order of their names, from the index beside the deployments (store/write/derived/deployment-names.ts). It is behind
 * the writer, so those that have changed since its cursor are read from the deployments and merged. Without it, a page sorts the whole rollout.
 */

import { type SQL, sql } from 'drizzle-orm'
import { covered } from '../../projection.ts'
import { type Select, type Stretch, sorted, within } from '../../sql/page.ts'
import { all, fixed, nothing } from '../../sql/parameters.ts'
import { deploymentNames, deployments } from '../../tables/schema.ts'
import { namesProjection } from '../../write/derived/deployment-names.ts'
import { d } from '../filters/deployment-filter.ts'
import { type NameOrder, orders } from '../orders/deployment-order.ts'
import { deploymentColumns } from '../past-rows.ts'
import type { Walk } from './walk.ts'

/**
 * Makes the planner read the rows of a rollout by its index: the limit is one that it does not know. Otherwise it walks the whole fleet by name, to find the
 * first few of the many rows that it expects.
 */
export const inOrderOfRollout = fixed(sql`order by ${d.rolloutKey}, ${d.revision} limit (select null::bigint)`)

const isThere = sql`${d.forgottenAt} is null`
const cursor = sql.raw(covered(namesProjection))

/** `walked`: the entries that are read for those that match. Null: nearly all match, and a page reads until it is full. */
export function walkByName(order: NameOrder, rollout: SQL, matches: readonly SQL[], walked: number | null): Walk {
  const ofRollout = sql`${d.rolloutKey} = ${rollout}`
  const names = sql`(select ${deploymentNames.deploymentKey} as key, ${deploymentNames.deploymentId} as deployment_id from ${deploymentNames}
    where ${deploymentNames.rolloutKey} = ${rollout})`
  /** A subquery, so that the planner does not know the number: where it expects fewer entries, it sorts them all instead of reading the index. */
  const most = sql`(select ${walked}::bigint)`
  /** The entries in the order of the list. */
  const entries = (stretch: Stretch, limit: SQL): SQL =>
    sql`select ${d.key} from ${names} as ${d} where ${all([sql`true`, ...within(orders[order], stretch)])} ${sorted(orders[order], { ...stretch, limit })}`
  // As a lateral join, which keeps the order of the entries and reads them lazily. By the key alone, or the planner takes another index.
  const known: Select = (stretch) => sql`select ${deploymentColumns} from (${entries(stretch, most)}) as place
    cross join lateral (select ${deploymentColumns} from ${deployments} ${d} where ${d.key} = place.key offset 0) as ${d}
    where ${all([ofRollout, sql`${d.revision} <= ${cursor}`, ...matches])} limit ${stretch.limit}`
  const sinceCursor = sql`select ${deploymentColumns} from ${deployments} ${d}
    where ${all([ofRollout, sql`${d.revision} > ${cursor}`, isThere])} ${inOrderOfRollout}`
  const changed: Select = (stretch) =>
    sql`select ${deploymentColumns} from (${sinceCursor}) as ${d} where ${all([...matches, ...within(orders[order], stretch)])} ${sorted(orders[order], stretch)}`
  return {
    select: (stretch) =>
      sql`select ${deploymentColumns} from ((${known(stretch)}) union all (${changed(stretch)})) as ${d} ${sorted(orders[order], stretch)}`,
    isShort: (stretch, last) => {
      if (walked === null) return nothing
      const isCut = sql`exists (${entries(stretch, sql`1 offset ${most}`)})`
      // Changed rows behind the last entry may fill a page that lacks rows before it.
      return last ? sql`(${isCut} and (select count(*) from (${known(stretch)}) as found) < ${stretch.limit})` : isCut
    },
  }
}
