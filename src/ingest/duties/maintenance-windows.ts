/**
 * Begins and ends the occurrences of maintenance windows, and has devices enter and leave them. While a window lasts, the devices that it selects are
 * looked up again each minute: a device that is registered or labelled meanwhile enters it, too.
 */
import type { MaintenanceWindow } from '../../domain/maintenance.ts'
import type { Millis } from '../../domain/values.ts'
import { occurrenceAfter } from '../../platform/timing/recurrence.ts'
import type { Database, Session } from '../../store/database.ts'
import {
  dueWindows,
  findEntering,
  findLeaving,
  findStrays,
  noteBegun,
  passOccurrence,
} from '../../store/write/maintenance.ts'
import { moveMaintenance } from '../commands/maintenance.ts'
import type { Writer } from '../writer.ts'
import type { Duty, Turn } from './duties.ts'

/** Devices in one command. */
const chunk = 500
/** Milliseconds between two looks at the devices that a window selects. */
const lookAgain: Millis = 60_000

export function createMaintenanceWindows({ session }: Pick<Database, 'session'>, writer: Pick<Writer, 'submit'>): Duty {
  /** When the devices of a window were last looked up, by its key. */
  const lookedAt = new Map<number, Millis>()

  /** False: the rest is for the next round. */
  async function move(find: () => Promise<readonly string[]>, windowKey: number | null, turn: Turn): Promise<boolean> {
    for (;;) {
      const found = await find()
      if (found.length === 0) return true
      const { moved } = await writer.submit(moveMaintenance(found.map((deviceId) => ({ deviceId, windowKey }))))
      // The window has ended, or the devices have changed meanwhile.
      if (moved === 0 || found.length < chunk) return true
      if (turn.isOver()) return false
    }
  }

  async function look(window: MaintenanceWindow, turn: Turn): Promise<boolean> {
    const last = lookedAt.get(window.key)
    if (window.begun && last !== undefined && turn.now - last < lookAgain && turn.now >= last) return true
    const isDone =
      (await move(() => findStrays(session, window, chunk), null, turn)) &&
      (await move(() => findEntering(session, window, chunk), window.key, turn))
    if (!isDone) return false
    if (!window.begun) await noteBegun(session, window)
    lookedAt.set(window.key, turn.now)
    return true
  }

  return {
    name: 'windows',
    interval: 0,
    budget: 4_000,
    async run(turn) {
      const active = await activeWindows(session, turn.now)
      const keys = active.map(({ key }) => key)
      for (const key of lookedAt.keys()) if (!keys.includes(key)) lookedAt.delete(key)
      if (!(await move(() => findLeaving(session, keys, chunk), null, turn))) return false
      for (const window of active) if (!(await look(window, turn))) return false
      return true
    },
  }
}

/** Those that last now. Others go on to their next occurrence, which may last now if no server was there meanwhile. */
async function activeWindows(session: Session, now: Millis): Promise<MaintenanceWindow[]> {
  const due = await dueWindows(session, now)
  const over = due.filter(({ nextEnd }) => (nextEnd ?? 0) <= now)
  for (const window of over) await passOccurrence(session, window, await nextOf(window, now))
  return over.length === 0 ? due : dueWindows(session, now)
}

/** The first occurrence that is not over yet. */
async function nextOf(
  { repeat, timeZone, nextAt, beginsAt, endsAt }: MaintenanceWindow,
  now: Millis,
): Promise<Millis | null> {
  if (repeat === null || nextAt === null) return null
  return occurrenceAfter({ repeat, timeZone }, nextAt, Math.max(nextAt, now - (endsAt - beginsAt)))
}
