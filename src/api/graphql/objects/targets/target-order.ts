import { byName, type TargetOrder, type TargetOrderField } from '../../../../store/read/orders/target-order.ts'
import { builder } from '../../builder.ts'
import { orderInput, toOrder } from '../order-input.ts'

const TargetOrderFieldEnum = builder.enumType('TargetOrderField', {
  description: 'What devices or clusters are ordered by. Equal ones are ordered by name.',
  values: {
    NAME: { description: 'Its ID or name. The only order with an index: any other sorts all that match.' },
    CONNECTIVITY: { description: 'Its connectivity, in the order of the enum.' },
    LAST_HEARD: { description: 'The last contact. One that was never heard counts as the oldest.' },
  } satisfies { readonly [Field in TargetOrderField]: { readonly description: string } },
})

const TargetOrderRef = orderInput('TargetOrder', {
  description: 'An order of devices or clusters.',
  field: TargetOrderFieldEnum,
  direction: 'ASC',
})

export const targetOrderArgs = () =>
  builder.args((t) => ({
    orderBy: t.field({ type: TargetOrderRef, description: 'The order. Absent: by ID or name.' }),
  }))

export function toTargetOrder(input: typeof TargetOrderRef.$inferInput | null | undefined): TargetOrder {
  return input ? toOrder(input) : byName
}
