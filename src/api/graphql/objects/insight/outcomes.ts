/** How the steps of a rollout ended, and how long they took. */
import { DomainError } from '../../../../domain/errors.ts'
import {
  type OutcomeGroup as GroupRow,
  mostEntries,
  type OutcomeGrouping,
  type StepOutcome as StepRow,
} from '../../../../store/read/insight/outcomes.ts'
import { builder } from '../../builder.ts'
import { Rollout } from '../refs.ts'
import { DeploymentStateEnum } from '../vocabulary.ts'

const mostGroups = 50
const seconds = (millis: number): number => Math.round(millis) / 1_000

const GroupingEnum = builder.enumType('OutcomeGrouping', {
  description: 'What steps are counted by.',
  values: {
    ROLLOUT: { description: 'All steps of the deployments of the rollout, in one group.' },
    APPLICATION_VERSION: { description: 'The version and the application that were declared when the step ended.' },
    COMPONENT: { description: 'The component: its own steps, not those of the deployment.' },
    ERROR: {
      description:
        'The code of the error, of the steps that ended in FAILED: of a failed component, else of the deployment.',
    },
  } satisfies { readonly [By in OutcomeGrouping]: { readonly description: string } },
})

const StepOutcome = builder.objectRef<StepRow>('StepOutcome').implement({
  access: 'viewer',
  description: 'Steps from one state to the next. The times are exact.',
  fields: (t) => ({
    from: t.expose('from', { type: DeploymentStateEnum, description: 'The state in which the time was spent.' }),
    to: t.expose('to', { type: DeploymentStateEnum, description: 'The state that followed.' }),
    count: t.exposeInt('count', { description: 'Number of steps.' }),
    p50: t.float({ description: 'The median in seconds.', resolve: ({ p50 }) => seconds(p50) }),
    p90: t.float({ description: 'The 90th percentile in seconds.', resolve: ({ p90 }) => seconds(p90) }),
    p95: t.float({ description: 'The 95th percentile in seconds.', resolve: ({ p95 }) => seconds(p95) }),
    max: t.float({ description: 'The longest time in seconds.', resolve: ({ max }) => seconds(max) }),
  }),
})

const OutcomeGroup = builder.objectRef<GroupRow>('OutcomeGroup').implement({
  access: 'viewer',
  description: 'Steps that have something in common.',
  fields: (t) => ({
    key: t.exposeString('value', { nullable: true, description: 'The common value. Null: there is none.' }),
    detail: t.exposeString('detail', {
      nullable: true,
      description: 'For APPLICATION_VERSION the application, otherwise null.',
    }),
    installed: t.exposeInt('installed', { description: 'Number of steps that ended in INSTALLED.' }),
    failed: t.exposeInt('failed', { description: 'Number of steps that ended in FAILED.' }),
    successRate: t.float({
      nullable: true,
      description: 'The percentage of `installed` in `installed` and `failed`. Null: neither happened.',
      resolve: ({ installed, failed }) => (installed + failed === 0 ? null : (100 * installed) / (installed + failed)),
    }),
    meanAttempts: t.exposeFloat('meanAttempts', {
      nullable: true,
      description:
        'Number of attempts that installed deployments needed, on average. Null: none was installed, or these are components.',
    }),
    maxAttempts: t.exposeInt('maxAttempts', {
      nullable: true,
      description: 'The largest number of attempts that an installed deployment needed. Null: as above.',
    }),
    steps: t.expose('steps', {
      type: [StepOutcome],
      description: 'One for each pair of states, the most frequent first.',
    }),
  }),
})

interface OutcomesNode {
  readonly since: number
  readonly groups: readonly GroupRow[]
}

const RolloutOutcomes = builder.objectRef<OutcomesNode>('RolloutOutcomes').implement({
  access: 'viewer',
  description: 'How steps ended and how long they took.',
  fields: (t) => ({
    since: t.expose('since', {
      type: 'DateTime',
      description: 'Since when the log is kept. Steps that ended before are not counted.',
    }),
    groups: t.field({
      type: [OutcomeGroup],
      description: `The groups with the most steps first, at most ${mostGroups}.`,
      resolve: ({ groups }) => groups.slice(0, mostGroups),
    }),
    groupCount: t.int({ description: 'Number of all groups.', resolve: ({ groups }) => groups.length }),
  }),
})

builder.objectField(Rollout, 'outcomes', (t) =>
  t.field({
    type: RolloutOutcomes,
    nullable: true,
    description: `How its steps ended and how long they took, as of the revision of the rollout. If the rollouts of a request have more than ${mostEntries.postgres} changes, or ${mostEntries.pglite} in the embedded database, the field is refused. Null: hidden from a caller that labels restrict.`,
    args: { by: t.arg({ type: GroupingEnum, defaultValue: 'ROLLOUT', description: 'What the steps are counted by.' }) },
    resolve: async ({ key, asOf }, { by }, { reader }) => {
      const found = await (await reader()).outcomes(key, by ?? 'ROLLOUT', asOf)
      if (!found) return null
      const { since, groups, most } = found
      if (groups) return { since, groups }
      throw new DomainError(
        'BAD_USER_INPUT',
        `outcomes read at most ${most} changes in a request: these rollouts have more`,
      )
    },
  }),
)
