import { StatusError } from '../../mutations/status-error.ts'
import { ChangeConnection, changesOf } from '../changes/change-list.ts'
import { revisionPageArgs } from '../connection.ts'
import { Node } from '../interfaces.ts'
import { Component, Deployment } from '../refs.ts'
import { resourceFields } from '../resources/resource.ts'
import { DeploymentStateEnum, ReadinessEnum } from '../vocabulary.ts'

Component.implement({
  access: 'viewer',
  description: 'A component of a deployment.',
  interfaces: [Node],
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name, unique within the deployment.' }),
    state: t.expose('state', { type: DeploymentStateEnum, description: 'The reported state.' }),
    error: t.expose('error', {
      type: StatusError,
      nullable: true,
      description: 'Why it failed, or, in state PENDING, why it is waiting.',
    }),
    notUnderstood: t.string({
      nullable: true,
      description:
        'What the latest report says about it, if that was not understood: state and error are then those of before. Null: it was understood.',
      resolve: ({ unread }) => unread ?? null,
    }),
    readiness: t.field({
      type: ReadinessEnum,
      description: 'Whether it works, according to its Kubernetes objects. UNKNOWN if no cluster reports them.',
      resolve: ({ readiness }) => readiness ?? 'UNKNOWN',
    }),
    deployment: t.expose('deployment', { type: Deployment, description: 'The deployment that it belongs to.' }),
    ...resourceFields(t, ({ name, deployment: { key, asOf } }) => [{ of: 'component', key, name }, asOf], {
      list: 'Its Kubernetes objects.',
      counts: 'Its Kubernetes objects, counted by status.',
    }),
    changedAt: t.expose('changedAt', { type: 'DateTime', description: 'When it last changed.' }),
    revision: t.expose('revision', { type: 'Revision', description: 'The revision of its last change.' }),
    history: t.field({
      type: ChangeConnection,
      description: 'All its retained changes, oldest first.',
      args: revisionPageArgs(),
      resolve: ({ name, deployment: { key, asOf } }, args, context) =>
        changesOf(context, { of: 'component', key, name }, {}, args, asOf),
    }),
  }),
})
