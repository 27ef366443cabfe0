/** Alerts, and the changes of the log that raise, resolve and acknowledge them. */
import { fleetScope, summarize } from '../../../../domain/alerts/alert.ts'
import type { Change as ChangeRow } from '../../../../domain/change.ts'
import { alertFilter } from '../../../../domain/nouns/alert.ts'
import type { Revision } from '../../../../domain/values.ts'
import type { AlertRow } from '../../../../store/alerts/alerts.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import { required } from '../../execution/required.ts'
import { implementChange } from '../changes/change.ts'
import { type Connection, connect, implementConnection, type PageArguments, pageArgs } from '../connection.ts'
import { Node } from '../interfaces.ts'
import { pastArgs, resolvePastArgs } from '../past.ts'
import { Alert, Rollout } from '../refs.ts'
import { implementFilter } from '../selectors/selector.ts'
import { AlertLabel } from './alert-rule.ts'
import { AlertMetricEnum, AlertResolutionEnum, AlertSeverityEnum, AlertStateEnum, AlertUnitEnum } from './vocabulary.ts'

const AlertAcknowledgement = builder
  .objectRef<{
    readonly by: string
    readonly comment: string
    readonly at: number
    readonly revision: Revision
  }>('AlertAcknowledgement')
  .implement({
    access: 'viewer',
    description: 'Who deals with an alert, and why.',
    fields: (t) => ({
      by: t.exposeString('by', { description: 'The caller that acknowledged the alert.' }),
      comment: t.exposeString('comment', { description: 'The comment.' }),
      at: t.expose('at', { type: 'DateTime', description: 'When it was acknowledged.' }),
      revision: t.expose('revision', { type: 'Revision', description: 'The revision of the acknowledgement.' }),
    }),
  })

Alert.implement({
  access: 'viewer',
  description:
    'An alert that a rule raised. The texts are those of the rule at that time. The log has a change for each step.',
  interfaces: [Node],
  fields: (t) => ({
    rule: t.exposeString('rule', { description: 'The name of the rule.' }),
    severity: t.expose('severity', { type: AlertSeverityEnum, description: 'The severity.' }),
    state: t.field({
      type: AlertStateEnum,
      description: 'Whether it fires.',
      resolve: ({ resolvedRevision }) => (resolvedRevision === null ? 'FIRING' : 'RESOLVED'),
    }),
    rollout: t.field({
      type: Rollout,
      nullable: true,
      description: 'The rollout that it concerns. Null: all deployments that the rule selects.',
      resolve: async ({ rolloutKey, asOf }, _, context) =>
        rolloutKey === fleetScope ? null : ((await (await context.reader()).rollout(rolloutKey, asOf)) ?? null),
    }),
    summary: t.string({
      description:
        'The metric, the value when the alert was raised, and the threshold in one line, such as `Failed: 12 (threshold 5)`.',
      resolve: (alert) => summarize(alert),
    }),
    description: t.exposeString('description', { nullable: true, description: "The rule's description. Null: none." }),
    runbookUrl: t.exposeString('runbookUrl', {
      nullable: true,
      description: 'The URL of instructions. Null: none.',
    }),
    labels: t.expose('labels', { type: [AlertLabel], description: "The rule's labels." }),
    metric: t.expose('metric', { type: AlertMetricEnum, description: 'What the rule compares.' }),
    unit: t.expose('unit', {
      type: AlertUnitEnum,
      description:
        'The unit of value and threshold. NO_PROGRESS, TIME_LEFT and DELAY are in seconds, SUCCESS_RATE in percent.',
    }),
    threshold: t.exposeFloat('threshold', { description: 'The threshold.' }),
    value: t.exposeFloat('value', { description: 'The value when the alert was raised.' }),
    evaluatedRevision: t.expose('evaluatedRevision', {
      type: 'Revision',
      description: 'The revision that `value` reflects.',
    }),
    raisedAt: t.expose('raisedAt', { type: 'DateTime', description: 'When it was raised.' }),
    raisedRevision: t.expose('raisedRevision', { type: 'Revision', description: 'The revision of its AlertRaised.' }),
    resolvedAt: t.expose('resolvedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was resolved. Null: it fires.',
    }),
    resolvedRevision: t.expose('resolvedRevision', {
      type: 'Revision',
      nullable: true,
      description: 'The revision of its AlertResolved. Null: it fires.',
    }),
    resolvedValue: t.exposeFloat('resolvedValue', {
      nullable: true,
      description: 'The value when it was resolved. Null: it fires, or nothing is left to compare.',
    }),
    resolution: t.expose('resolution', {
      type: AlertResolutionEnum,
      nullable: true,
      description: 'Why it was resolved. Null: it fires.',
    }),
    acknowledgement: t.field({
      type: AlertAcknowledgement,
      nullable: true,
      description: 'Its acknowledgement. Null: none.',
      resolve: ({ acknowledgedBy: by, comment, acknowledgedAt: at, acknowledgedRevision: revision }) =>
        by === null ? null : { by, comment: comment ?? '', at: at ?? 0, revision: revision ?? 0 },
    }),
  }),
})

implementChange('ALERT_RAISED', 'An alert was raised.', (t) => ({
  alert: t.field({ type: Alert, description: 'The alert in its present state.', resolve: alertNow }),
  value: t.exposeFloat('value', { description: 'The value that exceeds the threshold.' }),
}))

implementChange('ALERT_RESOLVED', 'An alert was resolved.', (t) => ({
  alert: t.field({ type: Alert, description: 'The alert in its present state.', resolve: alertNow }),
  resolution: t.expose('resolution', { type: AlertResolutionEnum, description: 'Why it was resolved.' }),
}))

implementChange('ALERT_ACKNOWLEDGED', 'An alert was acknowledged.', (t) => ({
  alert: t.field({ type: Alert, description: 'The alert in its present state.', resolve: alertNow }),
  acknowledgedBy: t.exposeString('by', { description: 'The caller that acknowledged it.' }),
  comment: t.exposeString('comment', { description: 'The comment.' }),
}))

async function alertNow(
  change: Extract<ChangeRow, { readonly alertKey: number }>,
  _: unknown,
  { reader }: Pick<Context, 'reader'>,
): Promise<AlertRow> {
  return required((await (await reader()).alert(change.alertKey, null)) ?? null, 'alert')
}

const AlertConnection = implementConnection('Alert', () => Alert, 'alerts')

const { ref: AlertFilterRef, read: toAlertFilter } = implementFilter(alertFilter)

const filterArgs = () =>
  builder.args((t) => ({ filter: t.field({ type: AlertFilterRef, description: 'Selects alerts.' }) }))

type ListArguments = PageArguments & { readonly filter?: typeof AlertFilterRef.$inferInput | null | undefined }

/** `rolloutKey` null: all alerts. */
function alertsOf(
  { reader }: Pick<Context, 'reader'>,
  rolloutKey: number | null,
  args: ListArguments,
  asOf: () => Promise<Revision | null> | Revision | null,
): Connection<AlertRow> {
  const filter = toAlertFilter(args.filter)
  return connect(
    args,
    async (page) => (await reader()).alerts(rolloutKey, filter, page, await asOf()),
    async () => (await reader()).alertCount(rolloutKey, filter, await asOf()),
  )
}

builder.objectField(Rollout, 'alerts', (t) =>
  t.field({
    type: AlertConnection,
    description: 'The alerts that concern this rollout alone, newest first.',
    args: { ...filterArgs(), ...pageArgs() },
    resolve: ({ key, asOf }, args, context) => alertsOf(context, key, args, () => asOf),
  }),
)

builder.queryField('alerts', (t) =>
  t.field({
    access: 'viewer',
    type: AlertConnection,
    description:
      'Alerts, newest first. A caller with an access scope sees the alerts of the rollouts in its projects. A caller that labels restrict sees none.',
    args: { ...filterArgs(), ...pageArgs(), ...pastArgs() },
    resolve: (_, args, context) =>
      alertsOf(context, null, args, async () => resolvePastArgs(await context.reader(), args)),
  }),
)
