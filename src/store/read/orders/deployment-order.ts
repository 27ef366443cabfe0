/** The orders of lists of deployments. Revisions are unique, so they are a total order. */
import { sql } from 'drizzle-orm'
import type { Deployment } from '../../../domain/deployment.ts'
import type { Order, SortKey } from '../../sql/order.ts'
import { fixed } from '../../sql/parameters.ts'
import { d } from '../filters/deployment-filter.ts'

export const deploymentOrders = ['CHANGED_DESC', 'CHANGED_ASC', 'STATE', 'STATE_DESC', 'NAME', 'NAME_DESC'] as const
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
const name: readonly SortKey<Placed>[] = [
  { by: fixed(sql`${d.deploymentId}`), type: 'text', descending: false, of: (row) => row.deploymentId },
  { by: fixed(sql`${d.key}`), type: 'bigint', descending: false, of: (row) => row.key },
]

export const orders: { readonly [Name in DeploymentOrder]: Order<Placed> } = {
  CHANGED_DESC: { name: 'CHANGED_DESC', keys: [changedDesc] },
  CHANGED_ASC: { name: 'CHANGED_ASC', keys: [{ ...changedDesc, descending: false }] },
  STATE: { name: 'STATE', keys: [state, changedDesc] },
  STATE_DESC: { name: 'STATE_DESC', keys: [{ ...state, descending: true }, changedDesc] },
  NAME: { name: 'NAME', keys: name },
  NAME_DESC: { name: 'NAME_DESC', keys: name.map((key) => ({ ...key, descending: true })) },
}

export type NameOrder = 'NAME' | 'NAME_DESC'
export type StateOrder = 'STATE' | 'STATE_DESC'
/** The rows of one state are in the order of their revisions. */
export type RevisionOrder = Exclude<DeploymentOrder, NameOrder>

export function isByName(order: DeploymentOrder): order is NameOrder {
  return order === 'NAME' || order === 'NAME_DESC'
}

export function isByState(order: DeploymentOrder): order is StateOrder {
  return order === 'STATE' || order === 'STATE_DESC'
}
