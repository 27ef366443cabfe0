/**
 * The arguments that order a list of deployments. `orderBy` has one value for each order, of which some lack the other direction. Its type cannot change
 * for clients, so the order with a direction is an argument of its own.
 */
import type { DeploymentOrder } from '../../../../store/read/orders/deployment-order.ts'
import { builder } from '../../builder.ts'
import { orderInput } from '../order-input.ts'

const DeploymentOrderEnum = builder.enumType('DeploymentOrder', {
  description: 'The order of a list of deployments. `DeploymentOrdering` has both directions of each.',
  values: {
    CHANGED_DESC: { description: 'By time of the last change, latest first.' },
    CHANGED_ASC: { description: 'By time of the last change, oldest first.' },
    STATE: { description: 'By state, in the order of the enum. Within a state, last changed first.' },
    NAME: { description: 'By deployment ID.' },
  } satisfies { readonly [Name in DeploymentOrder]?: { readonly description: string } },
})

const DeploymentOrderFieldEnum = builder.enumType('DeploymentOrderField', {
  description: 'What deployments are ordered by. Each has an index, in both directions.',
  values: {
    CHANGED: { description: 'The last change.' },
    STATE: {
      description: 'The state, in the order of the enum. Within a state, last changed first in both directions.',
    },
    NAME: { description: 'The deployment ID.' },
  },
})

const DeploymentOrderingRef = orderInput('DeploymentOrdering', {
  description: 'An order of deployments.',
  field: DeploymentOrderFieldEnum,
  direction: 'ASC',
})

export const deploymentOrderArgs = () =>
  builder.args((t) => ({
    orderBy: t.field({
      type: DeploymentOrderEnum,
      defaultValue: 'CHANGED_DESC',
      description: 'The order of the list. Ignored with `ordering`.',
    }),
    ordering: t.field({ type: DeploymentOrderingRef, description: 'The order of the list, with its direction.' }),
  }))

export interface DeploymentOrderArguments {
  readonly orderBy?: typeof DeploymentOrderEnum.$inferType | null | undefined
  readonly ordering?: typeof DeploymentOrderingRef.$inferInput | null | undefined
}

const orders = {
  CHANGED: { ASC: 'CHANGED_ASC', DESC: 'CHANGED_DESC' },
  STATE: { ASC: 'STATE', DESC: 'STATE_DESC' },
  NAME: { ASC: 'NAME', DESC: 'NAME_DESC' },
} as const

export function toDeploymentOrder({ orderBy, ordering }: DeploymentOrderArguments): DeploymentOrder {
  return ordering ? orders[ordering.field][ordering.direction] : (orderBy ?? 'CHANGED_DESC')
}
