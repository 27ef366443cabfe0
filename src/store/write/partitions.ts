/**
 * The log, the reports and the audit log are partitioned by their ascending keys. Retention drops a partition as soon as all of it has expired:
 * to delete its rows would write as much as they did, and would leave the files as large as they are.
 *
 * To change partitions, PostgreSQL locks the whole table for a moment (migration/lock-attempts.ts).
 */
import { roundUp } from '../../domain/access-scope.ts'
import type { Millis } from '../../domain/values.ts'
import type { Database, Session } from '../database.ts'
import { attemptChange } from '../migration/lock-attempts.ts'
import { iso } from '../sql/record-set.ts'
import type { Growth, PartitionRange } from './partition-bounds.ts'

/** Some ten seconds. */
const patience = { limit: 100, attempts: 20, pause: (attempt: number) => 50 * attempt }

export interface PartitionedTable {
  readonly name: string
  readonly key: string
  readonly time: string
  /** `select … as head`: no later row has a lower key. */
  readonly head: string
  /** The order by which an early row of a partition is found. */
  readonly firstBy: string
  /** Retention removes nothing of it before it has been copied, where rows are copied. */
  readonly isCopied: boolean
  /** `select … as needed`: whether a partition has a row that is not older than $1. */
  isNeeded(partition: string): string
}

export const partitionedTables: readonly PartitionedTable[] = [
  {
    name: 'change_log',
    key: 'first_revision',
    time: 'at',
    head: 'select revision + 1 as head from log_head',
    // Revisions leap between epochs.
    firstBy: 'where first_revision > (select epoch_base from log_head) order by first_revision',
    isCopied: true,
    // Within an epoch, times do not decrease. Of an epoch without entries here, the entry is the last of one before.
    isNeeded: (partition) => `select exists (select from epochs e cross join lateral (
      select at from ${partition} where first_revision <= coalesce(e.ended, 9223372036854775807)
      order by first_revision desc limit 1) l where l.at >= $1::timestamptz) as needed`,
  },
  {
    name: 'reports',
    key: 'key',
    time: 'received_at',
    head: 'select next_key as head from log_head',
    firstBy: '',
    isCopied: true,
    // No index has the times in their order. Nearly always the last page says that the partition is still needed.
    isNeeded: (partition) => `select exists (select from ${partition} where received_at >= $1::timestamptz and ctid >= (
        select format('(%s,0)', greatest(pg_relation_size('${partition}') / current_setting('block_size')::int - 1, 0))::tid))
      or exists (select from ${partition} where received_at >= $1::timestamptz) as needed`,
  },
  {
    name: 'audit_log',
    key: 'key',
    time: 'at',
    head: 'select coalesce(max(key), 0) + 1 as head from audit_log',
    firstBy: 'order by key',
    isCopied: true,
    isNeeded: (partition) => `select exists (select from ${partition} where at >= $1::timestamptz) as needed`,
  },
  {
    name: 'past_deployments',
    key: 'until',
    time: '(select at from change_log where first_revision = until)',
    head: 'select revision + 1 as head from log_head',
    firstBy: 'where until > (select greatest(epoch_base, tail) from log_head) order by until',
    isCopied: false,
    // A row is needed as long as the entry that ended it.
    isNeeded: (partition) => `select exists (select from ${partition} where until > (select tail from log_head))
      or $1::timestamptz is null as needed`,
  },
]

interface Partition extends PartitionRange {
  /** Quoted. */
  readonly name: string
  /** The upper bound of an unfinished division. */
  readonly cut: number | null
}

/** In the order of their ranges. */
export async function listPartitions(session: Session, table: string): Promise<Partition[]> {
  const rows = await session.run<{ name: string; range: string; cut: string | null }>(
    `select quote_ident(c.relname) as name, pg_get_expr(c.relpartbound, c.oid) as range,
       (select pg_get_constraintdef(k.oid) from pg_constraint k where k.conrelid = c.oid and k.conname = 'cut') as cut
     from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::regclass`,
    [table],
  )
  const number = (text: string | undefined): number | null => (text === undefined ? null : Number(text))
  return rows
    .map(({ name, range, cut }) => ({
      name,
      from: number(/FROM \('?(-?\d+)/.exec(range)?.[1]),
      to: number(/TO \('?(-?\d+)/.exec(range)?.[1]),
      cut: number(/< '?(-?\d+)/.exec(cut ?? '')?.[1]),
    }))
    .toSorted((a, b) => (a.from ?? Number.NEGATIVE_INFINITY) - (b.from ?? Number.NEGATIVE_INFINITY))
}

/** How the table has grown. */
export async function readGrowth(
  session: Session,
  table: PartitionedTable,
  partitions: readonly Partition[],
  now: Millis,
  kept: Millis | null,
): Promise<Growth> {
  const [row] = await session.run<{ head: number; rows: number }>(
    `select h.head, (select coalesce(sum(greatest(c.reltuples, 0)), 0)::float8 from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = $1::regclass) as rows from (${table.head}) h`,
    [table.name],
  )
  const { head = 0, rows = 0 } = row ?? {}
  const present = partitions.find(({ to }) => to === null || head < to)
  const [first] = present
    ? await session.run<{ key: number; at: Millis }>(
        `select ${table.key} as key, ${table.time} as at from ${present.name} ${table.firstBy} limit 1`,
      )
    : []
  return { head, rows, first: first ?? null, now, kept }
}

/**
 * Gives the last partition an upper bound and adds one behind it. PostgreSQL checks all rows of a partition whose range changes, and locks the
 * table meanwhile, unless a constraint says that they are within the range. So a constraint is validated first, which blocks no write. It ends
 * the partition at `bound` already, so `bound` must be far beyond what is written until then.
 */
export async function dividePartition(
  database: Database,
  table: PartitionedTable,
  last: Partition,
  bound: number,
  signal?: AbortSignal,
): Promise<void> {
  const { name, from } = last
  const end = last.cut ?? bound
  if (last.cut !== null || !(await isEmpty(database.session, name))) {
    const within = [...(from === null ? [] : [`${table.key} >= ${from}`]), `${table.key} < ${end}`].join(' and ')
    if (last.cut === null)
      await alter(database, [`alter table ${name} add constraint cut check (${within}) not valid`], signal)
    await alter(database, [`alter table ${name} validate constraint cut`], signal)
  }
  await alter(
    database,
    [
      `alter table ${table.name} detach partition ${name}`,
      `alter table ${table.name} attach partition ${name} for values from (${from ?? 'minvalue'}) to (${end})`,
      `alter table ${name} drop constraint if exists cut`,
      `create table ${table.name}_${end} partition of ${table.name} for values from (${end}) to (maxvalue) with (${vacuumEarly})`,
    ],
    signal,
  )
}

function alter(database: Database, statements: readonly string[], signal?: AbortSignal): Promise<void> {
  const change = (lockLimit: number) => database.alter(statements, lockLimit, signal)
  return attemptChange(database.session, patience, change, signal)
}

/** As drizzle/0000_first.sql has it for the first partitions: a vacuum of new rows lets counts in the past read the index alone. */
const vacuumEarly = 'autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02'

async function isEmpty(session: Session, partition: string): Promise<boolean> {
  return (await session.run(`select 1 from ${partition} limit 1`)).length === 0
}

/** The partitions of which every row is older than `before`, oldest first. The one that receives the writes is never among them. */
export async function findExpired(session: Session, table: PartitionedTable, before: Millis): Promise<Partition[]> {
  const [row] = await session.run<{ head: number }>(table.head)
  const expired: Partition[] = []
  for (const partition of await listPartitions(session, table.name)) {
    if (partition.to === null || partition.to > (row?.head ?? 0)) break
    const [answer] = await session.run<{ needed: boolean }>(table.isNeeded(partition.name), [iso(before)])
    if (answer?.needed ?? true) break
    expired.push(partition)
  }
  return expired
}

/** The log ends before its partitions are dropped: a reader that begins meanwhile is not promised what they have. */
export async function moveTail(session: Session, expired: readonly Partition[]): Promise<void> {
  for (const { name } of expired.toReversed()) {
    const [last] = await session.run<{ revision: number; at: Millis }>(
      `select last_revision as revision, at from ${name} order by first_revision desc limit 1`,
    )
    if (!last) continue
    await session.run(
      'update log_head set tail = $1::bigint, tail_at = least($2::timestamptz, at) where id = 1 and tail < $1::bigint',
      [last.revision, iso(roundUp(last.at))],
    )
    return
  }
}

export async function dropPartition(database: Database, partition: Partition, signal?: AbortSignal): Promise<void> {
  await alter(database, [`drop table if exists ${partition.name}`], signal)
}
