/** Instances of a rollout, and its lifecycle actions. */
import { required } from '../../execution/required.ts'
import { pageArgs } from '../connection.ts'
import { DeploymentCounts, loadCounts } from '../counts.ts'
import { DeploymentConnection, deploymentListArgs, deploymentsOf } from '../deployments/deployment-list.ts'
import { Node } from '../interfaces.ts'
import { LifecycleAction, Rollout, RolloutInstance } from '../refs.ts'
import { resourceFields } from '../resources/resource.ts'
import { DeploymentFilterRef, toDeploymentFilter } from '../selectors/deployment-filter.ts'
import { InstanceStatusEnum, LifecycleStateEnum, ReadinessEnum } from '../vocabulary.ts'

LifecycleAction.implement({
  access: 'viewer',
  description: 'A lifecycle action that a user performed on a rollout.',
  fields: (t) => ({
    state: t.expose('state', { type: LifecycleStateEnum, description: 'The state of the rollout after the action.' }),
    instanceId: t.exposeString('instanceId', {
      nullable: true,
      description: 'The ID of the instance that the action concerns. Null: none.',
    }),
    instanceRevision: t.exposeInt('instanceRevision', {
      description:
        'The number of the revision: 0 if there is no instance, 1 after instantiation, and 1 more after each update.',
    }),
    at: t.expose('at', { type: 'DateTime', description: 'When the action was performed.' }),
    actor: t.exposeString('actor', { description: 'The name of the caller that recorded it.' }),
  }),
})

RolloutInstance.implement({
  access: 'viewer',
  description: 'An instance of a rollout. Former instances are retained with their deployments and resources.',
  interfaces: [Node],
  fields: (t) => ({
    rollout: t.field({
      type: Rollout,
      description: 'The rollout that it belongs to.',
      resolve: async ({ rolloutKey, asOf }, _, { reader }) =>
        required(await (await reader()).rollout(rolloutKey, asOf), 'rollout'),
    }),
    instanceId: t.exposeString('instanceId', { description: 'The instance ID that the orchestrator assigned.' }),
    revisionNumber: t.exposeInt('revisionNumber', {
      description: 'The number of the revision: 1 for the first instance, and 1 more after each update.',
    }),
    status: t.expose('status', { type: InstanceStatusEnum, description: 'The status of the instance.' }),
    readiness: t.field({
      type: ReadinessEnum,
      description: 'Whether all its resources work.',
      resolve: async ({ key, asOf }, _, { reader }) =>
        (await (await reader()).readinessSum({ of: 'instance', key }, asOf)) ?? 'UNKNOWN',
    }),
    deployments: t.field({
      type: DeploymentConnection,
      description: 'Its deployments, one per cluster.',
      args: { ...deploymentListArgs(), ...pageArgs() },
      resolve: ({ key, asOf }, args, context) => deploymentsOf(context, { of: 'instance', key }, args, asOf),
    }),
    deploymentCounts: t.field({
      type: DeploymentCounts,
      description: 'Its deployments, counted by state.',
      args: { filter: t.arg({ type: DeploymentFilterRef, description: 'Selects the deployments to count.' }) },
      resolve: async ({ key, asOf }, { filter }, context) =>
        loadCounts(await context.reader(), { of: 'instance', key }, toDeploymentFilter(filter), asOf),
    }),
    ...resourceFields(t, ({ key, asOf }) => [{ of: 'instance', key }, asOf], {
      list: 'Its resources.',
      counts: 'Its resources, counted by status.',
    }),
  }),
})
