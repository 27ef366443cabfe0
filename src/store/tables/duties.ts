/** What background duties keep: how each of them goes, and what they derive from the log and from the deployments. And the last backup. */
import { sql } from 'drizzle-orm'
import { bigint, boolean, doublePrecision, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { deploymentState, instant, key, revision } from './columns.ts'

/** Not part of the log, so not the writer's: the replica that holds the lease writes it. */
export const duties = pgTable('duties', {
  name: text('name').primaryKey(),
  /** Every entry of the log up to this revision has been read. Null: the duty reads no log. */
  cursor: revision('cursor'),
  /** Of the projection (store/projection.ts). */
  version: integer('version').notNull().default(1),
  /** While a projection is made again: the version of its rows of before, and up to where they are right. */
  formerVersion: integer('former_version'),
  formerCursor: revision('former_cursor'),
  /** Whether the log may be followed from the cursor (store/projection.ts). */
  followsLog: boolean('follows_log').notNull().default(false),
  attemptedAt: instant('attempted_at'),
  succeededAt: instant('succeeded_at'),
  /** In a row. */
  failures: integer('failures').notNull().default(0),
  /** Of the last round. */
  seconds: doublePrecision('seconds').notNull().default(0),
})

/**
 * How long the deployments of a rollout stayed in a state before they went on, as a histogram: bucket b counts durations from 2^(b/16) to
 * 2^((b+1)/16) milliseconds. Sums of rows are histograms again: of a rollout, of an application, of the fleet.
 */
export const stepDurations = pgTable(
  'step_durations',
  {
    rolloutKey: key('rollout_key').notNull(),
    /** Empty: the deployment as a whole. */
    component: text('component').notNull(),
    state: deploymentState('state').notNull(),
    bucket: integer('bucket').notNull(),
    count: bigint('count', { mode: 'number' }).notNull(),
    /** Milliseconds. */
    total: doublePrecision('total').notNull(),
  },
  (t) => [primaryKey({ columns: [t.rolloutKey, t.component, t.state, t.bucket] })],
)

/** The 95th percentile of each histogram above, kept with it. */
export const usualDurations = pgTable(
  'usual_durations',
  {
    rolloutKey: key('rollout_key').notNull(),
    component: text('component').notNull(),
    state: deploymentState('state').notNull(),
    count: bigint('count', { mode: 'number' }).notNull(),
    /** Milliseconds. */
    p95: doublePrecision('p95').notNull(),
  },
  (t) => [primaryKey({ columns: [t.rolloutKey, t.component, t.state] })],
)

/** Steps that deployments have been in for a minute or longer: each component under way, or the deployment where no component is. */
export const stepsInProgress = pgTable(
  'steps_in_progress',
  {
    deploymentKey: key('deployment_key').notNull(),
    component: text('component').notNull(),
    rolloutKey: key('rollout_key').notNull(),
    state: deploymentState('state').notNull(),
    /** The deployment's last change. */
    since: instant('since').notNull(),
    /** The same, later by the time since then that its device was in maintenance, as far as a search has found that out (standstill.ts). */
    countsFrom: instant('counts_from').notNull(),
    /** Whether a usual duration is known of one of the deployment's steps: then no fixed limit applies. */
    hasPeers: boolean('has_peers').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.deploymentKey, t.component] }),
    index('steps_in_progress_step').on(t.rolloutKey, t.component, t.state, t.countsFrom),
    index('steps_in_progress_since').on(t.hasPeers, t.countsFrom),
  ],
)

/**
 * What filters of deployments look for and what seldom changes: an inverted index beside the deployments (store/write/derived/search-entries.ts). Indexes of
 * the deployments themselves were rejected: each report writes its row anew, and so pays for every index.
 */
export const deploymentSearch = pgTable(
  'deployment_search',
  {
    deploymentKey: key('deployment_key').primaryKey(),
    /** `a:` and the application, `v:` and its version, `c:` and the name of each component. */
    terms: text('terms').array().notNull(),
    /** What the filter `text` looks into, in lower case. Null: it is too long for an index. */
    text: text('text'),
  },
  (t) => [
    // The collation "C" compares bytes. Another would make each entry several times dearer.
    index('deployment_search_parts')
      .using('gin', sql`terms collate "C"`, sql`text_trigrams(text) collate "C"`)
      .with({ fastupdate: false }),
    index('deployment_search_long').on(t.deploymentKey).where(sql`text is null`),
  ],
)

/** One row: the last backup that its maker recorded. */
export const lastBackup = pgTable('last_backup', {
  id: integer('id').primaryKey().default(1),
  at: instant('at').notNull(),
  /** The backup contains it. */
  revision: revision('revision').notNull(),
})
