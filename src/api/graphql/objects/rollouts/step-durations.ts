/** How long the steps of a rollout took. */
import type {
  StepDuration as StepRow,
  StepDurations as StepRows,
} from '../../../../store/read/rollouts/step-durations.ts'
import { builder } from '../../builder.ts'
import { Rollout } from '../refs.ts'
import { DeploymentStateEnum } from '../vocabulary.ts'

const seconds = (millis: number): number => Math.round(millis) / 1_000

const StepDuration = builder.objectRef<StepRow>('StepDuration').implement({
  access: 'viewer',
  description:
    'How long deployments stayed in a state before they went on. Steps that end in FAILED do not count. Values are at most 4.4 % off.',
  fields: (t) => ({
    component: t.string({
      nullable: true,
      description: 'The component. Null: the deployment as a whole.',
      resolve: ({ component }) => (component === '' ? null : component),
    }),
    state: t.expose('state', { type: DeploymentStateEnum, description: 'The state in which the time was spent.' }),
    count: t.exposeInt('count', { description: 'Number of durations.' }),
    mean: t.float({ description: 'The mean in seconds.', resolve: ({ mean }) => seconds(mean) }),
    p50: t.float({ description: 'The median in seconds.', resolve: ({ p50 }) => seconds(p50) }),
    p90: t.float({ description: 'The 90th percentile in seconds.', resolve: ({ p90 }) => seconds(p90) }),
    p95: t.float({ description: 'The 95th percentile in seconds.', resolve: ({ p95 }) => seconds(p95) }),
    max: t.float({ description: 'The longest duration in seconds.', resolve: ({ max }) => seconds(max) }),
  }),
})

const StepDurations = builder.objectRef<StepRows>('StepDurations').implement({
  access: 'viewer',
  description: 'The durations of the steps of a rollout.',
  fields: (t) => ({
    steps: t.field({
      type: [StepDuration],
      description: 'One for each component and state in which time was spent.',
      resolve: ({ steps }) => steps,
    }),
    countedTo: t.expose('countedTo', {
      type: 'Revision',
      nullable: true,
      description: 'The changes up to this revision are counted. Null: none yet.',
    }),
  }),
})

builder.objectField(Rollout, 'durations', (t) =>
  t.field({
    type: StepDurations,
    nullable: true,
    description:
      'How long its steps took until now, about a minute late. It counts changes while the rollout has at least ten deployments; they do not expire with the history. Null: hidden from a caller that labels restrict.',
    resolve: async ({ key }, _, { reader }) => (await (await reader()).stepDurations(key)) ?? null,
  }),
)
