/** The orders of a list of deployments. Each row's revision is its own, so revisions alone are a total order. */
import { type SQL, sql } from 'drizzle-orm'
import type { Deployment } from '../domain/deployment.ts'
import { type DeploymentState, deploymentStates, type Revision } from '../domain/deployment.ts'
import { d } from './deployment-filter.ts'
import { type Order, type Select, type SortKey, type Stretch, sorted, within } from './page.ts'
import { all, listParameter } from './parameters.ts'
import { deployments } from './schema.ts'

export const deploymentOrders = ['CHANGED_DESC', 'CHANGED_ASC', 'STATE', 'NAME'] as const
export type DeploymentOrder = (typeof deploymentOrders)[number]

type Placed = Pick<Deployment, 'key' | 'deploymentId' | 'state' | 'revision'>

const changedDesc: SortKey<Placed> = { by: d.revision, type: 'bigint', descending: true, of: (row) => row.revision }
const state: SortKey<Placed> = { by: d.state, type: 'deployment_state', descending: false, of: (row) => row.state }

export const orders: { readonly [Name in DeploymentOrder]: Order<Placed> } = {
  CHANGED_DESC: { name: 'CHANGED_DESC', keys: [changedDesc] },
  CHANGED_ASC: { name: 'CHANGED_ASC', keys: [{ ...changedDesc, descending: false }] },
  STATE: { name: 'STATE', keys: [state, changedDesc] },
  NAME: {
    name: 'NAME',
    keys: [
      { by: d.deploymentId, type: 'text', descending: false, of: (row) => row.deploymentId },
      { by: d.key, type: 'bigint', descending: false, of: (row) => row.key },
    ],
  },
}

/**
 * The fleet's present rows of some states: a run of the index (state, revision) for each, of which a page needs its first rows
 * only. One run is in the order of revisions, all together are not.
 */
export function selectByState(
  order: DeploymentOrder,
  states: readonly DeploymentState[],
  conditions: readonly SQL[],
): Select {
  return (stretch) => {
    const inRun = order === 'STATE' ? stretch.bounds.map(boundInRun) : within(orders[order], stretch)
    const revisions = orders[order === 'STATE' ? 'CHANGED_DESC' : order]
    return sql`select ${d}.* from unnest(${listParameter([...new Set(states)], 'deployment_state')}) as run(state)
      cross join lateral (
        select ${d}.* from ${deployments} ${d}
        where ${d.forgottenAt} is null and ${d.state} = run.state and ${all([...inRun, ...conditions])} ${sorted(revisions, stretch)}
      ) as ${d} ${sorted(orders[order], stretch)}`
  }
}

/** Whether orders can be read from those runs. */
export function isByState(order: DeploymentOrder): boolean {
  return order === 'STATE' || order === 'CHANGED_DESC' || order === 'CHANGED_ASC'
}

export const allStates: readonly DeploymentState[] = deploymentStates

/** A bound of (state, revision desc) within the run of one state: all of it, part of it or nothing. */
function boundInRun({ side, place }: Stretch['bounds'][number]): SQL {
  const [at, revision] = [sql`${place[0]}::deployment_state`, sql`${place[1]}::bigint`]
  const [all, none] = [sql`${lastRevision}::bigint`, sql`0::bigint`]
  switch (side) {
    case 'after':
      return sql`${d.revision} < case when run.state > ${at} then ${all} when run.state = ${at} then ${revision} else ${none} end`
    case 'from':
      return sql`${d.revision} <= case when run.state > ${at} then ${all} when run.state = ${at} then ${revision} else ${none} end`
    case 'before':
      return sql`${d.revision} > case when run.state < ${at} then ${none} when run.state = ${at} then ${revision} else ${all} end`
    case 'upTo':
      return sql`${d.revision} >= case when run.state < ${at} then ${none} when run.state = ${at} then ${revision} else ${all} end`
  }
}

const lastRevision: Revision = Number.MAX_SAFE_INTEGER
