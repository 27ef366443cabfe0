/** Tables of orchestrators: actions, instances, resources and their tallies. */
import { sql } from 'drizzle-orm'
import { boolean, index, integer, json, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import type { SyncStatus } from '../../domain/orchestration/resource.ts'
import {
  deploymentState,
  instanceGoal,
  instanceStatus,
  instant,
  key,
  lifecycleState,
  presence,
  readiness,
  revision,
  syncStatus,
} from './columns.ts'

/** Actions of users on rollouts, by revision. They are kept for ever. */
export const lifecycleActions = pgTable(
  'lifecycle_actions',
  {
    rolloutKey: key('rollout_key').notNull(),
    revision: revision('revision').notNull(),
    state: lifecycleState('state').notNull(),
    instanceId: text('instance_id'),
    instanceRevision: integer('instance_revision').notNull(),
    at: instant('at').notNull(),
    /** The time as the user wrote it. Null: the server's time. */
    timestamp: text('given_time'),
    /** The caller that recorded it. */
    actor: text('actor').notNull(),
  },
  (t) => [primaryKey({ columns: [t.rolloutKey, t.revision] })],
)

/** Instances of a rollout. */
export const instances = pgTable(
  'instances',
  {
    key: key('key').primaryKey(),
    rolloutKey: key('rollout_key').notNull(),
    instanceId: text('instance_id').notNull(),
    revisionNumber: integer('revision_number').notNull(),
    status: instanceStatus('status').notNull(),
    goal: instanceGoal('goal').notNull(),
    reportedState: deploymentState('told'),
    hasFailed: boolean('has_failed').notNull(),
    isCurrent: boolean('is_current').notNull().default(false),
    successorKey: key('successor_key'),
    statusContext: text('status_context').notNull(),
    createdRevision: revision('created_revision').notNull(),
    revision: revision('revision').notNull(),
    /** The instance body as the orchestrator sent it, of a resource bundle. */
    document: json('document'),
  },
  (t) => [
    uniqueIndex('instances_id').on(t.instanceId),
    index('instances_rollout').on(t.rolloutKey, t.createdRevision),
    index('instances_status_context').on(t.statusContext),
    index('instances_current').on(t.rolloutKey).where(sql`is_current`),
  ],
)

export const resources = pgTable(
  'resources',
  {
    key: key('key').primaryKey(),
    rolloutKey: key('rollout_key').notNull(),
    instanceKey: key('instance_key').notNull(),
    deploymentKey: key('deployment_key').notNull(),
    targetKey: key('target_key').notNull(),
    component: text('component').notNull(),
    group: text('api_group').notNull(),
    version: text('version').notNull(),
    kind: text('kind').notNull(),
    namespace: text('namespace'),
    name: text('name').notNull(),
    sync: syncStatus('sync'),
    presence: presence('presence').notNull(),
    readiness: readiness('readiness').notNull(),
    reason: text('reason'),
    message: text('message'),
    showable: boolean('showable').notNull(),
    changedAt: instant('changed_at').notNull(),
    revision: revision('revision').notNull(),
    goneAt: instant('gone_at'),
    detailHash: text('detail_hash'),
    appliedDetailHash: text('applied_detail_hash'),
  },
  (t) => [
    index('resources_name').on(t.deploymentKey, t.component, t.name),
    index('resources_search').on(sql`lower(name) text_pattern_ops`).where(sql`gone_at is null`),
    index('resources_instance').on(t.instanceKey, t.key).where(sql`gone_at is null`),
    index('resources_deployment').on(t.deploymentKey, t.key).where(sql`gone_at is null`),
    index('resources_revision').on(t.instanceKey, t.revision),
    index('resources_gone').on(t.revision).where(sql`gone_at is not null`),
  ],
)

/** The Kubernetes objects. They are read only when selected. */
export const resourceDetails = pgTable('resource_details', {
  key: key('key').primaryKey(),
  detail: json('detail'),
  detailCut: boolean('detail_cut').notNull().default(false),
  appliedDetail: json('applied_detail'),
  appliedDetailCut: boolean('applied_detail_cut').notNull().default(false),
})

/** Number of resources of an instance and of a deployment, by component and state. Updated in the transaction that changes the resources. */
export const resourceTallies = pgTable(
  'resource_tallies',
  {
    /** The key of an instance or of a deployment. */
    ownerKey: key('owner_key').notNull(),
    component: text('component').notNull(),
    /** A SyncStatus, or NONE. */
    sync: text('sync').$type<SyncStatus | 'NONE'>().notNull(),
    presence: presence('presence').notNull(),
    readiness: readiness('readiness').notNull(),
    showable: boolean('showable').notNull(),
    n: integer('n').notNull(),
  },
  (t) => [primaryKey({ columns: [t.ownerKey, t.component, t.sync, t.presence, t.readiness, t.showable] })],
)

/** The newest state snapshot of a component that a cluster sent (ResourceBundleState). */
export const bundles = pgTable(
  'bundles',
  {
    instanceKey: key('instance_key').notNull(),
    targetKey: key('target_key').notNull(),
    component: text('component').notNull(),
    uid: text('uid'),
    resourceVersion: text('resource_version'),
    receivedAt: instant('received_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.instanceKey, t.targetKey, t.component] })],
)
