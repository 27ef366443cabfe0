/** How fast a rollout goes. */
import type { Millis } from '../../../../domain/values.ts'
import type { StateCounts } from '../../../../store/read/counts/deployment-counts.ts'
import type { RolloutRow } from '../../../../store/read/rollouts/rollouts.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import { Rollout } from '../refs.ts'

interface Pace {
  readonly done: number
  readonly since: Millis
}

const RolloutPace = builder.objectRef<Pace>('RolloutPace').implement({
  access: 'viewer',
  description: 'How many more deployments of a rollout are done than at an earlier time.',
  fields: (t) => ({
    done: t.exposeInt('done', {
      description:
        'The number of deployments that are INSTALLED, FAILED or REMOVED, less that at `since`; 0 if there are fewer. A deployment that begins again is not done until it ends again.',
    }),
    since: t.expose('since', {
      type: 'DateTime',
      description:
        'The time that it counts from: the latest of the argument, the creation of the rollout, and the beginning of the history.',
    }),
  }),
})

builder.objectFields(Rollout, (t) => ({
  pace: t.field({
    type: RolloutPace,
    description: 'How many more of its deployments are done than at a time.',
    args: { since: t.arg({ type: 'DateTime', required: true, description: 'The time.' }) },
    resolve: (row, { since }, context) => paceOf(row, since, context),
  }),
}))

async function paceOf({ key, asOf, counters, life }: RolloutRow, time: Millis, { reader }: Context): Promise<Pace> {
  const open = await reader()
  const { tailAt } = await open.head
  const from = Math.max(time, tailAt)
  const { at: created } = life.created
  const isNewer = created !== null && created > from
  const since = isNewer ? created : from
  const [revision = null] = isNewer ? [] : await open.revisionsAt([since])
  if (asOf !== null && revision !== null && revision >= asOf) return { done: 0, since }
  const of = { of: 'rollout', key } as const
  const [now, before] = await Promise.all([
    counters ?? open.deploymentCounts(of, {}, asOf),
    revision === null ? null : open.deploymentCounts(of, {}, revision),
  ])
  return { done: Math.max(doneOf(now) - doneOf(before), 0), since }
}

const doneOf = (counts: StateCounts | null | undefined): number =>
  counts ? counts.installed + counts.failed + counts.removed : 0
