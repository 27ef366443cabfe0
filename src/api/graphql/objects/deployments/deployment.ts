import type { Component as ComponentState } from '../../../../domain/deployment.ts'
import { DomainError } from '../../../../domain/errors.ts'
import { type DeploymentRow, maxNamesakes } from '../../../../store/read/deployments.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import type { Reader } from '../../execution/loaders/reader.ts'
import type { TargetNode } from '../../execution/loaders/targets.ts'
import { required } from '../../execution/required.ts'
import { StatusError } from '../../mutations/status-error.ts'
import { ChangeConnection, changesOf } from '../changes/change-list.ts'
import { type Gather, pageArgs, revisionPageArgs, rowsOf } from '../connection.ts'
import { Node } from '../interfaces.ts'
import { pastArgs, resolvePastArgs } from '../past.ts'
import { Component, type ComponentNode, Deployment, Device, Rollout, RolloutInstance, Target } from '../refs.ts'
import { ReportConnection, reportsOf } from '../report.ts'
import { resourceFields } from '../resources/resource.ts'
import { DesiredDocument, DesiredDocumentConnection, documentsOf } from '../targets/manifest.ts'
import { ConvergenceEnum, DeploymentStateEnum, ReadinessEnum } from '../vocabulary.ts'
import { detailFields } from './details.ts'
import { DeploymentStall, stallOf } from './stall.ts'

Deployment.implement({
  access: 'viewer',
  description: 'An application on one target, as its reporter reports it.',
  interfaces: [Node],
  fields: (t) => ({
    deploymentId: t.exposeString('deploymentId', {
      description: 'The deployment ID that the reporter assigned. Unique per reporter.',
    }),
    reporter: t.exposeString('reporter', {
      description:
        'The device or client that reports it. Reports from other reporters cannot change it. Before the first report, the device that it was declared for. Always the present value, even in past states.',
    }),
    target: t.field({
      type: Target,
      description: 'The device or cluster that it runs on.',
      resolve: (d, _, context) => targetOf(context, d),
    }),
    device: t.field({
      type: Device,
      nullable: true,
      description: 'The device that it runs on. Null if it runs on a cluster.',
      resolve: (d, _, context) => {
        const target = targetOf(context, d)
        return target instanceof Promise ? target.then(asDevice) : asDevice(target)
      },
    }),
    rollout: t.field({
      type: Rollout,
      description: 'The rollout that it belongs to.',
      resolve: (d, _, { opened, reader }) =>
        opened()?.rollout.known(d.rolloutKey, d.asOf) ??
        reader().then(async (r) => required(await r.rollout(d.rolloutKey, d.asOf), 'rollout')),
    }),
    instance: t.field({
      type: RolloutInstance,
      nullable: true,
      description: 'The rollout instance that it belongs to. Null if the rollout has no instances.',
      resolve: async ({ instanceKey, asOf }, _, { reader }) =>
        instanceKey === null ? null : ((await (await reader()).instance(instanceKey, asOf)) ?? null),
    }),
    application: t.exposeString('application', {
      nullable: true,
      description: 'The declared application. Null: not declared.',
    }),
    applicationVersion: t.exposeString('applicationVersion', {
      nullable: true,
      description: 'The declared application version. Null: not declared.',
    }),
    state: t.expose('state', { type: DeploymentStateEnum, description: 'The reported state.' }),
    derivedState: t.expose('derivedState', {
      type: DeploymentStateEnum,
      nullable: true,
      description: 'The state derived from the components. Null if there are no components.',
    }),
    consistent: t.exposeBoolean('consistent', {
      description:
        'Whether the reported state agrees with the components. A failure in the stage PRE_PROCESSING agrees with components that are PENDING or INSTALLED, one in POST_PROCESSING with components that are INSTALLED or REMOVED.',
    }),
    error: t.expose('error', {
      type: StatusError,
      nullable: true,
      description: 'Why it failed, or, in state PENDING, why it is waiting.',
    }),
    ...detailFields(t, 'says'),
    readiness: t.expose('readiness', {
      type: ReadinessEnum,
      description: 'Whether the deployed application works, according to its Kubernetes objects.',
    }),
    components: t.field({
      type: [Component],
      description: 'Its components, in the order of their first report.',
      resolve: (deployment, _, { opened, reader }) => {
        const { key, asOf } = deployment
        const components = deployment.components ?? opened()?.components.known(key, asOf)
        return components
          ? partsOf(deployment, components)
          : reader().then(async (r) => partsOf(deployment, required(await r.components(key, asOf), 'components')))
      },
    }),
    ...resourceFields(t, ({ key, asOf }) => [{ of: 'deployment', key }, asOf], {
      list: 'Its Kubernetes objects.',
      counts: 'Its Kubernetes objects, counted by status.',
    }),
    attempt: t.exposeInt('attempt', {
      description:
        'The number of the current attempt, starting at 1. It increases when a finished deployment starts again.',
    }),
    adoptedManifestVersion: t.exposeString('adoptedManifestVersion', {
      nullable: true,
      description: 'The manifest version that the device has adopted, as a 64-bit decimal number. Null: not reported.',
    }),
    targetManifestVersion: t.exposeString('targetManifestVersion', {
      nullable: true,
      description:
        "The version of the device's manifest that last changed or removed this deployment's document. Null: no document was declared.",
    }),
    desired: t.field({
      type: DesiredDocument,
      nullable: true,
      description: 'The document that the device should apply. Null: none was declared, or it was removed.',
      resolve: async (deployment, _, context) => {
        if (deployment.documentDigest === null) return null
        const [document = null] = await rowsOf(documentsOf(context, deployment, { first: 1 }))
        return document
      },
    }),
    documentHistory: t.field({
      type: DesiredDocumentConnection,
      description: 'The current and former documents of this deployment, newest first.',
      args: pageArgs(),
      resolve: (deployment, args, context) => documentsOf(context, deployment, args),
    }),
    desiredDocument: t.field({
      type: DesiredDocument,
      nullable: true,
      description: 'The newest of all documents of this deployment with this digest. Null: there is none.',
      args: { digest: t.arg.string({ required: true, description: '`sha256:` and the hash of the exact bytes.' }) },
      resolve: async (deployment, { digest }, context) => {
        const present = { ...deployment, asOf: null }
        const [document = null] = await rowsOf(documentsOf(context, present, { first: 1 }, digest))
        return document
      },
    }),
    convergence: t.expose('convergence', {
      type: ConvergenceEnum,
      description: 'How the reported state compares with the desired state.',
    }),
    stalled: t.exposeBoolean('stalled', { description: 'Whether the deployment has been in progress for too long.' }),
    stall: t.field({
      type: DeploymentStall,
      nullable: true,
      description: 'Since when it has stood still, and what that is compared with. Null: it is not stalled.',
      resolve: (deployment, _, context) => stallOf(deployment, context),
    }),
    reportedAt: t.expose('reportedAt', {
      type: 'DateTime',
      nullable: true,
      description: "The time in the last report (reporter's clock).",
    }),
    receivedAt: t.expose('receivedAt', {
      type: 'DateTime',
      description: 'When the server received the last report. Always the present value, even in past states.',
    }),
    changedAt: t.expose('changedAt', { type: 'DateTime', description: 'When it last changed.' }),
    revision: t.expose('revision', { type: 'Revision', description: 'The revision of its last change.' }),
    forgottenAt: t.expose('forgottenAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was forgotten and left all lists and counts. Null: not forgotten.',
    }),
    asOf: t.expose('asOf', {
      type: 'Revision',
      nullable: true,
      description: 'The revision that this object reflects. Null: the present.',
    }),
    history: t.field({
      type: ChangeConnection,
      description: 'All its retained changes, oldest first.',
      args: revisionPageArgs(),
      resolve: (d, args, context) => changesOf(context, { of: 'deployment', key: d.key }, {}, args, d.asOf),
    }),
    reports: t.field({
      type: ReportConnection,
      description:
        'Its retained reports with verdict APPLIED or STALE, in the order received. UNCHANGED reports are not stored.',
      args: pageArgs(),
      resolve: (d, args, context) => reportsOf(context, d.key, args, d.asOf),
    }),
  }),
})

function targetOf(
  { opened, reader }: Pick<Context, 'opened' | 'reader'>,
  { targetKey, asOf }: DeploymentRow,
): TargetNode | Promise<TargetNode> {
  return (
    opened()?.knownTarget(targetKey, asOf) ??
    reader().then(async (r) => required(await r.target(targetKey, asOf), 'target'))
  )
}

function partsOf(deployment: DeploymentRow, components: readonly ComponentState[]): ComponentNode[] {
  return components.map((component) => ({ ...component, deployment }))
}

function asDevice(target: TargetNode): TargetNode | null {
  return target.kind === 'DEVICE' ? target : null
}

/** Loads the rollouts and targets of all rows at once: few statements, and no row waits for its own. */
export const gatherParents: Gather<DeploymentRow> = async (deployments, selected, { reader }) => {
  const wanted = {
    rollout: selected.has('rollout'),
    target: selected.has('target') || selected.has('device'),
  }
  const large = selected.has('components') ? deployments.filter(({ components }) => components === null) : []
  if (!wanted.rollout && !wanted.target && large.length === 0) return
  const { rollout, target, components } = await reader()
  const asOf = deployments[0]?.asOf ?? null
  const all = (load: typeof rollout | typeof target, keys: readonly number[]) =>
    [...new Set(keys)].map((key) => load(key, asOf))
  await Promise.all([
    ...large.map(({ key }) => components(key, asOf)),
    ...(wanted.rollout
      ? all(
          rollout,
          deployments.map(({ rolloutKey }) => rolloutKey),
        )
      : []),
    ...(wanted.target
      ? all(
          target,
          deployments.map(({ targetKey }) => targetKey),
        )
      : []),
  ])
}

builder.queryFields((t) => ({
  deployment: t.field({
    access: 'viewer',
    type: Deployment,
    nullable: true,
    description:
      'The deployment with this ID. Null if there is none. Fails with AMBIGUOUS and lists the matches, at most 100, if there are several.',
    args: {
      deploymentId: t.arg.string({ required: true, description: 'The deployment ID that the reporter assigned.' }),
      deviceId: t.arg.string({
        description:
          'The device that it runs on, or its reporter. Required if several reporters use this deployment ID.',
      }),
      ...pastArgs(),
    },
    resolve: async (_, args, context) => {
      const reader = await context.reader()
      const asOf = await resolvePastArgs(reader, args)
      return theOne(
        reader,
        args.deploymentId,
        await reader.findDeployments(args.deploymentId, args.deviceId ?? null, asOf),
      )
    },
  }),
}))

export async function theOne(
  reader: Reader,
  deploymentId: string,
  found: readonly DeploymentRow[],
): Promise<DeploymentRow | null> {
  const [only] = found
  if (found.length < 2) return only ?? null
  const matches = await Promise.all(
    found.slice(0, maxNamesakes).map(async ({ targetKey, reporter, asOf }) => {
      const target = await reader.target(targetKey, asOf)
      return { deploymentId, deviceId: target?.name ?? null, reporter }
    }),
  )
  const listed = matches.slice(0, 10).map(({ deviceId, reporter }) => `${deviceId} (reported by ${reporter})`)
  const isCut = found.length > maxNamesakes
  const more = isCut ? ' and more' : found.length > listed.length ? ` and ${found.length - listed.length} more` : ''
  throw new DomainError(
    'AMBIGUOUS',
    `${isCut ? `more than ${maxNamesakes}` : found.length} deployments have the ID ${deploymentId}: on ${listed.join(', ')}${more}. Set deviceId to select one.`,
    { facts: { matches } },
  )
}
