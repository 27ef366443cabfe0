/** What a route reads: one snapshot, for as long as one operation may take. */
import type { Deadline } from '../limits/deadline.ts'
import type { Database, Snapshot } from '../store/database.ts'

export interface ReadingDeps {
  readonly database: Pick<Database, 'snapshot'>
  readonly deadline: () => Deadline
}

export async function reading<T>(
  { database, deadline }: ReadingDeps,
  read: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const { signal, met } = deadline()
  try {
    const snapshot = await database.snapshot(signal)
    return await read(snapshot).finally(snapshot.close)
  } finally {
    met()
  }
}
