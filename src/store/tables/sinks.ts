/** Sinks: the systems outside that get notifications (src/outlets/sinks). */
import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, json, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import type { ChangeFilter } from '../../domain/nouns/change.ts'
import { instant, key, revision, sinkKind } from './columns.ts'

/** A ChangeFilter, and the kinds of Kubernetes objects that changes of resources may concern. */
export interface SinkFilter extends ChangeFilter {
  readonly resourceKinds?: readonly string[]
}

/** Durable cursors into the log. They are not part of the log, so the writer does not own them. */
export const sinks = pgTable(
  'sinks',
  {
    key: bigint('key', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    kind: sinkKind('kind').notNull(),
    name: text('name').notNull(),
    /** It gets the resources of this instance. Null: what its filter selects. */
    instanceKey: key('instance_key'),
    url: text('url').notNull(),
    /** It never leaves the server. */
    secret: text('secret'),
    filter: json('filter').$type<SinkFilter>().notNull().default({}),
    /** What its kind needs in addition. */
    settings: json('settings').$type<Readonly<Record<string, unknown>>>().notNull().default({}),
    paused: boolean('paused').notNull().default(false),
    /** Every change up to this revision has been sent. */
    cursor: revision('cursor').notNull(),
    createdAt: instant('created_at').notNull(),
    attemptedAt: instant('attempted_at'),
    succeededAt: instant('succeeded_at'),
    /** HTTP status of the last response. */
    lastStatus: integer('last_status'),
    lastError: text('last_error'),
    /** Consecutive failures. */
    failures: integer('failures').notNull().default(0),
    /** The earliest time of the next attempt. */
    nextAt: instant('next_at'),
    holder: text('holder'),
    heldUntil: instant('held_until'),
  },
  (t) => [
    uniqueIndex('sinks_name').on(t.instanceKey, t.name).where(sql`kind = 'CALLBACK'`),
    uniqueIndex('sinks_inventory').on(t.instanceKey).where(sql`kind = 'INVENTORY'`),
  ],
)

/** What a reconciled sink last got about each resource. */
export const sinkMarks = pgTable(
  'sink_marks',
  {
    sinkKey: key('sink_key').notNull(),
    resourceKey: key('resource_key').notNull(),
    /** Hash of what was sent. */
    hash: text('hash').notNull(),
    /** resources.detail_hash at that time. */
    detailHash: text('detail_hash'),
    /** What is needed to withdraw it. */
    told: json('told').notNull(),
  },
  (t) => [primaryKey({ columns: [t.sinkKey, t.resourceKey] })],
)

/** Events sent to webhooks: the newest of each webhook. */
export const deliveries = pgTable(
  'deliveries',
  {
    key: bigint('key', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    sinkKey: key('sink_key').notNull(),
    /** The ID of the event. A retry has the same. */
    eventId: text('event_id').notNull(),
    revision: revision('revision'),
    body: text('body').notNull(),
    attempts: integer('attempts').notNull().default(0),
    createdAt: instant('created_at').notNull(),
    deliveredAt: instant('delivered_at'),
    lastStatus: integer('last_status'),
    lastError: text('last_error'),
    /** An operator asked to send it again. */
    isWanted: boolean('is_wanted').notNull().default(false),
  },
  (t) => [
    uniqueIndex('deliveries_event').on(t.sinkKey, t.eventId),
    index('deliveries_wanted').on(t.sinkKey).where(sql`is_wanted`),
  ],
)
