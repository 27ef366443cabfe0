/** How many devices and clusters of rollouts and sites are in maintenance windows, and when they were: for badges and charts. */
import { DomainError } from '../../../../domain/errors.ts'
import type {
  MaintenanceBand as BandRow,
  RolloutInMaintenance as RolloutRow,
  SiteInMaintenance as SiteRow,
} from '../../../../store/read/targets/in-maintenance.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import { pastArgs, resolvePastArgs } from '../past.ts'
import { Rollout } from '../refs.ts'

const mostSites = 50

const InMaintenanceSummary = builder.objectRef<RolloutRow>('InMaintenanceSummary').implement({
  access: 'viewer',
  description: 'Devices and clusters that are in maintenance windows.',
  fields: (t) => ({
    targets: t.exposeInt('targets', { description: 'Number of devices and clusters.' }),
    deployments: t.exposeInt('deployments', {
      description: 'Number of deployments of the rollout on them, of `Rollout.deploymentCounts`.',
    }),
    until: t.expose('until', { type: 'DateTime', description: 'The latest end of their windows, as planned.' }),
  }),
})

const SiteInMaintenance = builder.objectRef<SiteRow>('SiteInMaintenance').implement({
  access: 'viewer',
  description: 'Devices and clusters with one value of a label that are in maintenance windows.',
  fields: (t) => ({
    site: t.exposeString('site', { nullable: true, description: 'The value of the label. Null: they have none.' }),
    targets: t.exposeInt('targets', { description: 'Number of devices and clusters that are in a window.' }),
    total: t.exposeInt('total', {
      nullable: true,
      description:
        'Number of all devices and clusters in service with the value. Null where `site` is: they are not counted.',
    }),
    until: t.expose('until', { type: 'DateTime', description: 'The latest end of their windows, as planned.' }),
  }),
})

const MaintenanceBand = builder.objectRef<BandRow>('MaintenanceBand').implement({
  access: 'viewer',
  description: 'A stretch of time in which devices or clusters were in one occurrence of a maintenance window.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'When the first of them entered it.' }),
    until: t.expose('until', {
      type: 'DateTime',
      description: 'When the last of them left it, or when it ends as planned.',
    }),
    reason: t.exposeString('reason', { description: 'The reason that the operator gave.' }),
    targets: t.exposeInt('targets', { description: 'Number of devices and clusters that were in it.' }),
  }),
})

const bandArgs = () =>
  builder.args((t) => ({
    from: t.field({ type: 'DateTime', required: true, description: 'The beginning of the chart.' }),
    to: t.field({ type: 'DateTime', description: 'Its end. Null: now.' }),
  }))

interface BandArguments {
  readonly from: number
  readonly to?: number | null | undefined
}

async function bandsOf({ reader }: Context, rolloutKey: number | null, { from, to = null }: BandArguments) {
  if (to !== null && from > to) throw new DomainError('BAD_USER_INPUT', 'from must not be later than to')
  return (await reader()).maintenanceBands(rolloutKey, from, to)
}

builder.queryFields((t) => ({
  sitesInMaintenance: t.field({
    access: 'viewer',
    type: [SiteInMaintenance],
    description:
      'The values of a label whose devices and clusters are in maintenance windows, those with the most of them first. Labels have no history: in the past, they are the present ones.',
    args: {
      labelKey: t.arg.string({ required: true, description: 'The key of the label, such as `site`.' }),
      first: t.arg.int({ required: true, defaultValue: 10, description: `Number of values: 1 to ${mostSites}.` }),
      ...pastArgs(),
    },
    async resolve(_, { labelKey, first, ...when }, context) {
      if (first < 1 || first > mostSites)
        throw new DomainError('BAD_USER_INPUT', `first must be from 1 to ${mostSites}, but is ${first}`)
      const reader = await context.reader()
      return reader.maintenanceOfSites(labelKey, first, await resolvePastArgs(reader, when))
    },
  }),
  maintenanceBands: t.field({
    access: 'viewer',
    type: [MaintenanceBand],
    description:
      'When devices and clusters were in maintenance windows: at most the 100 newest occurrences, the earliest first, as far back as history is stored.',
    args: bandArgs(),
    resolve: (_, args, context) => bandsOf(context, null, args),
  }),
}))

builder.objectFields(Rollout, (t) => ({
  maintenance: t.field({
    type: InMaintenanceSummary,
    nullable: true,
    description: 'The devices and clusters with deployments of it that are in maintenance windows. Null: none.',
    resolve: async ({ key, asOf }, _, { reader }) => (await (await reader()).maintenanceOfRollout(key, asOf)) ?? null,
  }),
  maintenanceBands: t.field({
    type: [MaintenanceBand],
    description: 'The same as `Query.maintenanceBands`, of the devices and clusters that have deployments of it now.',
    args: bandArgs(),
    resolve: ({ key }, args, context) => bandsOf(context, key, args),
  }),
}))
