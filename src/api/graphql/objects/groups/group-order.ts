/** The arguments that order groups of deployments. As of deployments, `orderBy` lacks directions, and its type cannot change for clients. */
import type { GroupOrder, GroupOrderField } from '../../../../store/read/groups/groups.ts'
import { builder } from '../../builder.ts'
import { orderInput, toOrder } from '../order-input.ts'

const GroupOrderEnum = builder.enumType('DeploymentGroupOrder', {
  description:
    'The order of groups. Ties are broken by the key. `DeploymentGroupOrdering` has both directions of each.',
  values: {
    SIZE_DESC: { description: 'The largest group first.' },
    FAILED_DESC: { description: 'The group with the most FAILED deployments first.' },
    CHANGED_DESC: { description: 'The group whose deployments changed last first.' },
    VALUE: { description: 'By key, ascending. The group without a key is first.' },
  },
})

const GroupOrderFieldEnum = builder.enumType('DeploymentGroupOrderField', {
  description: 'What groups are ordered by. Equal ones are ordered by key, ascending.',
  values: {
    SIZE: { description: 'The number of deployments.' },
    FAILED: { description: 'The number of FAILED deployments.' },
    CHANGED: { description: 'The last change of a deployment.' },
    VALUE: { description: 'The key. In ascending order, the group without a key is first.' },
  } satisfies { readonly [Field in GroupOrderField]: { readonly description: string } },
})

const GroupOrderingRef = orderInput('DeploymentGroupOrdering', {
  description: 'An order of groups of deployments.',
  field: GroupOrderFieldEnum,
  direction: 'ASC',
})

export const groupOrderArgs = () =>
  builder.args((t) => ({
    orderBy: t.field({
      type: GroupOrderEnum,
      defaultValue: 'SIZE_DESC',
      description: 'The order of the groups. Ignored with `ordering`.',
    }),
    ordering: t.field({ type: GroupOrderingRef, description: 'The order of the groups, with its direction.' }),
  }))

export interface GroupOrderArguments {
  readonly orderBy?: typeof GroupOrderEnum.$inferType | null | undefined
  readonly ordering?: typeof GroupOrderingRef.$inferInput | null | undefined
}

const named = {
  SIZE_DESC: { field: 'SIZE', descending: true },
  FAILED_DESC: { field: 'FAILED', descending: true },
  CHANGED_DESC: { field: 'CHANGED', descending: true },
  VALUE: { field: 'VALUE', descending: false },
} as const

export function toGroupOrder({ orderBy, ordering }: GroupOrderArguments): GroupOrder {
  return ordering ? toOrder(ordering) : named[orderBy ?? 'SIZE_DESC']
}
