import { deleteAlertRule, saveAlertRule } from '../../../ingest/commands/alert-rules.ts'
import { acknowledgeAlert } from '../../../ingest/commands/alerts.ts'
import type { StoredRule } from '../../../store/alerts/rows.ts'
import { required } from '../execution/required.ts'
import { AlertRule } from '../objects/alerts/alert-rule.ts'
import { AlertMetricEnum, AlertSeverityEnum, AlertUnitEnum } from '../objects/alerts/vocabulary.ts'
import { LabelInput } from '../objects/label.ts'
import { decodeNodeId } from '../objects/node.ts'
import { Alert } from '../objects/refs.ts'
import { DeploymentFilterRef } from '../objects/selectors/deployment-filter.ts'
import { checkRule, toGivenRule } from './alert-rule-input.ts'
import { addMutation, type SuccessFields } from './mutation.ts'

const access = 'operator of all'

const ruleFields: SuccessFields<{ readonly rule: StoredRule }> = (t) => ({
  rule: t.expose('rule', { type: AlertRule, description: 'The rule.' }),
})

addMutation('saveAlertRule', {
  access,
  description:
    'Creates an alert rule, or replaces the rule of that name. A changed rule resolves its alerts and is evaluated from the beginning.',
  input: {
    description: 'The rule.',
    fields: (t) => ({
      name: t.string({ required: true, description: 'The unique name: 1 to 256 characters.' }),
      metric: t.field({ type: AlertMetricEnum, required: true, description: 'What to compare.' }),
      threshold: t.float({
        required: true,
        description: 'The value from which an alert is raised. SUCCESS_RATE: the value below which it is raised.',
      }),
      selector: t.field({ type: DeploymentFilterRef, description: 'Selects the deployments to count. Absent: all.' }),
      perRollout: t.boolean({
        defaultValue: false,
        description:
          'True: one alert for each rollout. False: one for all selected deployments. TIME_LEFT and DELAY: only true.',
      }),
      unit: t.field({
        type: AlertUnitEnum,
        defaultValue: 'COUNT',
        description:
          'The unit of the thresholds. NO_PROGRESS, TIME_LEFT and DELAY are always in seconds, SUCCESS_RATE in percent.',
      }),
      resolveThreshold: t.float({
        description:
          'The value below which an alert is resolved. SUCCESS_RATE: the value from which it is resolved. Absent: the threshold.',
      }),
      deadline: t.field({
        type: 'DateTime',
        description: 'What DELAY counts from. Required for DELAY, refused for the others.',
      }),
      forSeconds: t.int({
        defaultValue: 0,
        description: 'Seconds that the threshold must be exceeded before an alert is raised.',
      }),
      minimum: t.int({
        defaultValue: 1,
        description: 'Percentages of fewer deployments are not compared.',
      }),
      severity: t.field({ type: AlertSeverityEnum, defaultValue: 'WARNING', description: 'The severity.' }),
      labels: t.field({ type: [LabelInput], description: 'Labels of the alerts, by which receivers route them.' }),
      description: t.string({ description: 'What an alert means and what to do: up to 2,000 characters.' }),
      runbookUrl: t.string({ description: 'The URL of instructions: http or https.' }),
      holdInMaintenance: t.boolean({
        defaultValue: false,
        description:
          'Whether deployments on devices in a maintenance window are left out, so that an alert of theirs is raised when the window is over, if there is still a reason. TIME_LEFT and DELAY: only false.',
      }),
      enabled: t.boolean({ defaultValue: true, description: 'Whether to evaluate the rule.' }),
    }),
  },
  errors: ['Conflict'],
  check: (input, check) => checkRule(input, check),
  act: async (input, context) => ({ rule: await context.write(saveAlertRule(toGivenRule(input))) }),
  success: {
    description: 'The rule is saved. Its evaluation begins within seconds.',
    access: 'viewer of all',
    fields: ruleFields,
  },
})

addMutation('deleteAlertRule', {
  access,
  description: 'Deletes an alert rule. Its alerts are resolved and remain readable.',
  input: {
    description: 'The rule.',
    fields: (t) => ({ name: t.string({ required: true, description: 'The name of the rule.' }) }),
  },
  errors: ['NotFound', 'Conflict'],
  act: async ({ name }, context) => ({ rule: await context.write(deleteAlertRule(name)) }),
  success: { description: 'The rule is deleted.', access: 'viewer of all', fields: ruleFields },
})

addMutation('acknowledgeAlert', {
  access,
  description: 'Records who deals with an alert, and why. The alert continues to fire.',
  input: {
    description: 'The acknowledgement.',
    fields: (t) => ({
      id: t.id({ required: true, description: 'The node ID of the alert.' }),
      comment: t.string({ required: true, description: 'The comment: 1 to 256 characters.' }),
    }),
  },
  errors: ['NotFound', 'Conflict'],
  check: ({ comment }, check) => check.name(['comment'], comment),
  act: async ({ id, comment }, context) => {
    const decoded = decodeNodeId(id)
    const key = decoded?.type === 'Alert' ? decoded.key : -1
    await context.write(acknowledgeAlert(key, context.principal.name, comment))
    return { alert: required((await (await context.reader()).alert(key, null)) ?? null, 'alert') }
  },
  success: {
    description: 'The alert is acknowledged.',
    access: 'viewer',
    fields: (t) => ({ alert: t.expose('alert', { type: Alert, description: 'The alert.' }) }),
  },
})
