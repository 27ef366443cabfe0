import { newestFirst, type RolloutOrderField } from '../../../store/read/rollouts/rollout-order.ts'
import { builder } from '../../builder.ts'
import { givenFields } from '../../mutations/input.ts'
import { connect, implementConnection, pageArgs } from '../connection.ts'
import { Rollout } from '../refs.ts'
import { InstanceStatusEnum, LifecycleStateEnum, OrderDirectionEnum, RolloutKindEnum } from '../vocabulary.ts'

const RolloutConnection = implementConnection('Rollout', () => Rollout, 'rollouts')

const RolloutFilterRef = builder.inputType('RolloutFilter', {
  description:
    'Selects rollouts. A rollout matches a field if it has any of its values; it must match all fields given. An empty list matches nothing.',
  fields: (t) => ({
    kinds: t.field({ type: [RolloutKindEnum], description: 'Origins.' }),
    projects: t.stringList({ description: 'Projects.' }),
    names: t.stringList({ description: 'Names.' }),
    states: t.field({ type: [LifecycleStateEnum], description: 'States after the last lifecycle action.' }),
    statuses: t.field({ type: [InstanceStatusEnum], description: 'Statuses of the current instance.' }),
    text: t.string({ description: 'A substring of the name, project or composite application. Case-insensitive.' }),
  }),
})

const RolloutOrderFieldEnum = builder.enumType('RolloutOrderField', {
  description: 'What rollouts are ordered by. A rollout without the time counts as the oldest.',
  values: {
    CREATED: { description: 'When it was created. The only order with an index: any other sorts all rollouts.' },
    STARTED: { description: 'When it started.' },
    CHANGED: { description: 'When it last changed.' },
    FINISHED: { description: 'When it finished.' },
    NAME: { description: 'Its name.' },
  } satisfies { readonly [Field in RolloutOrderField]: { readonly description: string } },
})

const RolloutOrderRef = builder.inputType('RolloutOrder', {
  description: 'An order of rollouts. Callers whose access scope has labels can use only CREATED and NAME.',
  fields: (t) => ({
    field: t.field({ type: RolloutOrderFieldEnum, required: true, description: 'What they are ordered by.' }),
    direction: t.field({
      type: OrderDirectionEnum,
      required: true,
      defaultValue: 'DESC',
      description: 'The direction.',
    }),
  }),
})

builder.queryFields((t) => ({
  rollouts: t.field({
    access: 'viewer',
    type: RolloutConnection,
    description:
      'All rollouts, newest first if no other order is given. Undeclared rollouts are listed while they have deployments.',
    args: {
      filter: t.arg({ type: RolloutFilterRef, description: 'Selects rollouts.' }),
      orderBy: t.arg({ type: RolloutOrderRef, description: 'The order. Absent: newest first.' }),
      ...pageArgs(),
    },
    resolve: (_, args, context) => {
      const filter = givenFields(args.filter ?? {})
      const { orderBy } = args
      const order = orderBy ? { field: orderBy.field, descending: orderBy.direction === 'DESC' } : newestFirst
      return connect(
        args,
        async (page) => (await context.reader()).rollouts(filter, page, order),
        async () => (await context.reader()).rolloutCount(filter),
      )
    },
  }),
}))
