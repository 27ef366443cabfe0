import { byName, type TargetOrder, type TargetOrderField } from '../../../store/read/orders/target-order.ts'
import { builder } from '../../builder.ts'
import { OrderDirectionEnum } from '../vocabulary.ts'

const TargetOrderFieldEnum = builder.enumType('TargetOrderField', {
  description: 'What devices or clusters are ordered by. Equal ones are ordered by name.',
  values: {
    NAME: { description: 'Its ID or name. The only order with an index: any other sorts all that match.' },
    CONNECTIVITY: { description: 'Its connectivity, in the order of the enum.' },
    LAST_HEARD: { description: 'The last contact. One that was never heard counts as the oldest.' },
  } satisfies { readonly [Field in TargetOrderField]: { readonly description: string } },
})

const TargetOrderRef = builder.inputType('TargetOrder', {
  description: 'An order of devices or clusters.',
  fields: (t) => ({
    field: t.field({ type: TargetOrderFieldEnum, required: true, description: 'What they are ordered by.' }),
    direction: t.field({
      type: OrderDirectionEnum,
      required: true,
      defaultValue: 'ASC',
      description: 'The direction.',
    }),
  }),
})

export const targetOrderArgs = () =>
  builder.args((t) => ({
    orderBy: t.field({ type: TargetOrderRef, description: 'The order. Absent: by ID or name.' }),
  }))

export function toTargetOrder(input: typeof TargetOrderRef.$inferInput | null | undefined): TargetOrder {
  return input ? { field: input.field, descending: input.direction === 'DESC' } : byName
}
