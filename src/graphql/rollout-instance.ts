/** Runs of a rollout, and what users did with it. */
import type { LifecycleAction as ActionRow } from '../domain/lifecycle.ts'
import type { InstanceRow } from '../store/instances.ts'
import { builder } from './builder.ts'
import { pageArgs } from './connection.ts'
import { DeploymentCounts, loadCounts } from './counts.ts'
import { DeploymentFilterRef, toDeploymentFilter } from './deployment-filter.ts'
import { DeploymentConnection, deploymentListArgs, deploymentsOf } from './deployment-list.ts'
import { Node } from './interfaces.ts'
import { resourceFields } from './resource.ts'
import { InstanceStatusEnum, LifecycleStateEnum, ReadinessEnum } from './vocabulary.ts'

export const LifecycleAction = builder
  .objectRef<Pick<ActionRow, 'state' | 'instanceId' | 'instanceRevision' | 'at'>>('LifecycleAction')
  .implement({
    access: 'viewer',
    description: 'Something that a user did with a rollout.',
    fields: (t) => ({
      state: t.expose('state', { type: LifecycleStateEnum, description: 'What it made of the rollout.' }),
      instanceId: t.exposeString('instanceId', { nullable: true, description: 'The run it is about; null: none.' }),
      instanceRevision: t.exposeInt('instanceRevision', {
        description: '0 without a run, 1 when one is instantiated, and 1 more with each update.',
      }),
      at: t.expose('at', { type: 'DateTime', description: 'When it was done.' }),
    }),
  })

export const RolloutInstance = builder.objectRef<InstanceRow>('RolloutInstance')

RolloutInstance.implement({
  access: 'viewer',
  description: 'One run of a rollout. Old ones stay, with all they had.',
  interfaces: [Node],
  fields: (t) => ({
    instanceId: t.exposeString('instanceId', { description: 'What its orchestrator calls it.' }),
    revisionNumber: t.exposeInt('revisionNumber', { description: '1, and 1 more with each update of it.' }),
    status: t.expose('status', { type: InstanceStatusEnum, description: 'How far it is.' }),
    readiness: t.field({
      type: ReadinessEnum,
      description: 'Whether all that it put in place does its work.',
      resolve: async ({ key, asOf }, _, { reader }) =>
        (await (await reader()).readinessSum({ of: 'instance', key }, asOf)) ?? 'UNKNOWN',
    }),
    deployments: t.field({
      type: DeploymentConnection,
      description: 'Its deployments, one a cluster.',
      args: { ...deploymentListArgs(), ...pageArgs() },
      resolve: ({ key, asOf }, args, context) => deploymentsOf(context, { of: 'instance', key }, args, asOf),
    }),
    deploymentCounts: t.field({
      type: DeploymentCounts,
      description: 'Its deployments counted by state.',
      args: { filter: t.arg({ type: DeploymentFilterRef, description: 'Which of them to count.' }) },
      resolve: async ({ key, asOf }, { filter }, context) =>
        loadCounts(await context.reader(), { of: 'instance', key }, toDeploymentFilter(filter), asOf),
    }),
    ...resourceFields(t, ({ key, asOf }) => [{ of: 'instance', key }, asOf], {
      list: 'Its resources.',
      counts: 'Its resources counted by status.',
    }),
  }),
})
