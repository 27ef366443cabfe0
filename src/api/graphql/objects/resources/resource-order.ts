import {
  oldestFirst,
  type ResourceOrder,
  type ResourceOrderField,
} from '../../../../store/read/orders/resource-order.ts'
import { builder } from '../../builder.ts'
import { orderInput, toOrder } from '../order-input.ts'

const ResourceOrderFieldEnum = builder.enumType('ResourceOrderField', {
  description: 'What resources are ordered by. Equal ones are ordered by their first report.',
  values: {
    CREATED: { description: 'The first report. The only order with an index: any other sorts all that match.' },
    CHANGED: { description: 'The last change.' },
    NAME: { description: 'The name.' },
    READINESS: { description: 'The readiness, in the order of the enum.' },
  } satisfies { readonly [Field in ResourceOrderField]: { readonly description: string } },
})

export const ResourceOrderRef = orderInput('ResourceOrder', {
  description: 'An order of resources.',
  field: ResourceOrderFieldEnum,
  direction: 'ASC',
})

export type ResourceOrderInput = typeof ResourceOrderRef.$inferInput

export function toResourceOrder(input: ResourceOrderInput | null | undefined): ResourceOrder {
  return input ? toOrder(input) : oldestFirst
}
