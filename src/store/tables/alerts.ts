/** Alert rules, the alerts that they raised, and what has to be evaluated again. docs/design/duties.md describes the evaluation. */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  doublePrecision,
  index,
  json,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core'
import type { AlertRule } from '../../domain/alerts/alert.ts'
import type { Label } from '../../domain/target.ts'
import {
  alertMetric,
  alertResolution,
  alertSeverity,
  alertUnit,
  instant,
  key,
  revision,
  ruleOrigin,
} from './columns.ts'

/** Which deployments a rule counts. `given`: the input, for showing. `filter`: a DeploymentFilter of store/read. */
interface AlertSelector {
  readonly given: Readonly<Record<string, unknown>>
  readonly filter: Readonly<Record<string, unknown>>
}

export const alertRules = pgTable(
  'alert_rules',
  {
    key: key('key').primaryKey(),
    name: text('name').notNull(),
    /** A number that grows with each change of any rule. It shows a server that its copy of the rules is old. */
    version: bigint('version', { mode: 'number' }).notNull(),
    origin: ruleOrigin('origin').notNull(),
    rule: json('rule').$type<AlertRule>().notNull(),
    selector: json('selector').$type<AlertSelector>().notNull(),
    enabled: boolean('enabled').notNull(),
    /** A deleted rule keeps its row, so that the greatest version never decreases. */
    deleted: boolean('deleted').notNull().default(false),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (t) => [uniqueIndex('alert_rules_name').on(t.name), index('alert_rules_version').on(t.version)],
)

/** Each alert that was ever raised, with the texts of its rule at that time. The log has the same facts. */
export const alerts = pgTable(
  'alerts',
  {
    key: key('key').primaryKey(),
    ruleKey: key('rule_key').notNull(),
    rule: text('rule').notNull(),
    /** 0: the fleet. */
    rolloutKey: key('rollout_key').notNull(),
    severity: alertSeverity('severity').notNull(),
    description: text('description'),
    labels: json('labels').$type<readonly Label[]>().notNull(),
    runbookUrl: text('runbook_url'),
    metric: alertMetric('metric').notNull(),
    unit: alertUnit('unit').notNull(),
    threshold: doublePrecision('threshold').notNull(),
    value: doublePrecision('value').notNull(),
    evaluatedRevision: revision('evaluated_revision').notNull(),
    raisedRevision: revision('raised_revision').notNull(),
    raisedAt: instant('raised_at').notNull(),
    /** Null: it fires. */
    resolvedRevision: revision('resolved_revision'),
    resolvedAt: instant('resolved_at'),
    resolvedValue: doublePrecision('resolved_value'),
    resolution: alertResolution('resolution'),
    acknowledgedRevision: revision('acknowledged_revision'),
    acknowledgedAt: instant('acknowledged_at'),
    acknowledgedBy: text('acknowledged_by'),
    comment: text('comment'),
  },
  (t) => [
    uniqueIndex('alerts_firing').on(t.rolloutKey, t.ruleKey).where(sql`resolved_revision is null`),
    index('alerts_firing_rule').on(t.ruleKey).where(sql`resolved_revision is null`),
    index('alerts_raised').on(t.raisedRevision),
    index('alerts_resolved').on(t.resolvedRevision).where(sql`resolved_revision is not null`),
    index('alerts_resolved_at').on(t.resolvedAt).where(sql`resolved_at is not null`),
    index('alerts_rollout').on(t.rolloutKey, t.raisedRevision),
  ],
)

/** Evaluations that time makes due: a `for` that runs, a threshold without progress, a count that is owed, a new rule. */
export const alertChecks = pgTable(
  'alert_checks',
  {
    /** 0: the fleet. */
    rolloutKey: key('rollout_key').notNull(),
    ruleKey: key('rule_key').notNull(),
    dueAt: instant('due_at').notNull(),
    /** Since when the threshold is exceeded. Null: it is not, or that is unknown. */
    breachedSince: instant('breached_since'),
    /** The rule is new: its rollouts up to this key have been evaluated. */
    sweptTo: key('swept_to'),
  },
  (t) => [
    primaryKey({ columns: [t.rolloutKey, t.ruleKey] }),
    index('alert_checks_rule').on(t.ruleKey),
    index('alert_checks_due').on(t.dueAt),
  ],
)
