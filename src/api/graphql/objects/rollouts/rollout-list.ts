import { newestFirst, type RolloutOrderField } from '../../../../store/read/orders/rollout-order.ts'
import { builder } from '../../builder.ts'
import { connect, implementConnection, pageArgs } from '../connection.ts'
import { orderInput, toOrder } from '../order-input.ts'
import { pastArgs, pastOf } from '../past.ts'
import { Rollout } from '../refs.ts'
import { RolloutFilterRef, toRolloutFilter } from '../selectors/filters.ts'

const RolloutConnection = implementConnection('Rollout', () => Rollout, 'rollouts')

const RolloutOrderFieldEnum = builder.enumType('RolloutOrderField', {
  description: 'What rollouts are ordered by. A rollout without the time counts as the oldest.',
  values: {
    CREATED: { description: 'When it was created. It and NAME have an index: any other order sorts all rollouts.' },
    STARTED: { description: 'When it started.' },
    CHANGED: { description: 'When it last changed.' },
    FINISHED: { description: 'When it finished.' },
    NAME: { description: 'Its name.' },
  } satisfies { readonly [Field in RolloutOrderField]: { readonly description: string } },
})

const RolloutOrderRef = orderInput('RolloutOrder', {
  description: 'An order of rollouts. Callers whose access scope has labels can use only CREATED and NAME.',
  field: RolloutOrderFieldEnum,
  direction: 'DESC',
})

builder.queryFields((t) => ({
  rollouts: t.field({
    access: 'viewer',
    type: RolloutConnection,
    description:
      'All rollouts, newest first if no other order is given. Undeclared rollouts are listed while they have deployments. In the past, they can be ordered by CREATED or NAME, and not be filtered by states, statuses, or times other than the creation.',
    args: {
      filter: t.arg({ type: RolloutFilterRef, description: 'Selects rollouts.' }),
      orderBy: t.arg({ type: RolloutOrderRef, description: 'The order. Absent: newest first.' }),
      ...pastArgs(),
      ...pageArgs(),
    },
    resolve: async (_, args, context) => {
      const filter = toRolloutFilter(args.filter)
      const order = args.orderBy ? toOrder(args.orderBy) : newestFirst
      const asOf = await pastOf(context, args)
      return connect(
        args,
        async (page) => (await context.reader()).rollouts(filter, page, order, asOf),
        async () => (await context.reader()).rolloutCount(filter, asOf),
      )
    },
  }),
}))
