import { oldestFirst, type ResourceOrder, type ResourceOrderField } from '../../../store/read/orders/resource-order.ts'
import { builder } from '../../builder.ts'
import { OrderDirectionEnum } from '../vocabulary.ts'

const ResourceOrderFieldEnum = builder.enumType('ResourceOrderField', {
  description: 'What resources are ordered by. Equal ones are ordered by their first report.',
  values: {
    CREATED: { description: 'The first report. The only order with an index: any other sorts all that match.' },
    CHANGED: { description: 'The last change.' },
    NAME: { description: 'The name.' },
    READINESS: { description: 'The readiness, in the order of the enum.' },
  } satisfies { readonly [Field in ResourceOrderField]: { readonly description: string } },
})

export const ResourceOrderRef = builder.inputType('ResourceOrder', {
  description: 'An order of resources.',
  fields: (t) => ({
    field: t.field({ type: ResourceOrderFieldEnum, required: true, description: 'What they are ordered by.' }),
    direction: t.field({
      type: OrderDirectionEnum,
      required: true,
      defaultValue: 'ASC',
      description: 'The direction.',
    }),
  }),
})

export type ResourceOrderInput = typeof ResourceOrderRef.$inferInput

export function toResourceOrder(input: ResourceOrderInput | null | undefined): ResourceOrder {
  return input ? { field: input.field, descending: input.direction === 'DESC' } : oldestFirst
}
