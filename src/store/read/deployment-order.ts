/** The orders of lists of deployments. Revisions are unique, so they are a total order. */
import { type SQL, sql } from 'drizzle-orm'
import type { Deployment } from '../../domain/deployment.ts'
import type { DeploymentState } from '../../domain/values.ts'
import type { Order, SortKey } from '../sql/order.ts'
import { type Select, type Stretch, sorted } from '../sql/page.ts'
import { all, fixed, listParameter } from '../sql/parameters.ts'
import { deployments } from '../tables/schema.ts'
import { d } from './deployment-filter.ts'

export const deploymentOrders = ['CHANGED_DESC', 'CHANGED_ASC', 'STATE', 'NAME'] as const
export type DeploymentOrder = (typeof deploymentOrders)[number]

type Placed = Pick<Deployment, 'key' | 'deploymentId' | 'state' | 'revision'>

const changedDesc: SortKey<Placed> = {
  by: fixed(sql`${d.revision}`),
  type: 'bigint',
  descending: true,
  of: (row) => row.revision,
}
const state: SortKey<Placed> = {
  by: fixed(sql`${d.state}`),
  type: 'deployment_state',
  descending: false,
  of: (row) => row.state,
}

export const orders: { readonly [Name in DeploymentOrder]: Order<Placed> } = {
  CHANGED_DESC: { name: 'CHANGED_DESC', keys: [changedDesc] },
  CHANGED_ASC: { name: 'CHANGED_ASC', keys: [{ ...changedDesc, descending: false }] },
  STATE: { name: 'STATE', keys: [state, changedDesc] },
  NAME: {
    name: 'NAME',
    keys: [
      { by: fixed(sql`${d.deploymentId}`), type: 'text', descending: false, of: (row) => row.deploymentId },
      { by: fixed(sql`${d.key}`), type: 'bigint', descending: false, of: (row) => row.key },
    ],
  },
}

/**
 * The fleet's present rows of some states: one range of the index (state, revision) per state, of which a page reads the first rows. The
 * row comparisons force the planner to use this index: it cannot know that few deployments are FAILED.
 */
export function selectByState(order: RunOrder, states: readonly DeploymentState[], conditions: readonly SQL[]): Select {
  return (stretch) => {
    const place = sql`(${d.state}, ${d.revision})`
    const limits = stretch.bounds.map((bound) => limitInRun(order, bound))
    // One lower and one upper bound: an index scan uses only the first of each.
    const inRun = [
      sql`${place} > (run.state, ${limits.find(({ isLower }) => isLower)?.revision ?? noRevision})`,
      sql`${place} < (run.state, ${limits.find(({ isLower }) => !isLower)?.revision ?? anyRevision})`,
    ]
    const newestFirst = (order === 'CHANGED_ASC') === stretch.reversed
    const direction = newestFirst ? sql`desc` : sql`asc`
    return sql`select ${d}.* from unnest(${listParameter([...new Set(states)], 'deployment_state')}) as run(state)
      cross join lateral (
        select ${d}.* from ${deployments} ${d}
        where ${all([...inRun, ...conditions])}
        order by ${d.state} ${direction}, ${d.revision} ${direction} limit ${stretch.limit}
      ) as ${d} ${sorted(orders[order], stretch)}`
  }
}

/** The orders that can be read from these ranges. */
export type RunOrder = Exclude<DeploymentOrder, 'NAME'>

/** The part of one state's range within a bound of the order: revisions above or below one. In the order STATE also all or none. */
function limitInRun(order: RunOrder, { side, place }: Stretch['bounds'][number]): { isLower: boolean; revision: SQL } {
  const isTowardsEnd = side === 'after' || side === 'from'
  const isLower = isTowardsEnd === (order === 'CHANGED_ASC')
  const inclusive = side === 'from' || side === 'upTo' ? sql` ${isLower ? sql`-` : sql`+`} 1` : sql``
  if (order !== 'STATE') return { isLower, revision: sql`${place[0]}::bigint${inclusive}` }
  const [state, revision] = [sql`${place[0]}::deployment_state`, sql`${place[1]}::bigint${inclusive}`]
  const [others, all, none] = isLower ? [sql`<`, noRevision, anyRevision] : [sql`>`, anyRevision, noRevision]
  return {
    isLower,
    revision: sql`case when run.state ${others} ${state} then ${all} when run.state = ${state} then ${revision} else ${none} end`,
  }
}

/** Lower and higher than every revision. */
const noRevision = sql`0::bigint`
const anyRevision = sql`${Number.MAX_SAFE_INTEGER}::bigint`
