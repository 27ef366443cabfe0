/** Fields of a rollout: when it was created, started, changed last and finished. */
import type { Instant } from '../../../../store/read/rollouts/rollout-life.ts'
import type { RolloutRow } from '../../../../store/read/rollouts/rollouts.ts'
import type { SchemaTypes } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'

type Fields = PothosSchemaTypes.ObjectFieldBuilder<SchemaTypes, RolloutRow>

const hidden = 'Null for callers whose access scope has labels, too: they do not see the whole rollout.'
const times = {
  created: 'it was created',
  started: 'a deployment of it was first in a state other than PENDING',
  changed: 'it last changed, with its labels, deployments, resources, instances and actions',
  finished: 'the last deployment in progress (PENDING, INSTALLING or REMOVING) ended',
} as const
const nulls = {
  started: `Null: not started. ${hidden}`,
  changed: hidden,
  finished: `Null: a deployment is in progress. ${hidden} Null in a past state if deployments were in progress later.`,
} as const

export function lifeFields(t: Fields) {
  const pair = (name: keyof typeof nulls, read: (row: RolloutRow, context: Context) => Promise<Instant | null>) => ({
    [`${name}At`]: t.field({
      type: 'DateTime',
      nullable: true,
      description: `When ${times[name]}. ${nulls[name]}`,
      resolve: async (row, _, context) => (await read(row, context))?.at ?? null,
    }),
    [`${name}Revision`]: t.field({
      type: 'Revision',
      nullable: true,
      description: `The revision at which ${times[name]}. ${nulls[name]}`,
      resolve: async (row, _, context) => (await read(row, context))?.revision ?? null,
    }),
  })
  return {
    createdAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: `When ${times.created}. Null: unknown.`,
      resolve: ({ life }) => life.created.at,
    }),
    createdRevision: t.field({
      type: 'Revision',
      description: `The revision at which ${times.created}.`,
      resolve: ({ life }) => life.created.revision,
    }),
    ...pair('started', async ({ life }) => life.started),
    ...pair('changed', async ({ key, asOf, life }, { reader }) =>
      asOf === null || life.changed ? life.changed : ((await (await reader()).rolloutChangedBefore(key, asOf)) ?? null),
    ),
    ...pair('finished', async ({ life }) => life.finished),
    asOf: t.expose('asOf', {
      type: 'Revision',
      nullable: true,
      description: 'The revision that this object reflects. Null: the present.',
    }),
  }
}
