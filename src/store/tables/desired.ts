/** The desired state of devices, and their profiles. */
import { sql } from 'drizzle-orm'
import { bigint, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import type { Digest } from '../../domain/desired.ts'
import { instant, key, revision } from './columns.ts'

/** The newest profile of each device: when it was onboarded, and its capabilities as sent. */
export const deviceProfiles = pgTable(
  'device_profiles',
  {
    targetKey: key('target_key').primaryKey(),
    onboardedAt: instant('onboarded_at'),
    capabilities: text('capabilities'),
    capabilitiesAt: instant('capabilities_at'),
    generation: text('generation'),
    /** Labels that the device gives itself. Access scopes ignore them: otherwise a device could choose who sees it. */
    labels: jsonb('labels').notNull().default([]),
  },
  () => [
    index('device_profiles_labels').using('gin', sql`labels jsonb_path_ops`),
    index('device_profiles_vendor').using('hash', sql`device_capability(capabilities, 'vendor')`),
    index('device_profiles_model').using('hash', sql`device_capability(capabilities, 'modelNumber')`),
  ],
)

/** Desired documents, byte for byte, by digest (`sha256:` and the hash). They are never removed: they are the record of what was desired. */
export const desiredDocuments = pgTable('desired_documents', {
  digest: text('digest').primaryKey(),
  content: text('content').notNull(),
})

/** All versions of a device's manifest except the first, which is empty. They are never removed. */
export const manifests = pgTable(
  'manifests',
  {
    targetKey: key('target_key').notNull(),
    version: bigint('version', { mode: 'number' }).notNull(),
    at: instant('at').notNull(),
    caller: text('who').notNull(),
    why: text('why').notNull(),
    bundleDigest: text('bundle_digest').$type<Digest>(),
    bundleSize: integer('bundle_size'),
  },
  (t) => [primaryKey({ columns: [t.targetKey, t.version] })],
)

/**
 * Who declared deployments of a rollout, when and why: a row for each command and rollout that it changed. They are never removed. Without this
 * table, the newest declaration of a rollout would cost a look at each of its deployments, and the author of one without documents is nowhere else.
 */
export const declarations = pgTable(
  'declarations',
  {
    rolloutKey: key('rollout_key').notNull(),
    /** The newest revision that the command made in the rollout. */
    revision: revision('revision').notNull(),
    /** That of the rollout, for readers of certain projects. */
    project: text('project'),
    at: instant('at').notNull(),
    caller: text('who').notNull(),
    why: text('why').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.rolloutKey, t.revision] }),
    index('declarations_newest').on(t.revision),
    index('declarations_project').on(t.project, t.revision).where(sql`project is not null`),
  ],
)

/** The document of a deployment in a range of versions: since <= version < until. */
export const manifestEntries = pgTable(
  'manifest_entries',
  {
    targetKey: key('target_key').notNull(),
    deploymentId: text('deployment_id').notNull(),
    since: bigint('since', { mode: 'number' }).notNull(),
    until: bigint('until', { mode: 'number' }),
    deploymentKey: key('deployment_key').notNull(),
    deviceId: text('device_id').notNull(),
    digest: text('digest').$type<Digest>().notNull(),
    size: integer('size').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.targetKey, t.deploymentId, t.since] }),
    index('manifest_entries_deployment').on(t.deploymentKey, t.since),
  ],
)
