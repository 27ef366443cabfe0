/** Maintenance windows that last through all that is played. Not of the log, in which the model has its own changes only. */
import type { Session } from '../../../src/store/database.ts'
import { insertWindow } from '../../../src/store/write/maintenance.ts'

/** By their reasons. */
export const windows = new Map([
  ['power', 1],
  ['roof', 2],
])

export async function openWindows(session: Session): Promise<void> {
  for (const [reason, key] of windows) {
    const selector = { given: {}, filter: { registered: true } }
    const planned = { reason, beginsAt: 0, endsAt: 4e12, repeat: null, timeZone: 'UTC', selector }
    const present = { key, nextAt: 0, nextEnd: 4e12, begun: true, plannedRevision: 0, plannedAt: 0, plannedBy: 'ann' }
    const { text, parameters } = insertWindow({
      ...{ ...planned, ...present, endedRevision: null, endedAt: null, endedBy: null },
    })
    await session.run(text, parameters)
  }
}
