/** Sites: what their servers have sent, and what their keys are here. */
import { bigint, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { instant, key, revision } from './columns.ts'

/** How far this server has the log of a site. A row for each site with a credential of its own (see domain/sites/batch.ts). */
export const sites = pgTable('sites', {
  /** Of its target. */
  key: key('key').primaryKey(),
  /** Null, with the other two: nothing was received yet. */
  epoch: revision('epoch'),
  revision: revision('revision'),
  writes: bigint('writes', { mode: 'number' }),
  /** The snapshot that is being received. Null, with the other three: none is. */
  snapshotEpoch: revision('snapshot_epoch'),
  snapshotRevision: revision('snapshot_revision'),
  snapshotWrites: bigint('snapshot_writes', { mode: 'number' }),
  snapshotAfter: key('snapshot_after'),
  protocol: integer('protocol').notNull(),
  version: text('version').notNull(),
  /** Entries of its log that it had not sent yet, with the last batch. */
  backlog: bigint('backlog', { mode: 'number' }).notNull(),
  /** By the clock of the site. */
  sentAt: instant('sent_at').notNull(),
  receivedAt: instant('received_at').notNull(),
})

/** The keys that devices and clusters have where they come from. */
export const siteTargets = pgTable(
  'site_targets',
  {
    siteKey: key('site_key').notNull(),
    theirs: key('theirs').notNull(),
    key: key('key').notNull(),
  },
  (t) => [primaryKey({ columns: [t.siteKey, t.theirs] })],
)

export const siteDeployments = pgTable(
  'site_deployments',
  {
    siteKey: key('site_key').notNull(),
    theirs: key('theirs').notNull(),
    key: key('key').notNull(),
    /** The snapshot had it as of this revision of its site: facts up to it are not new. 0: no snapshot had it. */
    since: revision('since').notNull(),
  },
  (t) => [primaryKey({ columns: [t.siteKey, t.theirs] }), index('site_deployments_key').on(t.key)],
)
