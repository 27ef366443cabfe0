/** The tables that a report changes, besides the log: targets, rollouts, deployments and reports. */
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
import type { Component } from '../../domain/deployment.ts'
import type { Digest } from '../../domain/desired.ts'
import type { DeviationKind } from '../../domain/deviation.ts'
import type { ComponentReport, OrderKey } from '../../domain/report.ts'
import { type Label, ownSite } from '../../domain/target.ts'
import type { OrderMarks } from '../../domain/transition/order.ts'
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

/** Leases for tasks that only one replica should do at a time. */
export const leases = pgTable('leases', {
  name: text('name').primaryKey(),
  holder: text('holder').notNull(),
  until: instant('until').notNull(),
  /** Since when it has been held without a gap. The downtime of all servers must not count as silence of devices. */
  since: instant('since').notNull(),
})

/** The latest batch of each writer. A writer that lost its connection during COMMIT looks here whether the batch was committed. `outcomes` is {batch: its number}. */
export const batches = pgTable('batches', {
  id: text('id').primaryKey(),
  at: instant('at').notNull(),
  outcomes: json('outcomes').$type<{ readonly batch: number }>().notNull(),
})

/** This server's own cost these indexes the predicate only. */
const ofSite = sql`site_key <> 0`

export const targets = pgTable(
  'targets',
  {
    key: key('key').primaryKey(),
    kind: targetKind('kind').notNull(),
    provider: text('provider').notNull().default(''),
    name: text('name').notNull(),
    siteKey: key('site_key').notNull().default(ownSite),
    foldedName: text('folded_name'),
    displayName: text('display_name'),
    labels: jsonb('labels').$type<readonly Label[]>().notNull().default([]),
    registered: boolean('registered').notNull().default(false),
    expectedInterval: integer('expected_interval'),
    parentKey: key('parent_key'),
    connectivity: connectivity('connectivity').notNull().default('UNKNOWN'),
    lastHeardAt: instant('last_heard_at'),
    connectionOrder: bigint('connection_order', { mode: 'number' }),
    revokedAt: instant('revoked_at'),
    retiredAt: instant('retired_at'),
    retiredReason: text('retired_reason'),
    replacedByKey: key('replaced_by_key'),
    maintenanceKey: key('maintenance_key'),
    maintenanceReason: text('maintenance_reason'),
    maintenanceSince: instant('maintenance_since'),
    maintenanceUntil: instant('maintenance_until'),
    maintenanceEndedAt: instant('maintenance_ended_at'),
    createdRevision: revision('created_revision').notNull(),
    /** The number of `log_head.writes` after the batch that created or changed it: what a server above does not have yet. */
    changedWrite: bigint('changed_write', { mode: 'number' }).notNull().default(0),
  },
  (t) => [
    uniqueIndex('targets_name').on(t.kind, t.provider, t.name, t.siteKey),
    index('targets_site').on(t.siteKey, t.name).where(ofSite),
    index('targets_changed').on(t.changedWrite),
    index('targets_search').on(sql`lower(name) text_pattern_ops`),
    // Most IDs are their own folded form, so this index has few entries.
    index('targets_folded').on(t.foldedName).where(sql`folded_name is not null`),
    index('targets_parent').on(t.parentKey).where(sql`parent_key is not null`),
    index('targets_retired').on(t.name).where(sql`retired_at is not null`),
    index('targets_maintenance').on(t.maintenanceKey).where(sql`maintenance_key is not null`),
    index('targets_connectivity').on(t.connectivity).where(sql`kind = 'DEVICE' and retired_at is null`),
    index('targets_labels').using('gin', sql`labels jsonb_path_ops`),
    // Heartbeats change no name, so they stay HOT updates.
    index('targets_display_name')
      .using('gin', sql`text_trigrams(lower(display_name)) collate "C"`)
      .with({ fastupdate: false })
      .where(sql`display_name is not null`),
  ],
)

/** How often a device's accepted reports deviated from the specification. Like `targets.last_heard_at`, it changes without a revision. */
export const deviceDeviations = pgTable(
  'device_deviations',
  {
    targetKey: key('target_key').notNull(),
    /** See domain/deviation.ts. Text, so that a new kind needs no migration. */
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
    /** storedUniqueName() of the columns below. */
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
    createdAt: instant('created_at').notNull(),
    /** A deployment of it was first not PENDING. Null: none was. */
    startedRevision: revision('started_revision'),
    startedAt: instant('started_at'),
    /** The number of its deployments in progress last changed. If there is none now, it has been finished since. */
    activityRevision: revision('activity_revision').notNull(),
    activityAt: instant('activity_at').notNull(),
    /** The last entry of the log that is about it. No index: it would cost each report. */
    changedRevision: revision('changed_revision').notNull(),
    changedAt: instant('changed_at').notNull(),
    ...deploymentCounters,
  },
  (t) => [
    uniqueIndex('rollouts_identity').on(t.kind, t.identity),
    index('rollouts_search').on(sql`lower(name) text_pattern_ops`),
    // Names never change, so reports pay for it only with a new rollout.
    index('rollouts_name').on(t.name, t.key),
    // The newest intents: a fleet may have a rollout of its own for each deployment.
    index('rollouts_newest').on(t.key).where(sql`kind <> 'MARGO_DEPLOYMENT'`),
  ],
)

const withError = sql`forgotten_at is null and deployment_has_error(error, components)`

/** What a change of a deployment can alter: as it is now, and as it was (past_deployments). */
export const deploymentImage = {
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
  /** In the order in which the components were first reported or declared. */
  components: json('components').$type<readonly Component[]>().notNull(),
  attempt: integer('attempt').notNull(),
  adoptedManifestVersion: u64('adopted_manifest_version'),
  targetManifestVersion: u64('target_manifest_version'),
  documentDigest: text('document_digest').$type<Digest>(),
  convergence: convergence('convergence').notNull().default('UNKNOWN'),
  stalled: boolean('stalled').notNull().default(false),
  reportedAt: instant('reported_at'),
  changedAt: instant('changed_at').notNull(),
  revision: revision('revision').notNull(),
  forgottenAt: instant('forgotten_at'),
}

export const deployments = pgTable(
  'deployments',
  {
    key: key('key').primaryKey(),
    deploymentId: text('deployment_id').notNull(),
    reporter: text('reporter').notNull(),
    siteKey: key('site_key').notNull().default(ownSite),
    ...deploymentImage,
    declaredComponents: json('declared_components').$type<readonly string[]>().notNull().default([]),
    claimed: boolean('claimed').notNull(),
    receivedAt: instant('received_at').notNull(),
    /** The order of its newest report: {adoptedManifestVersion, boot, seq, observedAt}. */
    marks: json('marks').$type<OrderMarks>().notNull(),
    /** Number of acknowledged reports that repeated the known state. They are not stored. */
    repeats: bigint('repeats', { mode: 'number' }).notNull().default(0),
  },
  (t) => [
    uniqueIndex('deployments_place').on(t.instanceKey, t.targetKey).where(sql`instance_key is not null`),
    index('deployments_target').on(t.targetKey),
    index('deployments_rollout').on(t.rolloutKey, t.revision).where(sql`forgotten_at is null`),
    index('deployments_revision').on(t.revision).where(sql`forgotten_at is null`),
    index('deployments_state').on(t.state, t.revision).where(sql`forgotten_at is null`),
    index('deployments_convergence').on(t.convergence, t.revision).where(sql`forgotten_at is null`),
    index('deployments_forgotten').on(t.revision).where(sql`forgotten_at is not null`),
    index('deployments_stalled').on(t.rolloutKey).where(sql`stalled and forgotten_at is null and is_current`),
    index('deployments_instance').on(t.instanceKey, t.revision).where(sql`instance_key is not null`),
    // Filters that few deployments match. A row without an error costs these indexes the predicates only.
    index('deployments_with_error').on(t.revision).where(withError),
    index('deployments_error_codes')
      .using('gin', sql`deployment_error_codes(error, components)`)
      .with({ fastupdate: false })
      .where(withError),
    index('deployments_inconsistent').on(t.revision).where(sql`forgotten_at is null and not consistent`),
    index('deployments_readiness')
      .on(t.readiness, t.revision)
      .where(sql`forgotten_at is null and readiness <> 'UNKNOWN'`),
    index('deployments_derived')
      .on(t.derivedState, t.revision)
      .where(sql`forgotten_at is null and derived_state <> state`),
  ],
)

/**
 * What deployments are found by that reports do not change: a trigger writes a row with a deployment, and again if one of its columns differs
 * (drizzle/0000_first.sql). Each report writes its row of `deployments` anew, and so pays for every index of that table. Names have no order, so their
 * entries would go to pages all over an index.
 */
export const deploymentNames = pgTable(
  'deployment_names',
  {
    deploymentKey: key('deployment_key').primaryKey(),
    deploymentId: text('deployment_id').notNull(),
    reporter: text('reporter').notNull(),
    targetKey: key('target_key').notNull(),
    rolloutKey: key('rollout_key').notNull(),
    /** An orchestrator or a site has it (`instance_key` is not null, or `site_key` not 0): its names need not be unique. */
    isRemote: boolean('is_remote').notNull(),
    isForgotten: boolean('is_forgotten').notNull(),
  },
  (t) => [
    // A deployment of an orchestrator and one that a device reports are never the same, even with equal names.
    uniqueIndex('deployment_names_reporter').on(t.reporter, t.deploymentId).where(sql`not is_remote`),
    index('deployment_names_orchestrator').on(t.reporter, t.deploymentId).where(sql`is_remote`),
    index('deployment_names_id').on(t.deploymentId, t.deploymentKey),
    index('deployment_names_search').on(sql`lower(deployment_id) text_pattern_ops`).where(sql`not is_forgotten`),
    index('deployment_names_target').on(t.targetKey, t.deploymentId),
    index('deployment_names_rollout').on(t.rolloutKey, t.deploymentId, t.deploymentKey).where(sql`not is_forgotten`),
  ],
)

/** Each acknowledged report that was APPLIED or STALE, once. */
export const reports = pgTable(
  'reports',
  {
    deploymentKey: key('deployment_key').notNull(),
    key: key('key').notNull(),
    verdict: verdict('verdict').notNull(),
    /** The ordering key by which a STALE report was older. */
    staleBy: text('stale_by').$type<OrderKey>(),
    reportedAt: instant('reported_at'),
    receivedAt: instant('received_at').notNull(),
    seq: u64('seq'),
    boot: text('boot'),
    adoptedManifestVersion: u64('adopted_manifest_version'),
    state: deploymentState('state').notNull(),
    error: json('error').$type<StatusError>(),
    /** The components of a STALE report. Those of an APPLIED report are in the log. */
    components: json('components').$type<readonly ComponentReport[]>(),
    /** The target and rollout of a STALE report. Null: the report was APPLIED, so the log has them. */
    targetKey: key('target_key'),
    rolloutKey: key('rollout_key'),
    /** The last revision of an APPLIED report. */
    revision: revision('revision'),
    dialect: text('dialect').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.deploymentKey, t.key] }),
    // Retention deletes the oldest reports. Rows are inserted in that order, so a block range index is enough.
    index('reports_received').using('brin', t.receivedAt),
    // An index of all reports would cost each of them. Few are STALE.
    index('reports_stale').on(t.key).where(sql`verdict = 'STALE'`),
  ],
)
