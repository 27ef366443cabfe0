import type { StoredRule } from '../../../../store/alerts/rows.ts'
import { builder } from '../../builder.ts'
import { AlertMetricEnum, AlertRuleOriginEnum, AlertSeverityEnum, AlertUnitEnum } from './vocabulary.ts'

export const AlertLabel = builder.objectRef<{ readonly key: string; readonly value: string }>('AlertLabel').implement({
  access: 'viewer',
  description: 'A label of an alert. Sinks send it, and receivers route by it.',
  fields: (t) => ({
    key: t.exposeString('key', { description: 'The key, such as `team`.' }),
    value: t.exposeString('value', { description: 'The value, such as `edge`.' }),
  }),
})

const access = 'viewer of all'

export const AlertRule = builder.objectRef<StoredRule>('AlertRule').implement({
  access,
  description: 'A rule that raises and resolves alerts.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The unique name.' }),
    origin: t.expose('origin', { type: AlertRuleOriginEnum, description: 'Where the rule is defined.' }),
    enabled: t.exposeBoolean('enabled', { description: 'Whether the rule is evaluated.' }),
    description: t.string({
      nullable: true,
      description: 'What an alert means and what to do.',
      resolve: ({ rule }) => rule.description,
    }),
    selector: t.field({
      type: 'JSON',
      description: 'The DeploymentFilter that selects the deployments, as it was given.',
      resolve: ({ selector }) => selector.given,
    }),
    perRollout: t.boolean({
      description: 'True: one alert for each rollout. False: one for all selected deployments.',
      resolve: ({ rule }) => rule.perRollout,
    }),
    metric: t.field({ type: AlertMetricEnum, description: 'What it compares.', resolve: ({ rule }) => rule.metric }),
    unit: t.field({
      type: AlertUnitEnum,
      description:
        'The unit of the thresholds. NO_PROGRESS, TIME_LEFT and DELAY are in seconds, SUCCESS_RATE in percent.',
      resolve: ({ rule }) => rule.unit,
    }),
    threshold: t.float({
      description: 'The value from which an alert is raised. SUCCESS_RATE: the value below which it is raised.',
      resolve: ({ rule }) => rule.threshold,
    }),
    resolveThreshold: t.float({
      description: 'The value below which an alert is resolved. SUCCESS_RATE: the value from which it is resolved.',
      resolve: ({ rule }) => rule.resolveThreshold,
    }),
    deadline: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'What DELAY counts from. Null: the metric is another.',
      resolve: ({ rule }) => rule.deadline ?? null,
    }),
    forSeconds: t.int({
      description: 'Seconds that the threshold must be exceeded before an alert is raised.',
      resolve: ({ rule }) => rule.forSeconds,
    }),
    minimum: t.int({
      description: 'Percentages of fewer deployments are not compared.',
      resolve: ({ rule }) => rule.minimum,
    }),
    severity: t.field({
      type: AlertSeverityEnum,
      description: 'The severity of its alerts.',
      resolve: ({ rule }) => rule.severity,
    }),
    labels: t.field({
      type: [AlertLabel],
      description: 'The labels of its alerts.',
      resolve: ({ rule }) => rule.labels,
    }),
    runbookUrl: t.string({
      nullable: true,
      description: 'The URL of instructions. Null: none.',
      resolve: ({ rule }) => rule.runbookUrl,
    }),
    holdInMaintenance: t.boolean({
      description: 'Whether deployments on devices in a maintenance window are left out.',
      resolve: ({ rule }) => rule.holdInMaintenance ?? false,
    }),
    firingCount: t.int({
      description: 'Number of its alerts that fire.',
      resolve: async ({ key }, _, { reader }) => (await (await reader()).firingCount(key)) ?? 0,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last changed.' }),
  }),
})

builder.queryField('alertRules', (t) =>
  t.field({
    access,
    type: [AlertRule],
    description: 'All alert rules, by name. At most 1,000.',
    resolve: async (_, _args, { reader }) => (await reader()).alertRules(),
  }),
)
