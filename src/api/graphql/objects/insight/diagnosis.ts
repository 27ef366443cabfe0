/** Why deployments of a rollout fail, stand still or wait. domain/insight/diagnosis.ts has the method. */
import type { Cause, DiagnosedProblem, Problem, Tally } from '../../../../domain/insight/observed.ts'
import type { Revision } from '../../../../domain/values.ts'
import type { DeploymentFilter } from '../../../../store/read/filters/deployment-filter.ts'
import type { GroupName } from '../../../../store/read/groups/grouping.ts'
import { mostDiagnosed } from '../../../../store/read/insight/observations.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import { connect, type PageArguments, pageArgs } from '../connection.ts'
import { total } from '../counts.ts'
import { DeploymentConnection } from '../deployments/deployment-list.ts'
import { GroupingEnum } from '../groups/grouping.ts'
import { Rollout } from '../refs.ts'

interface Place {
  readonly rolloutKey: number
  readonly asOf: Revision | null
  readonly problem: Problem
}

type CauseNode = Cause<GroupName> & Place & { readonly examined: number }
type ErrorNode = Tally<GroupName> & Place
type ProblemNode = DiagnosedProblem<GroupName> & Place & { readonly examined: number }

interface DiagnosisNode {
  readonly examined: number
  readonly problems: readonly ProblemNode[]
}

const affectedBy: { readonly [Name in Problem]: DeploymentFilter } = {
  FAILED: { states: ['FAILED'] },
  STALLED: { stalled: true },
  WAITING: {
    states: ['PENDING', 'INSTALLING', 'INSTALLED', 'REMOVING', 'REMOVED'],
    stalled: false,
    where: { or: [{ states: ['PENDING'] }, { convergence: ['STALE'] }] },
  },
}

const ProblemEnum = builder.enumType('DeploymentProblem', {
  description: 'What is wrong with a deployment. A deployment has at most one problem, the first of these.',
  values: {
    FAILED: { description: 'Its state is FAILED.' },
    STALLED: { description: 'It has stood still for longer than usual.' },
    WAITING: { description: 'It has not begun: its state is PENDING, or its convergence is STALE.' },
  } satisfies { readonly [Name in Problem]: { readonly description: string } },
})

const DiagnosisTrait = builder.objectRef<GroupName>('DiagnosisTrait').implement({
  access: 'viewer',
  description: 'What deployments have in common. With the same fields, `filter: {group: …}` selects them.',
  fields: (t) => ({
    by: t.expose('by', { type: GroupingEnum, description: 'The grouping.' }),
    labelKey: t.exposeString('labelKey', { nullable: true, description: 'The key of the label, for LABEL.' }),
    key: t.exposeString('value', { nullable: true, description: 'The common value.' }),
    detail: t.exposeString('detail', {
      nullable: true,
      description: 'For APPLICATION_VERSION the application, for DESIRED_CHANGE the caller, for ERROR the message.',
    }),
  }),
})

const share = 'As a part of all deployments with the problem, from 0 to 1.'

const DiagnosisCause = builder.objectRef<CauseNode>('DiagnosisCause').implement({
  access: 'viewer',
  description:
    'A trait of deployments with a problem that the others do not have as often. Chance alone would hardly do that: see `pValue`.',
  fields: (t) => ({
    trait: t.expose('trait', { type: DiagnosisTrait, description: 'The trait.' }),
    alike: t.expose('alike', {
      type: [DiagnosisTrait],
      description: 'Other traits of exactly the same deployments. The data cannot tell which one is the cause.',
    }),
    count: t.exposeInt('count', { description: 'Number of deployments with the trait and the problem.' }),
    size: t.exposeInt('size', {
      description:
        'Number of deployments with the trait. For BLOCKING_COMPONENT: of those with the problem, with the component and with a component that does not block.',
    }),
    share: t.exposeFloat('share', { description: share }),
    rate: t.exposeFloat('rate', {
      description: 'Deployments with the problem as a part of those with the trait, from 0 to 1.',
    }),
    restRate: t.exposeFloat('restRate', {
      description:
        'The same of the other deployments of the rollout, without those of more significant causes, from 0 to 1. For BLOCKING_COMPONENT: of the other components of the same deployments.',
    }),
    lift: t.exposeFloat('lift', {
      nullable: true,
      description: '`rate` divided by `restRate`: a number of times. Null: none of these others has the problem.',
    }),
    pValue: t.exposeFloat('pValue', {
      description:
        'An upper bound of the probability of such a difference by chance, corrected for the number of compared traits.',
    }),
    summary: t.string({ description: 'The cause in one sentence.', resolve: summaryOf }),
    deployments: t.field({
      type: DeploymentConnection,
      description: 'The deployments with the trait and the problem, the last changed first.',
      args: pageArgs(),
      resolve: (cause, args, context) => affectedOf(cause, args, context),
    }),
  }),
})

const DiagnosisError = builder.objectRef<ErrorNode>('DiagnosisError').implement({
  access: 'viewer',
  description:
    'An error that deployments with a problem show. It says how they fail, not where: a healthy deployment has none to compare.',
  fields: (t) => ({
    trait: t.expose('trait', {
      type: DiagnosisTrait,
      description: 'The error: its code, and its message without what contains a digit.',
    }),
    count: t.exposeInt('count', { description: 'Number of deployments with the error and the problem.' }),
    share: t.exposeFloat('share', { description: share }),
    deployments: t.field({
      type: DeploymentConnection,
      description: 'The deployments with the error and the problem, the last changed first.',
      args: pageArgs(),
      resolve: (error, args, context) => affectedOf(error, args, context),
    }),
  }),
})

const DiagnosisProblem = builder.objectRef<ProblemNode>('DiagnosisProblem').implement({
  access: 'viewer',
  description: 'The deployments of a rollout that have one problem.',
  fields: (t) => ({
    problem: t.expose('problem', { type: ProblemEnum, description: 'The problem.' }),
    count: t.exposeInt('count', { description: 'Number of deployments with the problem.' }),
    share: t.float({
      description: 'As a part of the deployments of the rollout, from 0 to 1.',
      resolve: ({ count, examined }) => count / examined,
    }),
    causes: t.field({
      type: [DiagnosisCause],
      description:
        'At most 5, the one with the most deployments first. Empty: nothing distinguishes them from the others beyond chance.',
      resolve: ({ causes, problem, rolloutKey, asOf, examined }) =>
        causes.map((cause) => ({ ...cause, problem, rolloutKey, asOf, examined })),
    }),
    explained: t.exposeFloat('explained', {
      description:
        'The deployments with the problem and at least one of the causes, as a part of those with the problem, from 0 to 1.',
    }),
    errors: t.field({
      type: [DiagnosisError],
      description: 'The 5 most frequent errors.',
      resolve: ({ errors, problem, rolloutKey, asOf }) =>
        errors.map((error) => ({ ...error, problem, rolloutKey, asOf })),
    }),
  }),
})

const Diagnosis = builder.objectRef<DiagnosisNode>('Diagnosis').implement({
  access: 'viewer',
  description: 'The few causes that explain most of what fails, stands still or waits in a rollout.',
  fields: (t) => ({
    examined: t.exposeInt('examined', {
      description: 'Number of deployments that were compared: all that the caller sees.',
    }),
    problems: t.expose('problems', {
      type: [DiagnosisProblem],
      description: 'One for each problem that a deployment has.',
    }),
  }),
})

builder.objectField(Rollout, 'diagnosis', (t) =>
  t.field({
    type: Diagnosis,
    nullable: true,
    description: `The causes of its problems, from all of its deployments. Nothing is sampled: if the rollouts of a request have more than ${mostDiagnosed.postgres} deployments, or ${mostDiagnosed.pglite} in the embedded database, the field is refused.`,
    resolve: async ({ key, asOf }, _, { reader }) => {
      const { examined, problems } = (await (await reader()).diagnosis(key, asOf)) ?? { examined: 0, problems: [] }
      return { examined, problems: problems.map((one) => ({ ...one, rolloutKey: key, asOf, examined })) }
    },
  }),
)

function affectedOf(
  { trait, problem, rolloutKey, asOf }: Place & { trait: GroupName },
  args: PageArguments,
  context: Context,
) {
  const parent = { of: 'rollout', key: rolloutKey } as const
  const filter = { ...affectedBy[problem], group: trait }
  return connect(
    args,
    async (page) => (await context.reader()).deployments(parent, filter, 'CHANGED_DESC', page, asOf),
    async () => total(await (await context.reader()).deploymentCounts(parent, filter, asOf)),
  )
}

/** `18 of 20 failed deployments: gateway gw-7. 90 % of its 20 deployments failed, 1 % of the others.` */
function summaryOf({ trait, problem, count, size, share, rate, restRate, examined }: CauseNode): string {
  const all = Math.round(count / share)
  const isFirst = size === examined || Math.abs((all - count) / (examined - size) - restRate) < 1e-9
  const others = isFirst ? 'the others' : 'those without another cause'
  const word = { FAILED: 'failed', STALLED: 'stalled', WAITING: 'waiting' }[problem]
  const whole = `${count} of ${all} ${word} deployments: ${nameOfTrait(trait)}.`
  return trait.by === 'BLOCKING_COMPONENT'
    ? `${whole} It blocks ${percent(rate)} of them, another component ${percent(restRate)}.`
    : `${whole} Of the ${size} deployments with it ${percent(rate)} are ${word}, of ${others} ${percent(restRate)}.`
}

function nameOfTrait({ by, labelKey, value, detail }: GroupName): string {
  switch (by) {
    case 'APPLICATION_VERSION':
      return `version ${value}${detail === null ? '' : ` of ${detail}`}`
    case 'BLOCKING_COMPONENT':
      return `component ${value}`
    case 'DESIRED_CHANGE':
      return `the change of the desired state "${value}" by ${detail}`
    case 'LABEL':
      return `label ${labelKey}=${value}`
    default:
      return `${by.toLowerCase()} ${value}`
  }
}

function percent(part: number): string {
  return `${Math.round(part * 1_000) / 10} %`
}
