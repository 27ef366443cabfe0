/** The labels that operators gave to rollouts, and their changes. */
import { builder } from '../../builder.ts'
import { required } from '../../execution/required.ts'
import { implementChange } from '../changes/change.ts'
import { Label } from '../label.ts'
import { Rollout } from '../refs.ts'

builder.objectField(Rollout, 'labels', (t) =>
  t.field({
    type: [Label],
    description:
      'Its own labels, in the order of their keys. Operators set them with `setRolloutLabels` or `declareDeployments`. The labels of its devices are others.',
    resolve: async ({ key, asOf }, _, { reader }) => [...((await (await reader()).rolloutLabels(key, asOf)) ?? [])],
  }),
)

implementChange('ROLLOUT_LABELS_CHANGED', 'The labels of a rollout were changed.', (t) => ({
  rollout: t.field({
    type: Rollout,
    description: 'The rollout in its present state.',
    resolve: async (change, _, { reader }) =>
      required(await (await reader()).rollout(change.rolloutKey ?? 0, null), 'rollout'),
  }),
  fromLabels: t.field({
    type: [Label],
    description: 'All previous labels.',
    resolve: ({ fromLabels }) => [...fromLabels],
  }),
  toLabels: t.field({ type: [Label], description: 'All new labels.', resolve: ({ toLabels }) => [...toLabels] }),
}))
