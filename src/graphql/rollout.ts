import type { Convergence } from '../domain/desired.ts'
import { DomainError } from '../domain/errors.ts'
import type { RolloutName } from '../domain/rollout.ts'
import { type ConvergenceCounts, convergenceCountsOf } from '../store/deployments.ts'
import type { RolloutRow } from '../store/rollouts.ts'
import { builder } from './builder.ts'
import { connect, implementConnection, pageArgs } from './connection.ts'
import { countsOf, DeploymentCounts, loadCounts } from './counts.ts'
import { DeploymentFilterRef, toDeploymentFilter } from './deployment-filter.ts'
import { DeploymentConnection, deploymentListArgs, deploymentsOf } from './deployment-list.ts'
import { givenFields } from './input.ts'
import { Node } from './interfaces.ts'
import type { Reader } from './loaders.ts'
import { decodeNodeId } from './node.ts'
import { pastArgs, resolvePastArgs } from './past.ts'
import { resourceFields } from './resource.ts'
import { LifecycleAction, RolloutInstance } from './rollout-instance.ts'
import {
  ConvergenceEnum,
  InstanceStatusEnum,
  LifecycleStateEnum,
  ReadinessEnum,
  RolloutKindEnum,
} from './vocabulary.ts'

export const Rollout = builder.objectRef<RolloutRow>('Rollout')

Rollout.implement({
  access: 'viewer',
  description: 'An intent: what should run on many targets. Undeclared deployments of one id are a rollout too.',
  interfaces: [Node],
  fields: (t) => ({
    kind: t.expose('kind', { type: RolloutKindEnum, description: 'Where it comes from.' }),
    name: t.exposeString('name', { description: 'Its name; with the fields below it is unique within its kind.' }),
    project: t.exposeString('project', { nullable: true, description: 'The project it belongs to.' }),
    compositeApp: t.exposeString('compositeApp', {
      nullable: true,
      description: 'The composite application it rolls out.',
    }),
    compositeAppVersion: t.exposeString('compositeAppVersion', {
      nullable: true,
      description: "The composite application's version.",
    }),
    compositeProfile: t.exposeString('compositeProfile', {
      nullable: true,
      description: 'The profile of the composite application; null when nobody told.',
    }),
    provider: t.exposeString('provider', {
      nullable: true,
      description: 'The provider of the cluster whose intents it holds.',
    }),
    state: t.expose('state', {
      type: LifecycleStateEnum,
      nullable: true,
      description: 'What a user last did with it; null when nobody records that.',
    }),
    status: t.expose('status', {
      type: InstanceStatusEnum,
      nullable: true,
      description: 'How far its current run is; null when nobody tells.',
    }),
    readiness: t.field({
      type: ReadinessEnum,
      description: 'Whether what was rolled out does its work: UNKNOWN unless somebody shows its Kubernetes objects.',
      resolve: async ({ key, asOf }, _, { reader }) =>
        (await (await reader()).readinessSum({ of: 'rollout', key }, asOf)) ?? 'UNKNOWN',
    }),
    convergence: t.field({
      type: ConvergenceEnum,
      description:
        'How its deployments together compare with what their devices should run: the first that any of them is of FAILED, STALE, APPLYING, UNKNOWN, CONVERGED.',
      resolve: ({ key, asOf, counters }, _, { reader }) =>
        counters
          ? sumOfConvergence(convergenceCountsOf(counters))
          : reader().then(async (r) => sumOfConvergence(await r.convergenceCounts({ of: 'rollout', key }, {}, asOf))),
    }),
    actions: t.field({
      type: [LifecycleAction],
      description: 'All that users did with it, oldest first; kept for ever.',
      resolve: async ({ key, asOf }, _, { reader }) => (await (await reader()).actionsOf(key, asOf)) ?? [],
    }),
    instances: t.field({
      type: [RolloutInstance],
      description: 'Its runs, oldest first.',
      resolve: async ({ key, asOf }, _, { reader }) => (await (await reader()).instancesOf(key, asOf)) ?? [],
    }),
    instance: t.field({
      type: RolloutInstance,
      nullable: true,
      description: 'One of its runs; without an id the current one.',
      args: { id: t.arg.string({ description: 'What its orchestrator calls it.' }) },
      resolve: async ({ key, asOf }, { id }, { reader }) => {
        const instances = (await (await reader()).instancesOf(key, asOf)) ?? []
        const wanted = id ?? null
        return (wanted === null ? instances.at(-1) : instances.find((one) => one.instanceId === wanted)) ?? null
      },
    }),
    ...resourceFields(t, ({ key, asOf }) => [{ of: 'rollout', key }, asOf], {
      list: 'The Kubernetes objects of its current run; of others by `instanceIds`.',
      counts: 'The Kubernetes objects of its current run counted by status.',
    }),
    deployments: t.field({
      type: DeploymentConnection,
      description: 'Its deployments.',
      args: { ...deploymentListArgs(), ...pageArgs() },
      resolve: ({ key, asOf }, args, context) => deploymentsOf(context, { of: 'rollout', key }, args, asOf),
    }),
    deploymentCounts: t.field({
      type: DeploymentCounts,
      description: 'Its deployments counted by state.',
      args: { filter: t.arg({ type: DeploymentFilterRef, description: 'Which of them to count.' }) },
      resolve: ({ key, asOf, counters }, { filter }, context) => {
        if (counters && !filter) return countsOf(counters, asOf)
        const of = { of: 'rollout', key } as const
        return context.reader().then((r) => loadCounts(r, of, toDeploymentFilter(filter), asOf, counters))
      },
    }),
  }),
})

function sumOfConvergence(counts: ConvergenceCounts | undefined): Convergence {
  const order = ['FAILED', 'STALE', 'APPLYING', 'UNKNOWN', 'CONVERGED'] as const
  return (
    order.find((convergence) => (counts?.[convergence.toLowerCase() as Lowercase<Convergence>] ?? 0) > 0) ?? 'UNKNOWN'
  )
}

const RolloutConnection = implementConnection('Rollout', () => Rollout, 'rollouts')

const RolloutFilterRef = builder.inputType('RolloutFilter', {
  description: 'Which rollouts: any of the values within a field, all fields together. An empty list matches nothing.',
  fields: (t) => ({
    kinds: t.field({ type: [RolloutKindEnum], description: 'Where they come from.' }),
    projects: t.stringList({ description: 'Projects.' }),
    names: t.stringList({ description: 'Names.' }),
    states: t.field({ type: [LifecycleStateEnum], description: 'What a user last did with them.' }),
    statuses: t.field({ type: [InstanceStatusEnum], description: 'How far their current runs are.' }),
    text: t.string({ description: 'Part of its name, project or composite application, in any case.' }),
  }),
})

export const RolloutKey = builder.inputType('RolloutKey', {
  description: 'The full name of a rollout: what is left out is what it does not have.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name.' }),
    project: t.string({ description: 'The project it belongs to.' }),
    compositeApp: t.string({ description: 'The composite application it rolls out.' }),
    compositeAppVersion: t.string({ description: "The composite application's version." }),
    provider: t.string({ description: 'The provider of the cluster whose intents it holds.' }),
  }),
})

export const rolloutArgs = () =>
  builder.args((t) => ({
    id: t.id({ description: 'Its node id. Either this or `key`.' }),
    key: t.field({ type: RolloutKey, description: 'Its full name. Either this or `id`.' }),
  }))

/** Which rollout is meant; `key` null: an id that nothing has. */
export type RolloutWanted =
  | { readonly by: 'id'; readonly key: number | null; readonly asOf: number | null }
  | { readonly by: 'name'; readonly name: Omit<RolloutName, 'kind'> }

export function wantedRollout(args: {
  readonly id?: string | null | undefined
  readonly key?: typeof RolloutKey.$inferInput | null | undefined
}): RolloutWanted {
  if ((args.id ?? null) !== null && args.key) throw new DomainError('BAD_USER_INPUT', 'give either id or key, not both')
  if (args.key) {
    const { name, project = null, compositeApp = null, compositeAppVersion = null, provider = null } = args.key
    return { by: 'name', name: { name, project, compositeApp, compositeAppVersion, provider } }
  }
  if (typeof args.id !== 'string') throw new DomainError('BAD_USER_INPUT', 'give id or key: they say which rollout')
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
    description: 'One rollout; null when there is none. Of several kinds with that name the declared one.',
    args: { ...rolloutArgs(), ...pastArgs() },
    resolve: async (_, args, context) => {
      const wanted = wantedRollout(args)
      const reader = await context.reader()
      const inId = wanted.by === 'id' ? wanted.asOf : null
      if (inId !== null && (args.asOf ?? args.atRevision ?? null) !== null)
        throw new DomainError(
          'BAD_USER_INPUT',
          'this id is of an object of the past, so asOf and atRevision say it twice',
        )
      return findRollout(reader, wanted, await resolvePastArgs(reader, inId === null ? args : { atRevision: inId }))
    },
  }),
  rollouts: t.field({
    access: 'viewer',
    type: RolloutConnection,
    description: 'All rollouts, newest first. Undeclared ones are listed while they have deployments.',
    args: { filter: t.arg({ type: RolloutFilterRef, description: 'Which of them.' }), ...pageArgs() },
    resolve: (_, args, context) => {
      const filter = givenFields(args.filter ?? {})
      return connect(
        args,
        async (page) => (await context.reader()).rollouts(filter, page),
        async () => (await context.reader()).rolloutCount(filter),
      )
    },
  }),
}))
