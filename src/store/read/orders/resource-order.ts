/** The orders of lists of resources. Only the order of the first report has an index: any other sorts all that match. */
import type { Resource } from '../../../domain/orchestration/resource.ts'
import { type Order, type OrderBy, orderOfKeys, type Undirected } from '../../sql/order.ts'
import { r } from '../filters/resource-filter.ts'

export const resourceOrderFields = ['CREATED', 'CHANGED', 'NAME', 'READINESS'] as const
export type ResourceOrderField = (typeof resourceOrderFields)[number]

export type ResourceOrder = OrderBy<ResourceOrderField>

export const oldestFirst: ResourceOrder = { field: 'CREATED', descending: false }

const fields: Readonly<Record<Exclude<ResourceOrderField, 'CREATED'>, Undirected<Resource>>> = {
  CHANGED: { by: r.revision, type: 'bigint', of: ({ revision }) => revision },
  NAME: { by: r.name, type: 'text', of: ({ name }) => name },
  READINESS: { by: r.readiness, type: 'readiness', of: ({ readiness }) => readiness },
}

const key: Undirected<Resource> = { by: r.key, type: 'bigint', of: (resource) => resource.key }

export function resourceOrder(order: ResourceOrder): Order<Resource> {
  const keys = order.field === 'CREATED' ? [key] : [fields[order.field], key]
  return orderOfKeys('RESOURCE', order, oldestFirst, keys)
}
