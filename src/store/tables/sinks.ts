/** Who is told outside: durable cursors into the log (src/sinks). */
import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, json, pgTable, primaryKey, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { instant, key, revision, sinkKind } from './columns.ts'

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
