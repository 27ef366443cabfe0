/** The tables of the log: its head, its entries, and checkpoints of its counts. */
import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, json, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import type { ChangeBody } from '../../domain/change.ts'
import type { Tally } from '../../domain/counters.ts'
import { convergence, deploymentCounters, deploymentState, instant, key, revision } from './columns.ts'
import { deploymentImage } from './core.ts'

/** One row. Its lock orders all writes. Its counters are those of the whole fleet. */
export const logHead = pgTable('log_head', {
  id: integer('id').primaryKey().default(1),
  epochBase: revision('epoch_base').notNull(),
  /** The newest revision. */
  revision: revision('revision').notNull(),
  /** Retention has removed the log up to and including this revision. */
  tail: revision('tail').notNull(),
  tailAt: instant('tail_at').notNull(),
  /** `at` of the newest change. Later changes have an equal or later `at`. */
  at: instant('at').notNull(),
  nextKey: key('next_key').notNull(),
  /** Number of committed batches, including those without a revision. If it is unchanged, no other server has written. */
  writes: bigint('writes', { mode: 'number' }).notNull(),
  /** The writer and number of the last batch. An optimistic batch checks it: if another batch came between, it writes nothing. */
  stamp: text('stamp').notNull().default(''),
  /** Identifies the database (system identifier, timeline, table oid). A different value means a restored copy. */
  identity: text('identity').notNull(),
  ...deploymentCounters,
})

/** All epochs. `ended` is the newest revision of an epoch. Null: it is the present epoch. */
export const epochs = pgTable('epochs', {
  base: revision('base').primaryKey(),
  ended: revision('ended'),
  beganAt: instant('began_at').notNull(),
})

/**
 * The log. An entry is one or more consecutive revisions of one subject, made by one fact: a first report with two components makes
 * three. `changes[i]` has the revision first_revision + i.
 */
export const changeLog = pgTable(
  'change_log',
  {
    firstRevision: revision('first_revision').primaryKey(),
    lastRevision: revision('last_revision').notNull(),
    at: instant('at').notNull(),
    observedAt: instant('observed_at'),
    /** The W3C trace context of the request that made it. Null: it had none. */
    traceparent: text('traceparent'),
    deploymentKey: key('deployment_key'),
    /** Not null: the subject is this resource of the deployment. */
    resourceKey: key('resource_key'),
    targetKey: key('target_key'),
    fromTargetKey: key('from_target_key'),
    rolloutKey: key('rollout_key'),
    fromRolloutKey: key('from_rollout_key'),
    instanceKey: key('instance_key'),
    /** A resource before the entry, by the columns of its table that a change can move. Null: it did not exist. A deployment: past_deployments. */
    before: json('before').$type<object>(),
    /** What the deployment counted as before the entry, in the rollout that it was in. Null: it was not counted (see domain/counters.ts). */
    fromState: deploymentState('from_state'),
    fromConvergence: convergence('from_convergence'),
    /** What it counts as after the entry. */
    toState: deploymentState('to_state'),
    toConvergence: convergence('to_convergence'),
    /** Whether the entry is of a deployment that is found by other names or texts than before (write/derived/found-by.ts). */
    foundByChanged: boolean('found_by_changed').notNull(),
    /** domain ChangeBody[]. */
    changes: json('changes').$type<readonly ChangeBody[]>().notNull(),
    /** Bytes of `changes`, by which readers of the log bound what they read at once: PostgreSQL could not tell without reading the texts. */
    size: integer('size').notNull().generatedAlwaysAs(sql`octet_length(changes::text)`),
  },
  (t) => [
    index('change_log_deployment')
      .on(t.deploymentKey, t.firstRevision)
      .where(sql`deployment_key is not null and resource_key is null`),
    index('change_log_deployment_resource').on(t.deploymentKey, t.firstRevision).where(sql`resource_key is not null`),
    index('change_log_resource').on(t.resourceKey, t.firstRevision).where(sql`resource_key is not null`),
    index('change_log_instance').on(t.instanceKey, t.firstRevision).where(sql`instance_key is not null`),
    // This one and the primary key's have all columns that counts in the past need, so those read the index only. The primary key includes
    // `from_state` to `to_convergence` (drizzle/0000_first.sql): a second index by revision would cost each report.
    index('change_log_rollout')
      .on(t.rolloutKey, t.firstRevision, t.fromRolloutKey, t.fromState, t.fromConvergence, t.toState, t.toConvergence)
      .where(sql`rollout_key is not null`),
    // These contain few entries: moves from a target or a rollout, and changes of targets themselves.
    index('change_log_from_target').on(t.fromTargetKey, t.firstRevision).where(sql`from_target_key is not null`),
    index('change_log_from_rollout').on(t.fromRolloutKey, t.firstRevision).where(sql`from_rollout_key is not null`),
    index('change_log_target')
      .on(t.targetKey, t.firstRevision)
      .where(sql`deployment_key is null and target_key is not null`),
  ],
)

/**
 * The former states of deployments: a row for each entry of the log that ended one. It held from `revision`, when its own entry ended, up to `until`,
 * with which the next one begins. Typed columns and not JSON in the log: a reader of the past looks at thousands of rows, and would parse each.
 */
export const pastDeployments = pgTable(
  'past_deployments',
  {
    /** `first_revision` of the entry. */
    until: revision('until').primaryKey(),
    key: key('key').notNull(),
    ...deploymentImage,
  },
  // Lists in the past: of the states that held at a revision, all but those of one partition have ended in later ones (store/read/walks/past-walk.ts).
  (t) => [index('past_deployments_state').on(t.state, t.revision, t.until)],
)

/** The deployments of a rollout, counted as of a revision that ends an entry. Rollout 0: the whole fleet. */
export const deploymentCheckpoints = pgTable(
  'deployment_checkpoints',
  {
    rolloutKey: key('rollout_key').notNull(),
    revision: revision('revision').notNull(),
    counts: json('counts').$type<readonly Tally[]>().notNull(),
  },
  (t) => [primaryKey({ columns: [t.rolloutKey, t.revision] })],
)

/** The deployments that have a facet (store/sql/facet-moves.ts), counted as of the cursor of the duty that keeps them. */
export const facetCounts = pgTable('facet_counts', {
  facet: text('facet').primaryKey(),
  counts: json('counts').$type<readonly Tally[]>().notNull(),
})

/**
 * The same before a stretch of entries that changed it, of which the last ends at the revision. A row of the facet '' is at the end of each stretch,
 * and at the begin of the first.
 */
export const facetCheckpoints = pgTable(
  'facet_checkpoints',
  {
    facet: text('facet').notNull(),
    revision: revision('revision').notNull(),
    counts: json('counts').$type<readonly Tally[]>().notNull(),
  },
  (t) => [primaryKey({ columns: [t.facet, t.revision] })],
)

/**
 * What 1,000 consecutive entries are about, so that reads with a filter need not read the others (store/read/changes/summaries.ts). An index of
 * entries was rejected: each report would pay for an insertion for each kind, state and component.
 */
export const changeSummaries = pgTable(
  'change_summaries',
  {
    firstRevision: revision('first_revision').primaryKey(),
    lastRevision: revision('last_revision').notNull(),
    entries: integer('entries').notNull(),
    /** `k:` and a kind, `s:` and a state that was changed to, `c:` and the name of a component, `e:` and an error code. Only the letter: too many to list. */
    terms: text('terms').array().notNull(),
    /** The time of the last entry (store/read/changes/newest-entry.ts). */
    lastAt: instant('last_at').notNull(),
    /** The last revisions of some of these entries, ascending, and the times of the same. */
    sampleRevisions: revision('sample_revisions').array().notNull(),
    sampleTimes: instant('sample_times').array().notNull(),
  },
  (t) => [index('change_summaries_time').on(t.lastAt, t.lastRevision)],
)
