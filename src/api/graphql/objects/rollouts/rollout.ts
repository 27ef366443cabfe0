import type { Convergence } from '../../../../domain/desired.ts'
import { DomainError } from '../../../../domain/errors.ts'
import type { RolloutName } from '../../../../domain/rollout.ts'
import { type ConvergenceCounts, convergenceCountsOf } from '../../../../store/read/counts/deployment-counts.ts'
import type { RolloutRow } from '../../../../store/read/rollouts/rollouts.ts'
import { builder } from '../../builder.ts'
import type { Reader } from '../../execution/loaders/reader.ts'
import { ChangeConnection, changesOf } from '../changes/change-list.ts'
import { pageArgs, revisionPageArgs } from '../connection.ts'
import { countsOf, DeploymentCounts, loadCounts } from '../counts.ts'
import { DeploymentConnection, deploymentListArgs, deploymentsOf } from '../deployments/deployment-list.ts'
import { DeploymentGroupConnection, groupArgs, groupsOf } from '../groups/group.ts'
import { Node } from '../interfaces.ts'
import { decodeNodeId, encodeNodeId } from '../node.ts'
import { pastArgs, resolvePastArgs } from '../past.ts'
import { LifecycleAction, Rollout, RolloutInstance } from '../refs.ts'
import { resourceFields } from '../resources/resource.ts'
import { DeploymentFilterRef, toDeploymentFilter } from '../selectors/deployment-filter.ts'
import { DeploymentCountsPoint, seriesArgs, seriesOf } from '../series/deployment-series.ts'
import {
  ConvergenceEnum,
  InstanceStatusEnum,
  LifecycleStateEnum,
  ReadinessEnum,
  RolloutKindEnum,
} from '../vocabulary.ts'
import { lifeFields } from './rollout-life.ts'

Rollout.implement({
  access: 'viewer',
  description:
    'An intent to run an application on many targets. Undeclared deployments with the same deployment ID form a rollout too.',
  interfaces: [Node],
  fields: (t) => ({
    presentId: t.id({
      description: 'The node ID of the rollout in its present state: `id`, unless this object is of the past.',
      resolve: ({ key }) => encodeNodeId('Rollout', key, null),
    }),
    kind: t.expose('kind', { type: RolloutKindEnum, description: 'The origin of the rollout.' }),
    name: t.exposeString('name', {
      description:
        'The name. Together with project, composite application, its version and provider it is unique within the kind.',
    }),
    project: t.exposeString('project', { nullable: true, description: 'The project. Null: none.' }),
    compositeApp: t.exposeString('compositeApp', {
      nullable: true,
      description: 'The composite application. Null: none.',
    }),
    compositeAppVersion: t.exposeString('compositeAppVersion', {
      nullable: true,
      description: 'The version of the composite application. Null: none.',
    }),
    compositeProfile: t.exposeString('compositeProfile', {
      nullable: true,
      description: 'The profile of the composite application. It has no history. Null: not recorded.',
    }),
    provider: t.exposeString('provider', {
      nullable: true,
      description: 'The provider of the cluster, for network intents of a cluster. Null for other kinds.',
    }),
    state: t.expose('state', {
      type: LifecycleStateEnum,
      nullable: true,
      description: 'The state after the last lifecycle action. Null: no actions are recorded.',
    }),
    status: t.expose('status', {
      type: InstanceStatusEnum,
      nullable: true,
      description: 'The status of the current instance. Null: not reported.',
    }),
    readiness: t.field({
      type: ReadinessEnum,
      description: 'Whether it works, according to its Kubernetes objects. UNKNOWN if no cluster reports them.',
      resolve: async ({ key, asOf }, _, { reader }) =>
        (await (await reader()).readinessSum({ of: 'rollout', key }, asOf)) ?? 'UNKNOWN',
    }),
    convergence: t.field({
      type: ConvergenceEnum,
      description:
        'The worst convergence of its deployments, in the order FAILED, STALE, APPLYING, UNKNOWN, CONVERGED.',
      resolve: ({ key, asOf, counters }, _, { reader }) =>
        counters
          ? sumOfConvergence(convergenceCountsOf(counters))
          : reader().then(async (r) => sumOfConvergence(await r.convergenceCounts({ of: 'rollout', key }, {}, asOf))),
    }),
    ...lifeFields(t),
    changes: t.field({
      type: ChangeConnection,
      description:
        'The retained changes of its labels, deployments, resources, instances and actions, oldest first, and those with which deployments left it: DEPLOYMENT_REVISED and COMPONENT_REMOVED.',
      args: revisionPageArgs(),
      resolve: ({ key, asOf }, args, context) => changesOf(context, { of: 'rollout', key }, {}, args, asOf),
    }),
    actions: t.field({
      type: [LifecycleAction],
      description: 'All recorded lifecycle actions, oldest first. They never expire.',
      resolve: async ({ key, asOf }, _, { reader }) => (await (await reader()).actionsOf(key, asOf)) ?? [],
    }),
    instances: t.field({
      type: [RolloutInstance],
      description: 'Its instances, oldest first.',
      resolve: async ({ key, asOf }, _, { reader }) => (await (await reader()).instancesOf(key, asOf)) ?? [],
    }),
    instance: t.field({
      type: RolloutInstance,
      nullable: true,
      description: 'The instance with this ID, or the current instance if `id` is absent.',
      args: { id: t.arg.string({ description: 'The instance ID that the orchestrator assigned.' }) },
      resolve: async ({ key, asOf }, { id }, { reader }) => {
        const instances = (await (await reader()).instancesOf(key, asOf)) ?? []
        const wanted = id ?? null
        return (wanted === null ? instances.at(-1) : instances.find((one) => one.instanceId === wanted)) ?? null
      },
    }),
    ...resourceFields(t, ({ key, asOf }) => [{ of: 'rollout', key }, asOf], {
      list: "The Kubernetes objects of the current instance, or of those in the filter's `instanceIds`.",
      counts: 'The Kubernetes objects of the current instance, counted by status.',
    }),
    deployments: t.field({
      type: DeploymentConnection,
      description: 'Its deployments.',
      args: { ...deploymentListArgs(), ...pageArgs() },
      resolve: ({ key, asOf }, args, context) => deploymentsOf(context, { of: 'rollout', key }, args, asOf),
    }),
    deploymentGroups: t.field({
      type: DeploymentGroupConnection,
      description: 'Its deployments that match the filter, in groups.',
      args: { ...groupArgs(), ...pageArgs() },
      resolve: ({ key, asOf }, args, context) => groupsOf(context, { of: 'rollout', key }, args, asOf),
    }),
    deploymentCounts: t.field({
      type: DeploymentCounts,
      description: 'Its deployments, counted by state.',
      args: { filter: t.arg({ type: DeploymentFilterRef, description: 'Selects the deployments to count.' }) },
      resolve: ({ key, asOf, counters }, { filter }, context) => {
        const of = { of: 'rollout', key } as const
        if (counters && !filter) return countsOf(of, counters, asOf)
        return context.reader().then((r) => loadCounts(r, of, toDeploymentFilter(filter), asOf, counters))
      },
    }),
    deploymentCountsOverTime: t.field({
      type: [DeploymentCountsPoint],
      description: 'Its deployments, counted by state at each of several moments, for any past of the rollout itself.',
      args: seriesArgs(),
      resolve: ({ key }, args, context) => seriesOf(context, { of: 'rollout', key }, args),
    }),
  }),
})

function sumOfConvergence(counts: ConvergenceCounts | undefined): Convergence {
  const order = ['FAILED', 'STALE', 'APPLYING', 'UNKNOWN', 'CONVERGED'] as const
  return (
    order.find((convergence) => (counts?.[convergence.toLowerCase() as Lowercase<Convergence>] ?? 0) > 0) ?? 'UNKNOWN'
  )
}

export const RolloutKey = builder.inputType('RolloutKey', {
  description: 'The full name of a rollout. An absent field means that the rollout does not have it.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'The name.' }),
    project: t.string({ description: 'The project. Null: none.' }),
    compositeApp: t.string({ description: 'The composite application. Null: none.' }),
    compositeAppVersion: t.string({ description: 'The version of the composite application. Null: none.' }),
    provider: t.string({
      description: 'The provider of the cluster, for network intents of a cluster. Null for other kinds.',
    }),
  }),
})

const RolloutBy = builder.inputType('RolloutBy', {
  description: 'What selects one rollout.',
  isOneOf: true,
  fields: (t) => ({
    id: t.id({ description: 'The node ID.' }),
    key: t.field({ type: RolloutKey, description: 'The full name.' }),
  }),
})

export const rolloutArgs = () =>
  builder.args((t) => ({
    by: t.field({
      type: RolloutBy,
      description: 'Exactly one of the node ID and the full name. Give either this, `id` or `key`.',
    }),
    id: t.id({ description: 'The node ID. Give either `id` or `key`.' }),
    key: t.field({ type: RolloutKey, description: 'The full name. Give either `id` or `key`.' }),
  }))

/** The requested rollout. `key` null: an ID that does not name a rollout. */
export type RolloutWanted =
  | { readonly by: 'id'; readonly key: number | null; readonly asOf: number | null }
  | { readonly by: 'name'; readonly name: Omit<RolloutName, 'kind'> }

interface ByIdOrKey {
  readonly id?: string | null | undefined
  readonly key?: typeof RolloutKey.$inferInput | null | undefined
}

export function wantedRollout({
  by,
  ...args
}: ByIdOrKey & { readonly by?: ByIdOrKey | null | undefined }): RolloutWanted {
  if (by) {
    if ((args.id ?? args.key ?? null) !== null)
      throw new DomainError('BAD_USER_INPUT', 'give only one of by, id and key')
    return wantedRollout(by)
  }
  if ((args.id ?? null) !== null && args.key) throw new DomainError('BAD_USER_INPUT', 'give either id or key, not both')
  if (args.key) {
    const { name, project = null, compositeApp = null, compositeAppVersion = null, provider = null } = args.key
    return { by: 'name', name: { name, project, compositeApp, compositeAppVersion, provider } }
  }
  if (typeof args.id !== 'string') throw new DomainError('BAD_USER_INPUT', 'give id or key to select a rollout')
  const id = decodeNodeId(args.id)
  return id?.type === 'Rollout' ? { by: 'id', key: id.key, asOf: id.asOf } : { by: 'id', key: null, asOf: null }
}

export async function findRollout(
  reader: Reader,
  wanted: RolloutWanted,
  asOf: number | null,
): Promise<RolloutRow | null> {
  if (wanted.by === 'name') return reader.rolloutByName(wanted.name, asOf)
  return wanted.key === null ? null : ((await reader.rollout(wanted.key, asOf)) ?? null)
}

builder.queryFields((t) => ({
  rollout: t.field({
    access: 'viewer',
    type: Rollout,
    nullable: true,
    description:
      'The rollout with this ID or name. Null if there is none. If several kinds have the name, the declared rollout.',
    args: { ...rolloutArgs(), ...pastArgs() },
    resolve: async (_, args, context) => {
      const wanted = wantedRollout(args)
      const reader = await context.reader()
      const inId = wanted.by === 'id' ? wanted.asOf : null
      if (inId !== null && (args.asOf ?? args.atRevision ?? null) !== null)
        throw new DomainError('BAD_USER_INPUT', 'id already refers to a past revision: omit asOf and atRevision')
      return findRollout(reader, wanted, await resolvePastArgs(reader, inId === null ? args : { atRevision: inId }))
    },
  }),
}))
