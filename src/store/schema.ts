/**
 * The tables. A `key` is an internal number, handed out under the writer's lock (log_head.next_key); an `id` is the world's.
 * Two rules hold everything together: only the writer (src/ingest) writes them, and only under the lock of log_head;
 * and every row of change_log carries what its subject was before it, so that the past is the present unwound.
 * What is written with each report and only read as a whole is json: parsing it into jsonb was half the cost of writing it.
 */
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  index,
  integer,
  json,
  jsonb,
  numeric,
  pgEnum,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
} from 'drizzle-orm/pg-core'
import { deploymentStates, readinesses } from '../domain/deployment.ts'
import { convergences } from '../domain/desired.ts'
import { instanceGoals, instanceStatuses } from '../domain/instance.ts'
import { lifecycleStates } from '../domain/lifecycle.ts'
import { verdicts } from '../domain/report.ts'
import { presences, syncStatuses } from '../domain/resource.ts'
import { rolloutKinds } from '../domain/rollout.ts'
import { connectivities, targetKinds } from '../domain/target.ts'

export const deploymentState = pgEnum('deployment_state', deploymentStates)
export const convergence = pgEnum('convergence', convergences)
export const readiness = pgEnum('readiness', readinesses)
export const connectivity = pgEnum('connectivity', connectivities)
export const targetKind = pgEnum('target_kind', targetKinds)
export const rolloutKind = pgEnum('rollout_kind', rolloutKinds)
export const lifecycleState = pgEnum('lifecycle_state', lifecycleStates)
export const instanceStatus = pgEnum('instance_status', instanceStatuses)
export const instanceGoal = pgEnum('instance_goal', instanceGoals)
export const syncStatus = pgEnum('sync_status', syncStatuses)
export const presence = pgEnum('presence', presences)
export const sinkKind = pgEnum('sink_kind', ['CALLBACK', 'WEBHOOK', 'INVENTORY'])
export const verdict = pgEnum('verdict', verdicts)

const revision = (name: string) => bigint(name, { mode: 'number' })
const key = (name: string) => bigint(name, { mode: 'number' })
const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'string' })
const u64 = (name: string) => numeric(name, { precision: 20, scale: 0 })
const count = (name: string) => integer(name).notNull().default(0)

/** Deployments by state and by convergence (domain/counters.ts). */
const deploymentCounters = {
  pending: count('pending'),
  installing: count('installing'),
  installed: count('installed'),
  failed: count('failed'),
  removing: count('removing'),
  removed: count('removed'),
  convergenceConverged: count('convergence_converged'),
  convergenceApplying: count('convergence_applying'),
  convergenceFailed: count('convergence_failed'),
  convergenceStale: count('convergence_stale'),
  convergenceUnknown: count('convergence_unknown'),
}

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

/** Batches whose outcome may still be asked for by a writer that lost its connection while committing. */
export const batches = pgTable('batches', {
  id: text('id').primaryKey(),
  at: instant('at').notNull(),
  outcomes: json('outcomes').notNull(),
})

export const targets = pgTable(
  'targets',
  {
    key: key('key').primaryKey(),
    kind: targetKind('kind').notNull(),
    provider: text('provider').notNull().default(''),
    name: text('name').notNull(),
    displayName: text('display_name'),
    labels: jsonb('labels').notNull().default([]),
    registered: boolean('registered').notNull().default(false),
    expectedInterval: integer('expected_interval'),
    parentKey: key('parent_key'),
    connectivity: connectivity('connectivity').notNull().default('UNKNOWN'),
    lastHeardAt: instant('last_heard_at'),
    revokedAt: instant('revoked_at'),
  },
  (t) => [
    uniqueIndex('targets_name').on(t.kind, t.provider, t.name),
    index('targets_parent').on(t.parentKey).where(sql`parent_key is not null`),
    index('targets_labels').using('gin', sql`labels jsonb_path_ops`),
  ],
)

/** Device tokens, hashed: the token itself is shown once and never stored. */
export const deviceTokens = pgTable(
  'device_tokens',
  {
    hash: text('hash').primaryKey(),
    targetKey: key('target_key').notNull(),
    issuedAt: instant('issued_at').notNull(),
    expiresAt: instant('expires_at'),
  },
  (t) => [index('device_tokens_target').on(t.targetKey)],
)

/** What else a device is known by: a public key, by the hash of it that signatures name, or the SPIFFE id of its certificates. */
export const deviceIdentities = pgTable(
  'device_identities',
  {
    id: text('id').primaryKey(),
    targetKey: key('target_key').notNull(),
    /** SubjectPublicKeyInfo in base64; null: a SPIFFE id, which needs none. */
    publicKey: text('public_key'),
    addedAt: instant('added_at').notNull(),
  },
  (t) => [index('device_identities_target').on(t.targetKey)],
)

/** Signatures of messages that were taken: none is good twice. Forgotten when they are too old to be good anyway. */
export const usedSignatures = pgTable(
  'used_signatures',
  { id: text('id').primaryKey(), until: instant('until').notNull() },
  (t) => [index('used_signatures_until').on(t.until)],
)

export const rollouts = pgTable(
  'rollouts',
  {
    key: key('key').primaryKey(),
    kind: rolloutKind('kind').notNull(),
    /** rolloutIdentity() of the columns below. */
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

/** What users did with a rollout, for ever. Numbered by the revision that says so. */
export const lifecycleActions = pgTable(
  'lifecycle_actions',
  {
    rolloutKey: key('rollout_key').notNull(),
    revision: revision('revision').notNull(),
    state: lifecycleState('state').notNull(),
    instanceId: text('instance_id'),
    instanceRevision: integer('instance_revision').notNull(),
    at: instant('at').notNull(),
    /** As its user wrote it; null: the time is ours. */
    timestamp: text('given_time'),
  },
  (t) => [primaryKey({ columns: [t.rolloutKey, t.revision] })],
)

/** Runs of a rollout: AppContexts. */
export const instances = pgTable(
  'instances',
  {
    key: key('key').primaryKey(),
    rolloutKey: key('rollout_key').notNull(),
    instanceId: text('instance_id').notNull(),
    revisionNumber: integer('revision_number').notNull(),
    status: instanceStatus('status').notNull(),
    goal: instanceGoal('goal').notNull(),
    told: deploymentState('told'),
    isCurrent: boolean('is_current').notNull().default(false),
    successorKey: key('successor_key'),
    statusContext: text('status_context').notNull(),
    createdRevision: revision('created_revision').notNull(),
    revision: revision('revision').notNull(),
    /** As its orchestrator wrote it (k8splugin's instance body). */
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
    index('resources_instance').on(t.instanceKey, t.key).where(sql`gone_at is null`),
    index('resources_deployment').on(t.deploymentKey, t.key).where(sql`gone_at is null`),
    index('resources_revision').on(t.instanceKey, t.revision),
    index('resources_gone').on(t.revision).where(sql`gone_at is not null`),
  ],
)

/** The objects themselves: only read when somebody asks for them. */
export const resourceDetails = pgTable('resource_details', {
  key: key('key').primaryKey(),
  detail: json('detail'),
  detailCut: boolean('detail_cut').notNull().default(false),
  appliedDetail: json('applied_detail'),
  appliedDetailCut: boolean('applied_detail_cut').notNull().default(false),
})

/** How many resources of an instance, and of a deployment, are in which state, by component: kept in the transaction that changes them. */
export const resourceTallies = pgTable(
  'resource_tallies',
  {
    /** An instance's or a deployment's. */
    ownerKey: key('owner_key').notNull(),
    component: text('component').notNull(),
    /** A SyncStatus, or NONE. */
    sync: text('sync').notNull(),
    presence: presence('presence').notNull(),
    readiness: readiness('readiness').notNull(),
    showable: boolean('showable').notNull(),
    n: integer('n').notNull(),
  },
  (t) => [primaryKey({ columns: [t.ownerKey, t.component, t.sync, t.presence, t.readiness, t.showable] })],
)

/** The newest picture of a component that a cluster sent (ResourceBundleState). */
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
    error: json('error'),
    readiness: readiness('readiness').notNull().default('UNKNOWN'),
    /** domain Component[], in the order in which they were first seen or declared. */
    components: json('components').notNull(),
    declaredComponents: json('declared_components').notNull().default([]),
    claimed: boolean('claimed').notNull(),
    attempt: integer('attempt').notNull(),
    adoptedManifestVersion: u64('adopted_manifest_version'),
    targetManifestVersion: u64('target_manifest_version'),
    documentDigest: text('document_digest'),
    convergence: convergence('convergence').notNull().default('UNKNOWN'),
    stalled: boolean('stalled').notNull().default(false),
    reportedAt: instant('reported_at'),
    receivedAt: instant('received_at').notNull(),
    changedAt: instant('changed_at').notNull(),
    revision: revision('revision').notNull(),
    forgottenAt: instant('forgotten_at'),
    /** domain OrderMarks: {adoptedManifestVersion, boot, seq, observedAt}. */
    marks: json('marks').notNull(),
    /** Reports that repeated what was known: acknowledged, and kept only as this number. */
    repeats: bigint('repeats', { mode: 'number' }).notNull().default(0),
  },
  (t) => [
    // What an orchestrator runs and what a device reports are never the same deployment, whatever their names are.
    uniqueIndex('deployments_reporter').on(t.reporter, t.deploymentId).where(sql`instance_key is null`),
    uniqueIndex('deployments_place').on(t.instanceKey, t.targetKey).where(sql`instance_key is not null`),
    index('deployments_id').on(t.deploymentId, t.key),
    index('deployments_target').on(t.targetKey),
    index('deployments_rollout').on(t.rolloutKey, t.revision).where(sql`forgotten_at is null`),
    index('deployments_revision').on(t.revision).where(sql`forgotten_at is null`),
    index('deployments_state').on(t.state, t.revision).where(sql`forgotten_at is null`),
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
    before: json('before'),
    /** domain ChangeBody[]. */
    changes: json('changes').notNull(),
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
    staleBy: text('stale_by'),
    reportedAt: instant('reported_at'),
    receivedAt: instant('received_at').notNull(),
    seq: u64('seq'),
    boot: text('boot'),
    adoptedManifestVersion: u64('adopted_manifest_version'),
    state: deploymentState('state').notNull(),
    error: json('error'),
    /** What a STALE report said of its components (an APPLIED one's is in the log). */
    components: json('components'),
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

/** What a device said of itself, the newest of it: when it came, and what it can run, as it was sent. */
export const deviceProfiles = pgTable('device_profiles', {
  targetKey: key('target_key').primaryKey(),
  onboardedAt: instant('onboarded_at'),
  capabilities: text('capabilities'),
  capabilitiesAt: instant('capabilities_at'),
  generation: text('generation'),
})

/** What devices should run, byte for byte, by `sha256:` and the hash of it. Never removed: it is the trace of what was wanted. */
export const desiredDocuments = pgTable('desired_documents', {
  digest: text('digest').primaryKey(),
  content: text('content').notNull(),
})

/** Every version of what a device should run but its first, which is empty. Never removed. */
export const manifests = pgTable(
  'manifests',
  {
    targetKey: key('target_key').notNull(),
    version: bigint('version', { mode: 'number' }).notNull(),
    at: instant('at').notNull(),
    who: text('who').notNull(),
    why: text('why').notNull(),
    bundleDigest: text('bundle_digest'),
    bundleSize: integer('bundle_size'),
  },
  (t) => [primaryKey({ columns: [t.targetKey, t.version] })],
)

/** Which document a deployment has in which versions: since <= version < until. */
export const manifestEntries = pgTable(
  'manifest_entries',
  {
    targetKey: key('target_key').notNull(),
    deploymentId: text('deployment_id').notNull(),
    since: bigint('since', { mode: 'number' }).notNull(),
    until: bigint('until', { mode: 'number' }),
    deploymentKey: key('deployment_key').notNull(),
    deviceId: text('device_id').notNull(),
    digest: text('digest').notNull(),
    size: integer('size').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.targetKey, t.deploymentId, t.since] }),
    index('manifest_entries_deployment').on(t.deploymentKey, t.since),
  ],
)

/** Who is told outside: durable cursors into the log (src/sinks). Not part of the log, so not the writer's. */
export const sinks = pgTable(
  'sinks',
  {
    key: bigint('key', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    kind: sinkKind('kind').notNull(),
    name: text('name').notNull(),
    /** Whose resources it is told of; null: what its filter says. */
    instanceKey: key('instance_key'),
    url: text('url').notNull(),
    secret: text('secret'),
    /** domain ChangeFilter and Kubernetes kinds. */
    filter: json('filter').notNull().default({}),
    /** What its kind needs besides. */
    settings: json('settings').notNull().default({}),
    paused: boolean('paused').notNull().default(false),
    /** Everything up to here has been told. */
    cursor: revision('cursor').notNull(),
    createdAt: instant('created_at').notNull(),
    attemptedAt: instant('attempted_at'),
    succeededAt: instant('succeeded_at'),
    /** The last answer's HTTP status. */
    lastStatus: integer('last_status'),
    lastError: text('last_error'),
    /** In a row. */
    failures: integer('failures').notNull().default(0),
    /** Not before. */
    nextAt: instant('next_at'),
    holder: text('holder'),
    heldUntil: instant('held_until'),
  },
  (t) => [
    uniqueIndex('sinks_name').on(t.instanceKey, t.name).where(sql`kind = 'CALLBACK'`),
    uniqueIndex('sinks_inventory').on(t.instanceKey).where(sql`kind = 'INVENTORY'`),
  ],
)

/** What a sink that is kept level was last told of each resource. */
export const sinkMarks = pgTable(
  'sink_marks',
  {
    sinkKey: key('sink_key').notNull(),
    resourceKey: key('resource_key').notNull(),
    /** Of what was told. */
    hash: text('hash').notNull(),
    /** resources.detail_hash when it was looked at. */
    detailHash: text('detail_hash'),
    /** What is needed to take it back. */
    told: json('told').notNull(),
  },
  (t) => [primaryKey({ columns: [t.sinkKey, t.resourceKey] })],
)

/** What a webhook was sent: the newest of each. */
export const deliveries = pgTable(
  'deliveries',
  {
    key: bigint('key', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    sinkKey: key('sink_key').notNull(),
    /** The event's, the same however often it is sent. */
    eventId: text('event_id').notNull(),
    revision: revision('revision'),
    body: text('body').notNull(),
    attempts: integer('attempts').notNull().default(0),
    createdAt: instant('created_at').notNull(),
    deliveredAt: instant('delivered_at'),
    lastStatus: integer('last_status'),
    lastError: text('last_error'),
    /** Asked for again by somebody. */
    isWanted: boolean('is_wanted').notNull().default(false),
  },
  (t) => [
    uniqueIndex('deliveries_event').on(t.sinkKey, t.eventId),
    index('deliveries_wanted').on(t.sinkKey).where(sql`is_wanted`),
  ],
)

/** Keys to the API, hashed: a key itself is shown once and never stored. Revoked ones stay, so that the audit log can be read. */
export const apiKeys = pgTable(
  'api_keys',
  {
    id: text('id').primaryKey(),
    hash: text('hash').notNull(),
    name: text('name').notNull(),
    roles: json('roles').notNull(),
    /** As parseScopes reads them. */
    scopes: json('scopes').notNull(),
    createdAt: instant('created_at').notNull(),
    createdBy: text('created_by').notNull(),
    expiresAt: instant('expires_at'),
    revokedAt: instant('revoked_at'),
  },
  (t) => [uniqueIndex('api_keys_hash').on(t.hash)],
)

/** Browsers that are signed in: their cookie, hashed, and what they signed in with. */
export const apiSessions = pgTable(
  'api_sessions',
  {
    hash: text('hash').primaryKey(),
    /** adminKey, key or jwt. */
    credential: text('credential').notNull(),
    /** Of a key its id, of the admin's key its hash: the session ends with it. */
    credentialId: text('credential_id').notNull(),
    name: text('name').notNull(),
    roles: json('roles').notNull(),
    scopes: json('scopes').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [index('api_sessions_expiry').on(t.expiresAt)],
)

/** Who did what, and who was refused. Never a secret. */
export const auditLog = pgTable(
  'audit_log',
  {
    key: bigint('key', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    at: instant('at').notNull(),
    /** MUTATION, SIGN_IN, SIGN_OUT or REFUSED. */
    kind: text('kind').notNull(),
    who: text('who').notNull(),
    credential: text('credential').notNull(),
    address: text('address').notNull(),
    action: text('action').notNull(),
    outcome: text('outcome').notNull(),
    detail: json('detail'),
    /** Refusals that were alike, within a minute. */
    times: integer('times').notNull().default(1),
  },
  (t) => [index('audit_log_at').on(t.at)],
)
