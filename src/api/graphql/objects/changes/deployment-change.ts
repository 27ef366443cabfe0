/** The changes of deployments. */
import type { ChangeKind, Change as ChangeRow } from '../../../../domain/change.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import { required } from '../../execution/required.ts'
import { StatusError } from '../../mutations/status-error.ts'
import { detailFields } from '../deployments/details.ts'
import { Change, Deployment, Device, Rollout, Target } from '../refs.ts'
import { ConvergenceEnum, DeploymentStateEnum } from '../vocabulary.ts'
import { type FieldsOf, implementChange, nullable, typeNames } from './change.ts'

type Read = Pick<Context, 'reader'>

const DeploymentChange = builder.interfaceRef<ChangeRow>('DeploymentChange').implement({
  access: 'viewer',
  description: 'A change of a deployment.',
  interfaces: [Change],
  resolveType: ({ kind }) => typeNames[kind],
  fields: (t) => ({
    deployment: t.field({
      type: Deployment,
      description: 'The deployment in its present state, even if it is forgotten.',
      resolve: deploymentNow,
    }),
    deploymentId: t.string({
      description: 'The deployment ID that the reporter assigned.',
      resolve: ({ deploymentId }) => required(deploymentId, 'deployment'),
    }),
    device: t.field({
      type: Device,
      ...nullable(
        'The device that the deployment ran on after the change. Null if it ran on a cluster. A document that selects `device` of DeviceRetired too needs an alias for one of them.',
      ),
      resolve: async ({ targetKey, revision }, _, context) => {
        const target = await seen((await context.reader()).target, targetKey ?? 0, revision)
        return target?.kind === 'DEVICE' ? target : null
      },
    }),
    rollout: t.field({
      type: Rollout,
      description: 'The rollout that the deployment belonged to after the change.',
      resolve: async ({ rolloutKey, revision }, _, context) =>
        required(await seen((await context.reader()).rollout, rolloutKey ?? 0, revision), 'rollout'),
    }),
  }),
})

const from = 'The previous state. Null for the first report, and for the first report after a move to another target.'
const to = 'The new state. Equal to `from` if only other fields changed.'

const notSeen = "Null: none, or outside the caller's access scope."

function implementDeploymentChange<Kind extends ChangeKind>(
  kind: Kind,
  description: string,
  fields: FieldsOf<Kind>,
): void {
  implementChange(kind, description, fields, [Change, DeploymentChange])
}

implementDeploymentChange(
  'DEPLOYMENT_STATE_CHANGED',
  'The state, error, attempt or adopted manifest version of a deployment changed.',
  (t) => ({
    from: t.expose('from', { type: DeploymentStateEnum, ...nullable(from) }),
    to: t.expose('to', { type: DeploymentStateEnum, description: to }),
    error: t.expose('error', { type: StatusError, ...nullable('The new error.') }),
    ...detailFields(t, 'changed'),
    attempt: t.exposeInt('attempt', { description: 'The number of the attempt, starting at 1.' }),
    adoptedManifestVersion: t.exposeString(
      'adoptedManifestVersion',
      nullable('The adopted manifest version, as a 64-bit decimal number.'),
    ),
  }),
)

implementDeploymentChange(
  'COMPONENT_STATE_CHANGED',
  'The state or error of a component changed, or what a report says about it was not understood.',
  (t) => ({
    component: t.exposeString('component', { description: 'The name of the component.' }),
    from: t.expose('from', { type: DeploymentStateEnum, ...nullable(from) }),
    to: t.expose('to', { type: DeploymentStateEnum, description: to }),
    error: t.expose('error', { type: StatusError, ...nullable('The new error.') }),
    notUnderstood: t.string({
      ...nullable('What the report says about the component, if that was not understood: it stays as it was.'),
      resolve: ({ unread }) => unread ?? null,
    }),
  }),
)

implementDeploymentChange('COMPONENT_REMOVED', 'A component was removed from its deployment.', (t) => ({
  component: t.exposeString('component', { description: 'The name of the component.' }),
  from: t.expose('from', { type: DeploymentStateEnum, ...nullable('The last state of the component.') }),
}))

implementDeploymentChange(
  'DEPLOYMENT_MOVED',
  'A deployment moved to another target. Reported state does not move with it: the first report on the new target starts again without a previous state.',
  (t) => ({
    fromTarget: t.field({
      type: Target,
      ...nullable("The previous target. Null: outside the caller's access scope."),
      resolve: async (change, _, context) =>
        (await (await context.reader()).target(change.fromTargetKey, null)) ?? null,
    }),
    toTarget: t.field({
      type: Target,
      description: 'The new target.',
      resolve: async ({ toTargetKey, revision }, _, context) =>
        required(await seen((await context.reader()).target, toTargetKey, revision), 'target'),
    }),
  }),
)

implementDeploymentChange(
  'DEPLOYMENT_REVISED',
  'The application, application version or rollout of a deployment changed; of one on a cluster also the readiness of its resources, or whether its run is the current one.',
  (t) => ({
    application: t.exposeString('application', nullable('The new application.')),
    applicationVersion: t.exposeString('applicationVersion', nullable('The new application version.')),
    fromApplication: t.string({
      ...nullable(`The previous application. ${notSeen}`),
      resolve: ({ from }) => from?.application ?? null,
    }),
    fromApplicationVersion: t.string({
      ...nullable(`The previous application version. ${notSeen}`),
      resolve: ({ from }) => from?.applicationVersion ?? null,
    }),
    fromRollout: t.field({
      type: Rollout,
      ...nullable("The previous rollout. Null: it is the same, or outside the caller's access scope."),
      resolve: async ({ fromRolloutKey, revision }, _, context) =>
        fromRolloutKey === null
          ? null
          : ((await seen((await context.reader()).rollout, fromRolloutKey, revision)) ?? null),
    }),
  }),
)

implementDeploymentChange(
  'DEPLOYMENT_FORGOTTEN',
  'A deployment was forgotten: it left all lists and counts. A new report restores it.',
  () => ({}),
)

implementDeploymentChange('DEPLOYMENT_STALLED', 'A deployment stalled, or made progress again.', (t) => ({
  stalled: t.exposeBoolean('stalled', { description: 'Whether the deployment is stalled now.' }),
}))

implementDeploymentChange(
  'CONVERGENCE_CHANGED',
  'The convergence or the desired state of a deployment changed.',
  (t) => ({
    fromConvergence: t.expose('from', { type: ConvergenceEnum, description: 'The previous convergence.' }),
    toConvergence: t.expose('to', {
      type: ConvergenceEnum,
      description: 'The new convergence. Equal to `fromConvergence` if only the desired state changed.',
    }),
    targetManifestVersion: t.exposeString(
      'targetManifestVersion',
      nullable("The version of the device's manifest that contains the new desired state. Null: none."),
    ),
    documentDigest: t.exposeString(
      'documentDigest',
      nullable('The digest of the desired document. Null: the deployment should be removed.'),
    ),
  }),
)

/** The object in its present state. A caller that no longer sees it gets it as of the change. */
async function seen<T>(
  read: (key: number, asOf: number | null) => Promise<T | undefined>,
  key: number,
  revision: number,
): Promise<T | undefined> {
  return (await read(key, null)) ?? (await read(key, revision))
}

async function deploymentNow({ deploymentKey, revision }: ChangeRow, _: unknown, context: Read) {
  return required(await seen((await context.reader()).deployment, deploymentKey ?? 0, revision), 'deployment')
}
