/**
 * Runs the reads of a route on one snapshot, within the time limit of an operation and the caller's limit of concurrent reads. `read` runs
 * again on the primary if the standby that it read is lost, so it answers last, or in parts (streamed-json.ts).
 */
import type { IncomingMessage } from 'node:http'
import type { Principal } from '../../domain/principal.ts'
import type { Admission } from '../../platform/limits/admission.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import type { Database, Freshness, Snapshot } from '../../store/database.ts'

export interface SnapshotDeps {
  readonly database: Pick<Database, 'snapshot'>
  readonly deadline: () => Deadline
  readonly admission: Pick<Admission, 'enter' | 'callerOf'>
}

export async function withSnapshot<T>(
  { database, deadline, admission }: SnapshotDeps,
  request: IncomingMessage,
  principal: Principal,
  read: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const { signal, met } = deadline()

  async function readFrom(freshness: Freshness): Promise<T> {
    const snapshot = await database.snapshot(signal, freshness)
    try {
      return await read(snapshot)
    } catch (error) {
      if (!snapshot.isStandbyLost?.()) throw error
    } finally {
      await snapshot.close()
    }
    return readFrom('primary')
  }

  try {
    const leave = await admission.enter(admission.callerOf(principal, request), signal)
    try {
      return await readFrom('present')
    } finally {
      leave()
    }
  } finally {
    met()
  }
}
