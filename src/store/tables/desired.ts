/** What devices should run, and what they say they can. */
import { bigint, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import type { Digest } from '../../domain/desired.ts'
import { instant, key } from './columns.ts'

/** What a device said of itself, the newest of it: when it came, and what it can run, as it was sent. */
export const deviceProfiles = pgTable('device_profiles', {
  targetKey: key('target_key').primaryKey(),
  onboardedAt: instant('onboarded_at'),
  capabilities: text('capabilities'),
  capabilitiesAt: instant('capabilities_at'),
  generation: text('generation'),
  /** What the device calls itself. No access scope looks here: a device could let itself be seen. */
  labels: jsonb('labels').notNull().default([]),
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
    bundleDigest: text('bundle_digest').$type<Digest>(),
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
    digest: text('digest').$type<Digest>().notNull(),
    size: integer('size').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.targetKey, t.deploymentId, t.since] }),
    index('manifest_entries_deployment').on(t.deploymentKey, t.since),
  ],
)
