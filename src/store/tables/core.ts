/** The road of a report: the log and its head, targets, rollouts, deployments, and the reports themselves. */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  index,
  integer,
  json,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core'
import type { ChangeBody } from '../../domain/change.ts'
import type { Component } from '../../domain/deployment.ts'
import type { Digest } from '../../domain/desired.ts'
import type { DeviationKind } from '../../domain/deviation.ts'
import type { OrderMarks } from '../../domain/order.ts'
import type { ComponentReport, OrderKey } from '../../domain/report.ts'
import type { Label } from '../../domain/target.ts'
import type { StatusError } from '../../domain/values.ts'
import {
  connectivity,
  convergence,
  deploymentCounters,
  deploymentState,
  failureStage,
  instanceStatus,
  instant,
  key,
  lifecycleState,
  readiness,
  revision,
  rolloutKind,
  targetKind,
  u64,
  verdict,
} from './columns.ts'

/** The one row whose lock orders every write. Its counters are those of the whole fleet. */
export const logHead = pgTable('log_head', {
  id: integer('id').primaryKey().default(1),
  epochBase: revision('epoch_base').notNull(),
  /** The newest revision. */
  revision: revision('revision').notNull(),
  /** Everything up to and including this revision has been removed by retention. */
  tail: revision('tail').notNull(),
  tailAt: instant('tail_at').notNull(),
  /** The newest change's `at`: the next one is never smaller. */
  at: instant('at').notNull(),
  nextKey: key('next_key').notNull(),
  /** Committed batches, also those that spent no revision: equal before and after means that nobody else has written. */
  writes: bigint('writes', { mode: 'number' }).notNull(),
  /** Which batch wrote last, of whichever writer: the next of the same one may follow unanswered, and is nothing if it does not follow. */
  stamp: text('stamp').notNull().default(''),
  /** Which database this is (system identifier, timeline, table oid): another one means a restored copy. */
  identity: text('identity').notNull(),
  ...deploymentCounters,
})

/** Every epoch there was. `ended` is the newest revision it reached; null: the present one. */
export const epochs = pgTable('epochs', {
  base: revision('base').primaryKey(),
  ended: revision('ended'),
  beganAt: instant('began_at').notNull(),
})

/** Who does what only one replica should do, until when. */
export const leases = pgTable('leases', {
  name: text('name').primaryKey(),
  holder: text('holder').notNull(),
  until: instant('until').notNull(),
  /** Since when somebody has held it without a gap: our own downtime is not a device's silence. */
  since: instant('since').notNull(),
})

/** Each writer's latest batch: one that lost its connection while committing asks whether it was. `outcomes` is {batch: its number}. */
export const batches = pgTable('batches', {
  id: text('id').primaryKey(),
  at: instant('at').notNull(),
  outcomes: json('outcomes').$type<{ readonly batch: number }>().notNull(),
})

export const targets = pgTable(
  'targets',
  {
    key: key('key').primaryKey(),
    kind: targetKind('kind').notNull(),
    provider: text('provider').notNull().default(''),
    name: text('name').notNull(),
    displayName: text('display_name'),
    labels: jsonb('labels').$type<readonly Label[]>().notNull().default([]),
    registered: boolean('registered').notNull().default(false),
    expectedInterval: integer('expected_interval'),
    parentKey: key('parent_key'),
    connectivity: connectivity('connectivity').notNull().default('UNKNOWN'),
    lastHeardAt: instant('last_heard_at'),
    revokedAt: instant('revoked_at'),
    retiredAt: instant('retired_at'),
    retiredReason: text('retired_reason'),
    replacedByKey: key('replaced_by_key'),
  },
  (t) => [
    uniqueIndex('targets_name').on(t.kind, t.provider, t.name),
    index('targets_parent').on(t.parentKey).where(sql`parent_key is not null`),
    index('targets_retired').on(t.name).where(sql`retired_at is not null`),
    index('targets_labels').using('gin', sql`labels jsonb_path_ops`),
  ],
)

/** How often a device's accepted reports deviated from the specification. It moves without a revision, as `targets.last_heard_at` does. */
export const deviceDeviations = pgTable(
  'device_deviations',
  {
    targetKey: key('target_key').notNull(),
    /** domain/deviation.ts. Text, so that a new kind needs no migration. */
    kind: text('kind').$type<DeviationKind>().notNull(),
    count: bigint('count', { mode: 'number' }).notNull(),
    lastAt: instant('last_at').notNull(),
    example: text('example').notNull(),
  },
  (t) => [primaryKey({ columns: [t.targetKey, t.kind] })],
)

export const rollouts = pgTable(
  'rollouts',
  {
    key: key('key').primaryKey(),
    kind: rolloutKind('kind').notNull(),
    /** rolloutUniqueName() of the columns below. */
    identity: text('identity').notNull(),
    name: text('name').notNull(),
    project: text('project'),
    compositeApp: text('composite_app'),
    compositeAppVersion: text('composite_app_version'),
    provider: text('provider'),
    createdRevision: revision('created_revision').notNull(),
    compositeProfile: text('composite_profile'),
    state: lifecycleState('state'),
    status: instanceStatus('status'),
    currentInstanceKey: key('current_instance_key'),
    ...deploymentCounters,
  },
  (t) => [uniqueIndex('rollouts_identity').on(t.kind, t.identity)],
)

export const deployments = pgTable(
  'deployments',
  {
    key: key('key').primaryKey(),
    deploymentId: text('deployment_id').notNull(),
    reporter: text('reporter').notNull(),
    targetKey: key('target_key').notNull(),
    rolloutKey: key('rollout_key').notNull(),
    instanceKey: key('instance_key'),
    isCurrent: boolean('is_current').notNull().default(true),
    application: text('application'),
    applicationVersion: text('application_version'),
    state: deploymentState('state').notNull(),
    derivedState: deploymentState('derived_state'),
    consistent: boolean('consistent').notNull(),
    /** {code, message, source?} or null. */
    error: json('error').$type<StatusError>(),
    failureStage: failureStage('failure_stage'),
    readiness: readiness('readiness').notNull().default('UNKNOWN'),
    /** domain Component[], in the order in which they were first seen or declared. */
    components: json('components').$type<readonly Component[]>().notNull(),
    declaredComponents: json('declared_components').$type<readonly string[]>().notNull().default([]),
    claimed: boolean('claimed').notNull(),
    attempt: integer('attempt').notNull(),
    adoptedManifestVersion: u64('adopted_manifest_version'),
    targetManifestVersion: u64('target_manifest_version'),
    documentDigest: text('document_digest').$type<Digest>(),
    convergence: convergence('convergence').notNull().default('UNKNOWN'),
    stalled: boolean('stalled').notNull().default(false),
    reportedAt: instant('reported_at'),
    receivedAt: instant('received_at').notNull(),
    changedAt: instant('changed_at').notNull(),
    revision: revision('revision').notNull(),
    forgottenAt: instant('forgotten_at'),
    /** domain OrderMarks: {adoptedManifestVersion, boot, seq, observedAt}. */
    marks: json('marks').$type<OrderMarks>().notNull(),
    /** Reports that repeated what was known: acknowledged, and kept only as this number. */
    repeats: bigint('repeats', { mode: 'number' }).notNull().default(0),
  },
  (t) => [
    // What an orchestrator runs and what a device reports are never the same deployment, whatever their names are.
    uniqueIndex('deployments_reporter').on(t.reporter, t.deploymentId).where(sql`instance_key is null`),
    index('deployments_orchestrator').on(t.reporter, t.deploymentId).where(sql`instance_key is not null`),
    uniqueIndex('deployments_place').on(t.instanceKey, t.targetKey).where(sql`instance_key is not null`),
    index('deployments_id').on(t.deploymentId, t.key),
    index('deployments_target').on(t.targetKey, t.deploymentId),
    index('deployments_rollout').on(t.rolloutKey, t.revision).where(sql`forgotten_at is null`),
    index('deployments_revision').on(t.revision).where(sql`forgotten_at is null`),
    index('deployments_state').on(t.state, t.revision).where(sql`forgotten_at is null`),
    index('deployments_convergence').on(t.convergence, t.revision).where(sql`forgotten_at is null`),
    index('deployments_forgotten').on(t.revision).where(sql`forgotten_at is not null`),
    index('deployments_instance').on(t.instanceKey, t.revision).where(sql`instance_key is not null`),
  ],
)

/**
 * The log: one row an entry, which is one or more consecutive revisions of one subject, made by one fact
 * (a first report with two components is three). `changes[i]` has revision first_revision + i.
 */
export const changeLog = pgTable(
  'change_log',
  {
    firstRevision: revision('first_revision').primaryKey(),
    lastRevision: revision('last_revision').notNull(),
    at: instant('at').notNull(),
    observedAt: instant('observed_at'),
    deploymentKey: key('deployment_key'),
    /** Set: the subject is this resource of that deployment. */
    resourceKey: key('resource_key'),
    targetKey: key('target_key'),
    fromTargetKey: key('from_target_key'),
    rolloutKey: key('rollout_key'),
    fromRolloutKey: key('from_rollout_key'),
    instanceKey: key('instance_key'),
    /** The subject as it was, in the columns of its table (snake_case, revertable ones only); null: there was none. */
    before: json('before').$type<object>(),
    /** domain ChangeBody[]. */
    changes: json('changes').$type<readonly ChangeBody[]>().notNull(),
  },
  (t) => [
    index('change_log_deployment')
      .on(t.deploymentKey, t.firstRevision)
      .where(sql`deployment_key is not null and resource_key is null`),
    index('change_log_deployment_resource').on(t.deploymentKey, t.firstRevision).where(sql`resource_key is not null`),
    index('change_log_resource').on(t.resourceKey, t.firstRevision).where(sql`resource_key is not null`),
    index('change_log_instance').on(t.instanceKey, t.firstRevision).where(sql`instance_key is not null`),
    index('change_log_at').on(t.at),
    index('change_log_rollout').on(t.rolloutKey, t.firstRevision).where(sql`rollout_key is not null`),
    // Few entries are in these: who left a target or a rollout, and what a target itself did.
    index('change_log_from_target').on(t.fromTargetKey, t.firstRevision).where(sql`from_target_key is not null`),
    index('change_log_from_rollout').on(t.fromRolloutKey, t.firstRevision).where(sql`from_rollout_key is not null`),
    index('change_log_target')
      .on(t.targetKey, t.firstRevision)
      .where(sql`deployment_key is null and target_key is not null`),
  ],
)

/** Every acknowledged report that was APPLIED or STALE, once. */
export const reports = pgTable(
  'reports',
  {
    deploymentKey: key('deployment_key').notNull(),
    key: key('key').notNull(),
    verdict: verdict('verdict').notNull(),
    /** The ordering key a STALE report lost by. */
    staleBy: text('stale_by').$type<OrderKey>(),
    reportedAt: instant('reported_at'),
    receivedAt: instant('received_at').notNull(),
    seq: u64('seq'),
    boot: text('boot'),
    adoptedManifestVersion: u64('adopted_manifest_version'),
    state: deploymentState('state').notNull(),
    error: json('error').$type<StatusError>(),
    /** What a STALE report said of its components (an APPLIED one's is in the log). */
    components: json('components').$type<readonly ComponentReport[]>(),
    /** Where a STALE report says that it runs, and whose it was then; of an APPLIED one the log knows. Null in older ones that might be another's. */
    targetKey: key('target_key'),
    rolloutKey: key('rollout_key'),
    /** The last revision an APPLIED report made. */
    revision: revision('revision'),
    dialect: text('dialect').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.deploymentKey, t.key] }),
    // Retention looks for the oldest; the table is filled in that order, so a block range index is enough.
    index('reports_received').using('brin', t.receivedAt),
  ],
)
