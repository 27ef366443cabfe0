/** Planned downtime: the windows, and which devices were in one and when (domain/maintenance.ts). */
import { sql } from 'drizzle-orm'
import { boolean, index, json, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import type { MaintenanceSelector } from '../../domain/maintenance.ts'
import type { ConnectivitySource } from '../../domain/target.ts'
import { instant, key, revision } from './columns.ts'

export const maintenanceWindows = pgTable(
  'maintenance_windows',
  {
    key: key('key').primaryKey(),
    reason: text('reason').notNull(),
    selector: json('selector').$type<MaintenanceSelector>().notNull(),
    beginsAt: instant('begins_at').notNull(),
    endsAt: instant('ends_at').notNull(),
    repeat: text('repeat'),
    timeZone: text('time_zone').notNull(),
    nextAt: instant('next_at'),
    nextEnd: instant('next_end'),
    begun: boolean('begun').notNull().default(false),
    plannedRevision: revision('planned_revision').notNull(),
    plannedAt: instant('planned_at').notNull(),
    plannedBy: text('planned_by').notNull(),
    endedRevision: revision('ended_revision'),
    endedAt: instant('ended_at'),
    endedBy: text('ended_by'),
  },
  (t) => [
    index('maintenance_windows_next').on(t.nextAt).where(sql`next_at is not null and ended_revision is null`),
    index('maintenance_windows_planned').on(t.plannedRevision),
  ],
)

/** A row for each time that a device was in a window. The log has the same facts, which retention removes together with these rows. */
export const maintenancePeriods = pgTable(
  'maintenance_periods',
  {
    targetKey: key('target_key').notNull(),
    beganRevision: revision('began_revision').notNull(),
    windowKey: key('window_key').notNull(),
    reason: text('reason').notNull(),
    beganAt: instant('began_at').notNull(),
    /** As planned. */
    until: instant('until').notNull(),
    /** Null: it is in the window. */
    endedRevision: revision('ended_revision'),
    endedAt: instant('ended_at'),
    /** When its broker or its orchestrator last said that it is gone, which counts only if it still holds afterwards. Null: they did not, or that has been decided. */
    goneAt: instant('gone_at'),
    goneSource: text('gone_source').$type<ConnectivitySource>(),
  },
  (t) => [
    primaryKey({ columns: [t.targetKey, t.beganRevision] }),
    // For retention, and for who was in a window at a revision.
    index('maintenance_periods_ended').on(t.endedRevision),
    index('maintenance_periods_gone').on(t.goneAt).where(sql`gone_at is not null and ended_revision is not null`),
  ],
)
