/** The changes in the log. Own fields of a change describe the change; linked objects show the present. */
import type { InterfaceParam, ObjectFieldsShape } from '@pothos/core'
import type { ChangeKind, Change as ChangeRow } from '../../../../domain/change.ts'
import { builder, type SchemaTypes } from '../../builder.ts'
import { Change } from '../refs.ts'
import { ChangeKindEnum } from '../vocabulary.ts'

type ChangeOf<Kind extends ChangeKind> = Extract<ChangeRow, { readonly kind: Kind }>

export const typeNames = {
  DEPLOYMENT_STATE_CHANGED: 'DeploymentStateChanged',
  COMPONENT_STATE_CHANGED: 'ComponentStateChanged',
  COMPONENT_REMOVED: 'ComponentRemoved',
  DEPLOYMENT_MOVED: 'DeploymentMoved',
  DEPLOYMENT_REVISED: 'DeploymentRevised',
  DEPLOYMENT_FORGOTTEN: 'DeploymentForgotten',
  DEPLOYMENT_STALLED: 'DeploymentStalled',
  CONVERGENCE_CHANGED: 'ConvergenceChanged',
  CONNECTIVITY_CHANGED: 'ConnectivityChanged',
  DEVICE_RETIRED: 'DeviceRetired',
  DEVICE_REINSTATED: 'DeviceReinstated',
  RESOURCE_STATUS_CHANGED: 'ResourceStatusChanged',
  INSTANCE_STATUS_CHANGED: 'InstanceStatusChanged',
  LIFECYCLE_ACTION_RECORDED: 'LifecycleActionRecorded',
  ROLLOUT_LABELS_CHANGED: 'RolloutLabelsChanged',
  MAINTENANCE_PLANNED: 'MaintenancePlanned',
  MAINTENANCE_CANCELLED: 'MaintenanceCancelled',
  MAINTENANCE_STARTED: 'MaintenanceStarted',
  MAINTENANCE_ENDED: 'MaintenanceEnded',
  ALERT_RAISED: 'AlertRaised',
  ALERT_RESOLVED: 'AlertResolved',
  ALERT_ACKNOWLEDGED: 'AlertAcknowledged',
} as const satisfies Record<ChangeKind, string>

Change.implement({
  access: 'viewer',
  description: 'An entry of the change log. Each change has its own revision.',
  resolveType: (change) => typeNames[change.kind],
  fields: (t) => ({
    revision: t.expose('revision', {
      type: 'Revision',
      description: 'The number of the change. Numbers have no gaps and follow the order of commits.',
    }),
    at: t.expose('at', {
      type: 'DateTime',
      description: 'When the change was recorded (server time). Never earlier than the previous change.',
    }),
    observedAt: t.expose('observedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        "When it happened (reporter's clock). Null: not reported, or the change does not come from a report.",
    }),
    traceparent: t.expose('traceparent', {
      type: 'String',
      nullable: true,
      description:
        'The W3C trace context of the request that made the change, from its `traceparent` header. Null: the request had no valid one, or the server made the change.',
    }),
    kind: t.expose('kind', {
      type: ChangeKindEnum,
      description: "The kind of change: the type's name in UPPER_SNAKE_CASE.",
    }),
  }),
})

export const nullable = (description: string) => ({ nullable: true, description }) as const

export type FieldsOf<Kind extends ChangeKind> = ObjectFieldsShape<SchemaTypes, ChangeOf<Kind>>

export function implementChange<Kind extends ChangeKind>(
  kind: Kind,
  description: string,
  fields: FieldsOf<Kind>,
  interfaces: readonly InterfaceParam<SchemaTypes>[] = [Change],
): void {
  builder
    .objectRef<ChangeOf<Kind>>(typeNames[kind])
    .implement({ access: 'viewer', description, interfaces: [...interfaces], fields })
}
