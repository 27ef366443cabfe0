/** Small duties: what was kept for a time is forgotten, devices that are silent become OFFLINE, and PostgreSQL gets statistics. */
import type { Millis } from '../../domain/values.ts'
import type { Database, Session } from '../../store/database.ts'
import { findEnded, findSilent, forgetBatches, forgetSignatures } from '../../store/write/housekeeping.ts'
import {
  analyzeTable,
  checkpointLongLog,
  findUnanalyzed,
  findUnvacuumed,
  vacuumTable,
} from '../../store/write/upkeep.ts'
import { markSilent } from '../commands/connectivity.ts'
import { forgetRemoved } from '../commands/remove.ts'
import type { Writer } from '../writer.ts'
import type { Duty } from './duties.ts'

export const day: Millis = 24 * 60 * 60 * 1000
/** Devices or deployments in one command. */
const chunk = 500
/** Days that the last batch of a server is remembered. A server that was suspended for as long may write its batch twice. */
const batchDays = 30

export interface HousekeepingOptions {
  readonly database: Pick<Database, 'session' | 'kind'>
  readonly writer: Pick<Writer, 'submit'>
  /** Seconds. Null: only devices that promised a heartbeat become OFFLINE by silence. */
  readonly offlineAfter: number | null
  /** Null: never. */
  readonly forgetRemovedDays: number | null
}

export function createHousekeeping(options: HousekeepingOptions): readonly Duty[] {
  const { writer, offlineAfter, forgetRemovedDays } = options
  const { session, kind } = options.database
  return [
    createSignatureCleanup(session),
    createBatchCleanup(session),
    createSilenceCheck(session, writer, offlineAfter),
    createStatistics(session),
    ...(kind === 'pglite' ? [createLogCheck(session), createVacuum(session)] : []),
    ...(forgetRemovedDays === null ? [] : [createForgetting(session, writer, forgetRemovedDays * day)]),
  ]
}

function createSignatureCleanup(session: Session): Duty {
  return {
    name: 'signatures',
    interval: 0,
    budget: 5_000,
    async run({ now }) {
      await forgetSignatures(session, now)
      return true
    },
  }
}

function createBatchCleanup(session: Session): Duty {
  return {
    name: 'batches',
    interval: day,
    budget: 5_000,
    async run({ now }) {
      await forgetBatches(session, now - batchDays * day)
      return true
    },
  }
}

function createSilenceCheck(session: Session, writer: Pick<Writer, 'submit'>, offlineAfter: number | null): Duty {
  return {
    name: 'silence',
    interval: 0,
    budget: 5_000,
    async run({ now, listeningSince, isOver }) {
      for (;;) {
        const silent = await findSilent(session, now, listeningSince, offlineAfter, chunk)
        if (silent.length === 0) return true
        const { marked } = await writer.submit(markSilent(silent, listeningSince))
        // The devices were heard meanwhile.
        if (silent.length < chunk || marked === 0) return true
        if (isOver()) return false
      }
    },
  }
}

function createStatistics(session: Session): Duty {
  return {
    name: 'statistics',
    interval: 0,
    budget: 5_000,
    async run({ isOver }) {
      for (const table of await findUnanalyzed(session)) {
        await analyzeTable(session, table)
        if (isOver()) return false
      }
      return true
    },
  }
}

/** For the embedded database. PostgreSQL makes its own checkpoints. */
function createLogCheck(session: Session): Duty {
  return {
    name: 'wal',
    interval: 0,
    budget: 5_000,
    async run() {
      await checkpointLongLog(session)
      return true
    },
  }
}

/** For the embedded database. A statement of its own for each table, so that reports go between them. */
function createVacuum(session: Session): Duty {
  return {
    name: 'vacuum',
    interval: 60_000,
    budget: 5_000,
    async run({ isOver }) {
      for (const table of await findUnvacuumed(session)) {
        await vacuumTable(session, table)
        if (isOver()) return false
      }
      return true
    },
  }
}

/** Forgets deployments that have been REMOVED for so long. */
function createForgetting(session: Session, writer: Pick<Writer, 'submit'>, kept: Millis): Duty {
  return {
    name: 'forgetting',
    interval: 0,
    budget: 5_000,
    async run({ now, isOver }) {
      const before = now - kept
      for (;;) {
        const keys = await findEnded(session, before, chunk)
        if (keys.length === 0) return true
        await writer.submit(forgetRemoved(keys, before))
        if (isOver()) return false
      }
    },
  }
}
