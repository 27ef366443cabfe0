/** Maintenance windows, and the one that a device or a cluster is in. */
import type { MaintenanceWindow as WindowRow } from '../../../../domain/maintenance.ts'
import { countWindows, pageWindows } from '../../../../store/read/targets/maintenance.ts'
import { builder } from '../../builder.ts'
import { connect, implementConnection, pageArgs } from '../connection.ts'
import { Target } from '../refs.ts'
import { windowId } from './maintenance-id.ts'

interface OccurrenceRow {
  readonly from: number
  readonly until: number
}

const MaintenanceOccurrence = builder.objectRef<OccurrenceRow>('MaintenanceOccurrence').implement({
  access: 'viewer of all',
  description: 'One occurrence of a maintenance window.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'When it begins.' }),
    until: t.expose('until', { type: 'DateTime', description: 'When it ends.' }),
  }),
})

export const MaintenanceWindow = builder.objectRef<WindowRow>('MaintenanceWindow').implement({
  access: 'viewer of all',
  description:
    'Planned downtime of devices and clusters. While one is in it, nothing makes it OFFLINE, its deployments do not stall, and rules that say so do not count it.',
  fields: (t) => ({
    maintenanceId: t.id({ description: 'The ID, which `endMaintenance` takes.', resolve: ({ key }) => windowId(key) }),
    reason: t.exposeString('reason', { description: 'The reason that the operator gave.' }),
    filter: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The filter that selects its devices, as it was given. Null: it is for clusters only.',
      resolve: ({ selector }) => selector.given ?? null,
    }),
    clusters: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The filter that selects its clusters, as it was given. Null: it is for devices only.',
      resolve: ({ selector }) => selector.givenClusters ?? null,
    }),
    first: t.field({
      type: MaintenanceOccurrence,
      description: 'Its first occurrence.',
      resolve: ({ beginsAt, endsAt }) => ({ from: beginsAt, until: endsAt }),
    }),
    next: t.field({
      type: MaintenanceOccurrence,
      nullable: true,
      description: 'Its present or next occurrence. Null: it is over.',
      resolve: ({ nextAt, nextEnd, endedRevision }) =>
        nextAt === null || endedRevision !== null ? null : { from: nextAt, until: nextEnd ?? nextAt },
    }),
    repeat: t.exposeString('repeat', { nullable: true, description: 'How it is repeated, as an RRULE. Null: once.' }),
    timeZone: t.exposeString('timeZone', { description: 'The time zone in which it is repeated.' }),
    plannedBy: t.exposeString('plannedBy', { description: 'The caller that planned it.' }),
    plannedAt: t.expose('plannedAt', { type: 'DateTime', description: 'When it was planned.' }),
    endedBy: t.exposeString('endedBy', {
      nullable: true,
      description: 'The caller that ended it early. Null: it was not ended.',
    }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was ended early. Null: it was not ended.',
    }),
    targets: t.int({
      description: 'Number of devices and clusters that are in it now.',
      resolve: async ({ key }, _, { reader }) => (await (await reader()).targetsInWindow(key)) ?? 0,
    }),
  }),
})

const MaintenanceWindowConnection = implementConnection(
  'MaintenanceWindow',
  () => MaintenanceWindow,
  'maintenance windows',
)

builder.queryFields((t) => ({
  maintenanceWindows: t.field({
    access: 'viewer of all',
    type: MaintenanceWindowConnection,
    description: 'The planned maintenance windows, the newest first.',
    args: {
      over: t.arg.boolean({ defaultValue: false, description: 'Whether to list those that are over instead.' }),
      ...pageArgs(),
    },
    resolve: (_, { over, ...args }, { session }) =>
      connect(
        args,
        async (page) => pageWindows(await session(), over ?? false, page),
        async () => countWindows(await session(), over ?? false),
      ),
  }),
}))

interface InMaintenanceRow {
  readonly reason: string
  readonly since: number
  readonly until: number
}

const InMaintenance = builder.objectRef<InMaintenanceRow>('InMaintenance').implement({
  access: 'viewer',
  description: 'The maintenance window that a device or a cluster is in.',
  fields: (t) => ({
    reason: t.exposeString('reason', { description: 'The reason that the operator gave.' }),
    since: t.expose('since', { type: 'DateTime', description: 'When it entered the window.' }),
    until: t.expose('until', { type: 'DateTime', description: 'When the window ends, as planned.' }),
  }),
})

builder.interfaceField(Target, 'maintenance', (t) =>
  t.field({
    type: InMaintenance,
    nullable: true,
    description: 'The maintenance window that it is in. Null: none.',
    resolve: ({ maintenanceReason: reason, maintenanceSince: since, maintenanceUntil: until }) =>
      since === null ? null : { reason: reason ?? '', since, until: until ?? since },
  }),
)
