/** Runs the reads of a route on one snapshot, within the time limit of an operation and the caller's limit of concurrent reads. */
import type { IncomingMessage } from 'node:http'
import type { Principal } from '../domain/principal.ts'
import type { Admission } from '../limits/admission.ts'
import type { Deadline } from '../limits/deadline.ts'
import type { Database, Snapshot } from '../store/database.ts'

export interface ReadingDeps {
  readonly database: Pick<Database, 'snapshot'>
  readonly deadline: () => Deadline
  readonly admission: Pick<Admission, 'enter' | 'callerOf'>
}

export async function reading<T>(
  { database, deadline, admission }: ReadingDeps,
  request: IncomingMessage,
  principal: Principal,
  read: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const { signal, met } = deadline()
  try {
    const leave = await admission.enter(admission.callerOf(principal, request), signal)
    try {
      const snapshot = await database.snapshot(signal, 'present')
      return await read(snapshot).finally(snapshot.close)
    } finally {
      leave()
    }
  } finally {
    met()
  }
}
