/** The orders of lists of resources. Only the order of the first report has an index: any other sorts all that match. */
import type { Resource } from '../../../domain/orchestration/resource.ts'
import type { Order, SortKey } from '../../sql/order.ts'
import { r } from '../filters/resource-filter.ts'

export const resourceOrderFields = ['CREATED', 'CHANGED', 'NAME', 'READINESS'] as const
export type ResourceOrderField = (typeof resourceOrderFields)[number]

export interface ResourceOrder {
  readonly field: ResourceOrderField
  readonly descending: boolean
}

export const oldestFirst: ResourceOrder = { field: 'CREATED', descending: false }

type By = Omit<SortKey<Resource>, 'descending'>

const fields: Readonly<Record<Exclude<ResourceOrderField, 'CREATED'>, By>> = {
  CHANGED: { by: r.revision, type: 'bigint', of: ({ revision }) => revision },
  NAME: { by: r.name, type: 'text', of: ({ name }) => name },
  READINESS: { by: r.readiness, type: 'readiness', of: ({ readiness }) => readiness },
}

const key: By = { by: r.key, type: 'bigint', of: (resource) => resource.key }

export function resourceOrder({ field, descending }: ResourceOrder): Order<Resource> {
  const keys = field === 'CREATED' ? [key] : [fields[field], key]
  return {
    name: field === 'CREATED' && !descending ? 'RESOURCE' : `RESOURCE_${field}_${descending ? 'DESC' : 'ASC'}`,
    keys: keys.map((by) => ({ ...by, descending })),
  }
}
