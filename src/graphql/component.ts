import type { Component as ComponentState } from '../domain/deployment.ts'
import type { DeploymentRow } from '../store/deployments.ts'
import { builder } from './builder.ts'
import { ChangeConnection, changesOf } from './change-list.ts'
import { revisionPageArgs } from './connection.ts'
import { Deployment } from './deployment.ts'
import { Node } from './interfaces.ts'
import { resourceFields } from './resource.ts'
import { StatusError } from './status-error.ts'
import { DeploymentStateEnum, ReadinessEnum } from './vocabulary.ts'

export type ComponentNode = ComponentState & { readonly deployment: DeploymentRow }

export const Component = builder.objectRef<ComponentNode>('Component')

Component.implement({
  access: 'viewer',
  description: 'A part of a deployment.',
  interfaces: [Node],
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Unique within its deployment.' }),
    state: t.expose('state', { type: DeploymentStateEnum, description: 'The state as reported.' }),
    error: t.expose('error', { type: StatusError, nullable: true, description: 'Why it failed, or waits.' }),
    readiness: t.field({
      type: ReadinessEnum,
      description: 'Whether it does its work: UNKNOWN unless somebody shows its Kubernetes objects.',
      resolve: ({ readiness }) => readiness ?? 'UNKNOWN',
    }),
    deployment: t.expose('deployment', { type: Deployment, description: 'What it is a part of.' }),
    ...resourceFields(t, ({ name, deployment: { key, asOf } }) => [{ of: 'component', key, name }, asOf], {
      list: 'Its Kubernetes objects.',
      counts: 'Its Kubernetes objects counted by status.',
    }),
    changedAt: t.expose('changedAt', { type: 'DateTime', description: 'When it last changed.' }),
    revision: t.expose('revision', { type: 'Revision', description: 'Its last change.' }),
    history: t.field({
      type: ChangeConnection,
      description: 'Everything that happened to it, oldest first.',
      args: revisionPageArgs(),
      resolve: ({ name, deployment: { key, asOf } }, args, context) =>
        changesOf(context, { of: 'component', key, name }, {}, args, asOf),
    }),
  }),
})
