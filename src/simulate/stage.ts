/** Where plans are played: at the wall clock's pace, of each sender one thing after the other, until it is over. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Planned, Schedule } from './schedule.ts'

export interface Stage {
  /** The true time of that many milliseconds after the beginning. */
  clockOf(at: number): number
  /** Whatever is due goes to `take`, until it is over. */
  play<T extends Planned>(schedule: Schedule<T>, take: (due: readonly T[]) => void): Promise<void>
  /** After everything else of that sender; what has not been begun by the end never was. */
  enqueue(sender: string, job: () => Promise<void>): void
  readonly underWay: number
  /** When all that was begun has ended. */
  drain(): Promise<void>
}

/** `speed`: how many times as fast as people and networks are. */
export function createStage(speed: number, over: AbortSignal): Stage {
  const began = Date.now()
  /** By sender: the end of what it has to send. */
  const queues = new Map<string, Promise<void>>()
  let underWay = 0
  const clockOf = (at: number): number => began + at / speed

  return {
    clockOf,
    async play(schedule, take) {
      while (!over.aborted) {
        take(schedule.until((Date.now() - began) * speed))
        const wait = Math.min(Math.max(clockOf(schedule.next) - Date.now(), 1), 1_000)
        await delay(wait, undefined, { signal: over }).catch(() => undefined)
      }
    },
    enqueue(sender, job) {
      underWay += 1
      const turn = (queues.get(sender) ?? Promise.resolve())
        .then(() => (over.aborted ? undefined : job()))
        .finally(() => {
          underWay -= 1
        })
      queues.set(sender, turn)
    },
    get underWay() {
      return underWay
    },
    async drain() {
      await Promise.all(queues.values())
    },
  }
}
