import { DomainError } from '../domain/errors.ts'
import type { DeploymentRow } from '../store/deployments.ts'
import { builder } from './builder.ts'
import { ChangeConnection, changesOf } from './change-list.ts'
import { Component } from './component.ts'
import { type Gather, pageArgs, revisionPageArgs } from './connection.ts'
import type { Context } from './context.ts'
import { Node } from './interfaces.ts'
import { type Reader, shownVersions, type TargetNode } from './loaders.ts'
import { DesiredDocument } from './manifest.ts'
import { pastArgs, resolvePastArgs } from './past.ts'
import { ReportConnection, reportsOf } from './report.ts'
import { required } from './required.ts'
import { resourceFields } from './resource.ts'
import { Rollout } from './rollout.ts'
import { RolloutInstance } from './rollout-instance.ts'
import { StatusError } from './status-error.ts'
import { Device, Target } from './target.ts'
import { ConvergenceEnum, DeploymentStateEnum, ReadinessEnum } from './vocabulary.ts'

export const Deployment = builder.objectRef<DeploymentRow>('Deployment')

Deployment.implement({
  access: 'viewer',
  description: 'An application on one target, as its reporter tells of it.',
  interfaces: [Node],
  fields: (t) => ({
    deploymentId: t.exposeString('deploymentId', { description: 'What its reporter calls it; unique per reporter.' }),
    reporter: t.exposeString('reporter', {
      description: 'The device or client that reports it, and no other can touch it.',
    }),
    target: t.field({
      type: Target,
      description: 'What it runs on.',
      resolve: (d, _, context) => targetOf(context, d),
    }),
    device: t.field({
      type: Device,
      nullable: true,
      description: 'The device it runs on; null when that is a cluster.',
      resolve: (d, _, context) => {
        const target = targetOf(context, d)
        return target instanceof Promise ? target.then(asDevice) : asDevice(target)
      },
    }),
    rollout: t.field({
      type: Rollout,
      description: 'The rollout it is part of.',
      resolve: (d, _, { opened, reader }) =>
        opened()?.rollout.known(d.rolloutKey, d.asOf) ??
        reader().then(async (r) => required(await r.rollout(d.rolloutKey, d.asOf), 'rollout')),
    }),
    instance: t.field({
      type: RolloutInstance,
      nullable: true,
      description: 'The run of the rollout that it is part of; null where there are none.',
      resolve: async ({ instanceKey, asOf }, _, { reader }) =>
        instanceKey === null ? null : ((await (await reader()).instance(instanceKey, asOf)) ?? null),
    }),
    application: t.exposeString('application', {
      nullable: true,
      description: 'What is deployed, if somebody declared it.',
    }),
    applicationVersion: t.exposeString('applicationVersion', {
      nullable: true,
      description: 'Its version, if somebody declared it.',
    }),
    state: t.expose('state', { type: DeploymentStateEnum, description: 'The state as reported.' }),
    derivedState: t.expose('derivedState', {
      type: DeploymentStateEnum,
      nullable: true,
      description: 'The state that the components together say; null without components.',
    }),
    consistent: t.exposeBoolean('consistent', {
      description: 'Whether the components bear out the reported state. A disagreement is a fact, not an error.',
    }),
    error: t.expose('error', { type: StatusError, nullable: true, description: 'Why it failed, or waits.' }),
    readiness: t.expose('readiness', { type: ReadinessEnum, description: 'Whether what was deployed does its work.' }),
    components: t.field({
      type: [Component],
      description: 'Its parts, in the order in which they were first heard of.',
      resolve: (deployment) => deployment.components.map((component) => ({ ...component, deployment })),
    }),
    ...resourceFields(t, ({ key, asOf }) => [{ of: 'deployment', key }, asOf], {
      list: 'Its Kubernetes objects.',
      counts: 'Its Kubernetes objects counted by status.',
    }),
    attempt: t.exposeInt('attempt', {
      description: 'Which try this is: 1, and one more each time a finished one begins again.',
    }),
    adoptedManifestVersion: t.exposeString('adoptedManifestVersion', {
      nullable: true,
      description:
        "The version of the desired state that the device works on, if it says so: a 64-bit number's digits.",
    }),
    targetManifestVersion: t.exposeString('targetManifestVersion', {
      nullable: true,
      description:
        "The version of its device's manifest that last changed what it should run, or withdrew it; null: no document was declared.",
    }),
    desired: t.field({
      type: DesiredDocument,
      nullable: true,
      description: 'The document that its device should apply; null: none, or it was withdrawn.',
      resolve: async ({ key, documentDigest, targetManifestVersion, asOf }, _, { reader }) => {
        if (documentDigest === null) return null
        // Now it is the newest of them, so that those of many are read together.
        const upTo = asOf === null ? null : targetManifestVersion
        const [document = null] = (await (await reader()).documentsOf(key, 1, upTo)) ?? []
        return document
      },
    }),
    desiredHistory: t.field({
      type: [DesiredDocument],
      description: 'The documents that its device should have applied until then, newest first: at most the last 100.',
      resolve: async ({ key, asOf, targetManifestVersion }, _, context) => {
        const upTo = asOf === null ? null : (targetManifestVersion ?? '0')
        const documents = (await (await context.reader()).documentsOf(key, shownVersions, upTo)) ?? []
        context.spend(documents.length)
        return documents
      },
    }),
    desiredDocument: t.field({
      type: DesiredDocument,
      nullable: true,
      description: 'Of desiredHistory the newest with this digest; null: none has it.',
      args: { digest: t.arg.string({ required: true, description: '`sha256:` and the hash of its exact bytes.' }) },
      resolve: async ({ key }, { digest }, { reader }) => {
        const documents = (await (await reader()).documentsOf(key, shownVersions, null)) ?? []
        return documents.find((document) => document.digest === digest) ?? null
      },
    }),
    convergence: t.expose('convergence', {
      type: ConvergenceEnum,
      description: 'How it compares with what its device should run.',
    }),
    stalled: t.exposeBoolean('stalled', { description: 'Whether it has been under way for too long.' }),
    reportedAt: t.expose('reportedAt', {
      type: 'DateTime',
      nullable: true,
      description: "The reporter's clock in the last report heard.",
    }),
    receivedAt: t.expose('receivedAt', {
      type: 'DateTime',
      description: 'Our clock when the last report was heard; not part of the past.',
    }),
    changedAt: t.expose('changedAt', { type: 'DateTime', description: 'When it last changed.' }),
    revision: t.expose('revision', { type: 'Revision', description: 'Its last change.' }),
    forgottenAt: t.expose('forgottenAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it left all lists and counts; null while it is in them.',
    }),
    asOf: t.expose('asOf', {
      type: 'Revision',
      nullable: true,
      description: 'Shown as it was at this revision; null: as it is now.',
    }),
    history: t.field({
      type: ChangeConnection,
      description: 'Everything that happened to it, oldest first.',
      args: revisionPageArgs(),
      resolve: (d, args, context) => changesOf(context, { of: 'deployment', key: d.key }, {}, args, d.asOf),
    }),
    reports: t.field({
      type: ReportConnection,
      description: 'Every report about it that was applied or stale, in the order heard; repeats are not kept.',
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

function asDevice(target: TargetNode): TargetNode | null {
  return target.kind === 'DEVICE' ? target : null
}

/** What deployments belong to: few statements, and no row of a list has to wait for its own. */
export const gatherParents: Gather<DeploymentRow> = async (deployments, selected, { reader }) => {
  const wanted = {
    rollout: selected.has('rollout'),
    target: selected.has('target') || selected.has('device'),
  }
  if (!wanted.rollout && !wanted.target) return
  const { rollout, target } = await reader()
  const asOf = deployments[0]?.asOf ?? null
  const all = (load: typeof rollout | typeof target, keys: readonly number[]) =>
    [...new Set(keys)].map((key) => load(key, asOf))
  await Promise.all([
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
      'The deployment of this id; null when there is none. Error AMBIGUOUS, with all matches, when there are several.',
    args: {
      deploymentId: t.arg.string({ required: true, description: 'What its reporter calls it.' }),
      deviceId: t.arg.string({
        description: 'The device it runs on, or its reporter: needed when several report that id.',
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

/** At most this many matches are told. */
const matchesTold = 100

export async function theOne(
  reader: Reader,
  deploymentId: string,
  found: readonly DeploymentRow[],
): Promise<DeploymentRow | null> {
  const [only] = found
  if (found.length < 2) return only ?? null
  const matches = await Promise.all(
    found.slice(0, matchesTold).map(async ({ targetKey, reporter, asOf }) => {
      const target = await reader.target(targetKey, asOf)
      return { deploymentId, deviceId: target?.name ?? null, reporter }
    }),
  )
  const told = matches.slice(0, 10).map(({ deviceId, reporter }) => `${deviceId} (reported by ${reporter})`)
  const more = found.length > told.length ? ` and ${found.length - told.length} more` : ''
  throw new DomainError(
    'AMBIGUOUS',
    `${found.length} deployments are called ${deploymentId}: on ${told.join(', ')}${more}; say which by deviceId`,
    { facts: { matches } },
  )
}
