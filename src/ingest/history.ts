/** The duties that keep the log, the reports and the audit log in partitions, and that remove what is older than it may be. */

import type { Millis } from '../domain/values.ts'
import type { Database } from '../store/database.ts'
import { nextBound, perHistory } from '../store/write/partition-bounds.ts'
import {
  dividePartition,
  dropPartition,
  findExpired,
  listPartitions,
  moveTail,
  partitionedTables,
  readGrowth,
} from '../store/write/partitions.ts'
import { pruneHistory } from '../store/write/retention.ts'
import type { Duty } from './duties.ts'

const chunk = 500
/** Milliseconds between the end of a part of the history and its removal. No snapshot lives as long, so none loses rows that it was promised. */
export const farewell = 60_000

export interface HistoryOptions {
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

/** Small steps, so that no batch waits long. */
export function createRetention(options: HistoryOptions & { readonly kept: Millis }): Duty {
  const { database, kept, signal, monotonic = () => performance.now() } = options
  /** When the history first ended after a partition, by the partition's name. A restart begins anew. */
  const ended = new Map<string, number>()

  /** Returns the tables that have parts to drop later. */
  async function drop(before: Millis): Promise<Set<string>> {
    const dropping = new Set<string>()
    for (const table of partitionedTables) {
      const expired = await findExpired(database.session, table, before)
      if (table.name === 'change_log') await moveTail(database.session, expired)
      for (const partition of expired) {
        const since = ended.get(partition.name) ?? monotonic()
        ended.set(partition.name, since)
        if (monotonic() - since < farewell) {
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
      const dropping = await drop(before)
      const patience = (1.5 * kept) / perHistory
      while ((await pruneHistory(database, before, chunk, { patience, dropping })) > 0) {
        if (isOver()) return false
        await new Promise(setImmediate)
      }
      return true
    },
  }
}
