/**
 * Background duties, isolated from each other. Each has its own interval, time budget and record of results. A duty that fails or is slow
 * delays no other. One sequence of all duties was rejected: a duty that timed out every time kept all later ones from running.
 *
 *   round → each duty that is due and not running begins → it ends, or its budget does → its result is noted
 */
import type { Millis } from '../../domain/values.ts'
import type { Session } from '../../store/database.ts'
import { noteDuty } from '../../store/duties.ts'

export interface Turn {
  readonly now: Millis
  /** The time since which some replica has listened without a gap. */
  readonly listeningSince: Millis
  /** The budget has been spent, the lease has ended, or the server stops: the rest is for the next round. */
  isOver(): boolean
}

export interface Duty {
  readonly name: string
  /** Milliseconds between rounds. 0: in each round of the server that holds the lease. */
  readonly interval: Millis
  /** Milliseconds of one round. */
  readonly budget: Millis
  /** True: the duty is complete. False: the next round continues immediately. */
  run(turn: Turn): Promise<boolean>
}

interface Duties {
  /** Begins each duty that is due and not running. Resolves when all running duties have ended. Never rejects. */
  round(turn: Turn): Promise<void>
}

/** Milliseconds between notes of a successful duty, because a note is a write. */
const noteInterval = 30_000

export function createDuties(
  session: Session,
  duties: readonly Duty[],
  failed: (error: unknown, duty: string) => void,
  succeeded: (duty: string) => void = () => {},
): Duties {
  const lines = duties.map((duty) => ({
    duty,
    running: null as Promise<void> | null,
    completedAt: Number.NEGATIVE_INFINITY,
    noted: null as { readonly at: Millis; readonly isFine: boolean } | null,
  }))
  type Line = (typeof lines)[number]

  async function perform(line: Line, turn: Turn): Promise<void> {
    const { duty } = line
    const began = performance.now()
    const isOver = (): boolean => turn.isOver() || performance.now() - began > duty.budget
    let isFine = true
    try {
      if (await duty.run({ ...turn, isOver })) line.completedAt = turn.now
      succeeded(duty.name)
    } catch (error) {
      isFine = false
      failed(error, duty.name)
    }
    const { noted } = line
    if (noted?.isFine && isFine && isWithin(noteInterval, noted.at, turn.now)) return
    line.noted = { at: turn.now, isFine }
    const seconds = (performance.now() - began) / 1_000
    await noteDuty(session, { name: duty.name, at: turn.now, seconds, isFine }).catch((error: unknown) =>
      failed(error, duty.name),
    )
  }

  return {
    async round(turn) {
      for (const line of lines) {
        if (isWithin(line.duty.interval, line.completedAt, turn.now)) continue
        line.running ??= perform(line, turn).finally(() => {
          line.running = null
        })
      }
      await Promise.all(lines.map(({ running }) => running))
    },
  }
}

/** Whether less than that time has passed. False if the clock of the database has gone back: otherwise duties would wait until it has caught up. */
function isWithin(time: Millis, since: Millis, now: Millis): boolean {
  return now >= since && now - since < time
}
