/** Walks: lists of deployments that read a bounded number of rows in their order. The others of this folder are built of these. */

import { type SQL, sql } from 'drizzle-orm'
import type { Deployment } from '../../../domain/deployment.ts'
import { type Select, type Stretch, sorted, within } from '../../sql/page.ts'
import { all, nothing } from '../../sql/parameters.ts'
import type { Scope } from '../deployment-scope.ts'
import { type DeploymentFilter, d } from '../filters/deployment-filter.ts'
import { type DeploymentOrder, orders } from '../orders/deployment-order.ts'
import { deploymentColumns } from '../past-rows.ts'

type LastRow = Pick<Deployment, 'key' | 'deploymentId' | 'state' | 'revision'>

/** A list of deployments: of which parents, which of them, in which order. */
export interface DeploymentList {
  readonly scope: Scope
  readonly filter: DeploymentFilter
  readonly order: DeploymentOrder
}

/** A list that reads at most some rows in its order, and shows those of them that match. */
export interface Walk {
  readonly select: Select
  /** A condition: it stopped before it found all rows of the stretch. `last`: the last row of a full page. Null: what it found does not fill the page. */
  readonly isShort: (stretch: Stretch, last: LastRow | null) => SQL
}

/** It reads all rows of a stretch. */
export function whole(select: Select): Walk {
  return { select, isShort: () => nothing }
}

/** The rows of `from`, in the order of the list. */
export function walkInOrder(
  order: DeploymentOrder,
  from: (conditions: readonly SQL[]) => SQL,
  matches: readonly SQL[],
  walked: number,
): Walk {
  const inOrder = (stretch: Stretch, limit: SQL): SQL =>
    sql`${from(within(orders[order], stretch))} ${sorted(orders[order], { ...stretch, limit })}`
  const select: Select = (stretch) =>
    sql`select ${deploymentColumns} from (select ${deploymentColumns} ${inOrder(stretch, sql`${walked}`)}) as ${d}
      where ${all(matches)} ${sorted(orders[order], stretch)}`
  return {
    select,
    isShort: (stretch, last) => (last ? nothing : sql`exists (select 1 ${inOrder(stretch, sql`1 offset ${walked}`)})`),
  }
}
