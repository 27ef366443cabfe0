/**
 * Begins and ends the occurrences of maintenance windows, and has devices and clusters enter and leave them. While a window lasts, those that it selects
 * are looked up again each minute: a device that is registered or labelled meanwhile enters it, too.
 */
import type { MaintenanceWindow } from '../../domain/maintenance.ts'
import type { TargetName } from '../../domain/target.ts'
import type { Millis } from '../../domain/values.ts'
import { occurrenceAfter } from '../../platform/timing/recurrence.ts'
import type { Database, Session } from '../../store/database.ts'
import {
  dueWindows,
  findEntering,
  findGone,
  findLeaving,
  findStrays,
  noteBegun,
  passOccurrence,
} from '../../store/write/maintenance.ts'
import { tellGone } from '../commands/connectivity.ts'
import { moveMaintenance } from '../commands/maintenance.ts'
import type { Writer } from '../writer.ts'
import type { Duty, Turn } from './duties.ts'

/** Targets in one command. */
const chunk = 500
/** Milliseconds between two looks at what a window selects. */
const lookAgain: Millis = 60_000

export function createMaintenanceWindows({ session }: Pick<Database, 'session'>, writer: Pick<Writer, 'submit'>): Duty {
  /** When what a window selects was last looked up, by its key. */
  const lookedAt = new Map<number, Millis>()

  /** Null: the rest is for the next round. Otherwise how many moved. */
  async function move(
    find: () => Promise<readonly TargetName[]>,
    windowKey: number | null,
    turn: Turn,
  ): Promise<number | null> {
    for (let sum = 0; ; ) {
      const found = await find()
      if (found.length === 0) return sum
      const { moved } = await writer.submit(moveMaintenance(found.map((target) => ({ target, windowKey }))))
      sum += moved
      // The window has ended, or the targets have changed meanwhile.
      if (moved === 0 || found.length < chunk) return sum
      if (turn.isOver()) return null
    }
  }

  async function look(window: MaintenanceWindow, active: readonly number[], turn: Turn): Promise<boolean> {
    const last = lookedAt.get(window.key)
    if (window.begun && last !== undefined && turn.now - last < lookAgain && turn.now >= last) return true
    const strays = await move(() => findStrays(session, window, chunk), null, turn)
    if (strays === null) return false
    // Another window may select them.
    if (strays > 0) lookedAt.clear()
    const entered = await move(() => findEntering(session, window, active, chunk), window.key, turn)
    if (entered === null) return false
    if (!window.begun) await noteBegun(session, window)
    lookedAt.set(window.key, turn.now)
    return true
  }

  return {
    name: 'windows',
    interval: 0,
    budget: 4_000,
    async run(turn) {
      const { active, failures } = await activeWindows(session, turn.now)
      const keys = active.map(({ key }) => key)
      for (const key of lookedAt.keys()) if (!keys.includes(key)) lookedAt.delete(key)
      // From a window that is over a target goes straight to another one that selects it: in between, its silence and its alerts would count.
      if ((await findLeaving(session, keys, 1)).length > 0) lookedAt.clear()
      for (const window of active) if (!(await look(window, keys, turn))) return false
      if ((await move(() => findLeaving(session, keys, chunk), null, turn)) === null) return false
      const isDone = await tellAllGone(turn)
      // A time zone that this server does not know keeps no other window from its end.
      if (failures.length > 0) throw failures[0]
      return isDone
    },
  }

  async function tellAllGone(turn: Turn): Promise<boolean> {
    for (;;) {
      const gone = await findGone(session, chunk)
      if (gone.length > 0) await writer.submit(tellGone(gone))
      if (gone.length < chunk) return true
      if (turn.isOver()) return false
    }
  }
}

/** Those that last now, and why others could not go on. Those that are over go on to their next occurrence, which may last now if no server was there meanwhile. */
async function activeWindows(session: Session, now: Millis) {
  const due = await dueWindows(session, now)
  const isOver = ({ nextEnd }: MaintenanceWindow): boolean => (nextEnd ?? 0) <= now
  const over = due.filter(isOver)
  const failures: unknown[] = []
  for (const window of over)
    try {
      await passOccurrence(session, window, await nextOf(window, now))
    } catch (error) {
      failures.push(error)
    }
  const active = over.length === 0 ? due : (await dueWindows(session, now)).filter((window) => !isOver(window))
  return { active, failures }
}

/** The first occurrence that is not over yet. */
async function nextOf(
  { repeat, timeZone, nextAt, beginsAt, endsAt }: MaintenanceWindow,
  now: Millis,
): Promise<Millis | null> {
  if (repeat === null || nextAt === null) return null
  return occurrenceAfter({ repeat, timeZone }, beginsAt, Math.max(nextAt, now - (endsAt - beginsAt)))
}
