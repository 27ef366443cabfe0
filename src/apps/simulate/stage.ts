/** Plays plans at the pace of the wall clock, in sequence for each sender, until the end. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Planned, Schedule } from './schedule.ts'

export interface Stage {
  /** Converts milliseconds after the start to the true time. */
  clockOf(at: number): number
  /** Passes whatever is due to `take`, until the end. */
  play<T extends Planned>(schedule: Schedule<T>, take: (due: readonly T[]) => void): Promise<void>
  /** Runs after everything else of that sender. Work that has not started at the end is dropped. */
  enqueue(sender: string, job: () => Promise<void>): void
  readonly inFlight: number
  /** Resolves when everything that has started has ended. */
  drain(): Promise<void>
}

/** `speed`: as a multiple of the pace of people and networks. */
export function createStage(speed: number, over: AbortSignal): Stage {
  const began = Date.now()
  /** By sender: resolves when its queue is empty. */
  const queues = new Map<string, Promise<void>>()
  let inFlight = 0
  const clockOf = (at: number): number => began + at / speed

  return {
    clockOf,
    async play(schedule, take) {
      while (!over.aborted) {
        take(schedule.until((Date.now() - began) * speed))
        const wait = Math.min(Math.max(clockOf(schedule.next) - Date.now(), 1), 1_000)
        await sleep(wait, undefined, { signal: over }).catch(() => undefined)
      }
    },
    enqueue(sender, job) {
      inFlight += 1
      const turn = (queues.get(sender) ?? Promise.resolve())
        .then(() => (over.aborted ? undefined : job()))
        .finally(() => {
          inFlight -= 1
        })
      queues.set(sender, turn)
    },
    get inFlight() {
      return inFlight
    },
    async drain() {
      await Promise.all(queues.values())
    },
  }
}
