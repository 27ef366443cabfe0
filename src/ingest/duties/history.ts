/** The duties that keep the log, the reports and the audit log in partitions, and that remove what is older than it may be. */
import type { Millis } from '../../domain/values.ts'
import type { Database } from '../../store/database.ts'
import { nextBound, perHistory } from '../../store/write/partition-bounds.ts'
import {
  dividePartition,
  dropPartition,
  findExpired,
  listPartitions,
  moveTail,
  partitionedTables,
  readGrowth,
} from '../../store/write/partitions.ts'
import { findArchivable, pruneHistory } from '../../store/write/retention.ts'
import type { Duty } from './duties.ts'

const chunk = 500
/** Milliseconds between the end of a part of the history and its removal. No snapshot lives as long, so none loses rows that it was promised. */
export const dropDelay = 60_000

/** Copies what retention removes (export/archive). */
export interface Archive {
  /** Rows of the table up to this key have a verified copy. */
  copied(table: string): Promise<number>
  /** Copies all rows up to a key. False: `isOver`, and there is more to copy. Throws if a copy could not be made or is not what was written. */
  copy(table: string, upTo: number, isOver: () => boolean): Promise<boolean>
}

interface HistoryOptions {
  readonly database: Database
  /** Milliseconds. Null: keep everything. */
  readonly kept: Millis | null
  /** Ends a change of tables. */
  readonly signal: AbortSignal
  /** Milliseconds, of any origin. */
  readonly monotonic?: () => number
}

/** Divides the last partition of a table before it becomes too large. */
export function createPartitioning({ database, kept, signal }: HistoryOptions): Duty {
  return {
    name: 'partitions',
    interval: 30_000,
    budget: 10_000,
    async run({ now, isOver }) {
      for (const table of partitionedTables) {
        for (;;) {
          const partitions = await listPartitions(database.session, table.name)
          const last = partitions.at(-1)
          if (!last) break
          const growth = await readGrowth(database.session, table, partitions, now, kept)
          const bound = last.cut ?? nextBound(partitions, growth)
          if (bound === null) break
          await dividePartition(database, table, last, bound, signal)
          if (isOver()) return false
        }
      }
      return true
    },
  }
}

interface RetentionOptions extends HistoryOptions {
  readonly kept: Millis
  /** Null or absent: rows are removed without a copy. */
  readonly archive?: Archive | null
}

/** Milliseconds that rows are kept longer, if they may be dropped with a partition or be copied together. */
const extraTimeOf = (kept: Millis): Millis => (1.5 * kept) / perHistory

/**
 * Copies rows before they are removed. A duty of its own: if it fails, `retention` removes nothing more, and both names in the list of duties say
 * which of them fails.
 */
export function createArchiving({ database, kept }: RetentionOptions, archive: Archive): Duty {
  return {
    name: 'archive',
    interval: 30_000,
    budget: 20_000,
    async run({ now, isOver }) {
      const before = now - kept
      for (const table of partitionedTables.filter(({ isCopied }) => isCopied)) {
        const expiry = { copied: await archive.copied(table.name), before, due: before - extraTimeOf(kept) }
        const bound = await findArchivable(database.session, table, expiry)
        if (bound !== null && !(await archive.copy(table.name, bound, isOver))) return false
      }
      return true
    },
  }
}

/** Small steps, so that no batch waits long. */
export function createRetention(options: RetentionOptions): Duty {
  const { database, kept, signal, archive = null, monotonic = () => performance.now() } = options
  /** When the history first ended after a partition, by the partition's name. A restart begins anew. */
  const ended = new Map<string, number>()

  /** Returns the tables that have parts to drop later. */
  async function drop(before: Millis, upTo: (table: string) => number): Promise<Set<string>> {
    const dropping = new Set<string>()
    for (const table of partitionedTables) {
      const found = await findExpired(database.session, table, before)
      const expired = found.filter(({ to }) => to !== null && to - 1 <= upTo(table.name))
      // The others are dropped when they have been copied.
      if (expired.length < found.length) dropping.add(table.name)
      if (table.name === 'change_log') await moveTail(database.session, expired)
      for (const partition of expired) {
        const since = ended.get(partition.name) ?? monotonic()
        ended.set(partition.name, since)
        if (monotonic() - since < dropDelay) {
          dropping.add(table.name)
          continue
        }
        await dropPartition(database, partition, signal)
        ended.delete(partition.name)
      }
    }
    return dropping
  }

  return {
    name: 'retention',
    interval: 30_000,
    budget: 10_000,
    async run({ now, isOver }) {
      const before = now - kept
      const copied = new Map<string, number>()
      if (archive)
        for (const { name, isCopied } of partitionedTables) if (isCopied) copied.set(name, await archive.copied(name))
      const upTo = (table: string): number => copied.get(table) ?? Number.MAX_SAFE_INTEGER
      const dropping = await drop(before, upTo)
      const extraTime = extraTimeOf(kept)
      while ((await pruneHistory(database, before, chunk, { extraTime, dropping, upTo })) > 0) {
        if (isOver()) return false
        await new Promise(setImmediate)
      }
      return true
    },
  }
}
