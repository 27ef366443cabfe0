/** The labels of rollouts. */
import { sql } from 'drizzle-orm'
import { index, jsonb, pgTable, primaryKey } from 'drizzle-orm/pg-core'
import type { Label } from '../../domain/target.ts'
import { key, revision } from './columns.ts'

/**
 * The labels of each rollout from a revision until another one. A rollout that never had labels has no row. A column of `rollouts` was rejected:
 * each report writes that row anew, and the labels of the past would have to be found among all changes of the rollout.
 */
export const rolloutLabels = pgTable(
  'rollout_labels',
  {
    rolloutKey: key('rollout_key').notNull(),
    since: revision('since').notNull(),
    /** The revision that changed them. Null: these are the present ones. */
    until: revision('until'),
    labels: jsonb('labels').$type<readonly Label[]>().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.rolloutKey, t.since] }),
    index('rollout_labels_labels').using('gin', sql`labels jsonb_path_ops`),
    // For retention.
    index('rollout_labels_until').on(t.until).where(sql`until is not null`),
  ],
)
