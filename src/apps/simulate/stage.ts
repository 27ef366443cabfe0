/** Merges many endless plans by due time, and plays them at the pace of the wall clock, in sequence for each sender, until the end. */
import { setTimeout as sleep } from 'node:timers/promises'

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

interface Planned {
  readonly at: number
}

export interface Schedule<T> {
  /** The time of the next one. */
  readonly next: number
  /** Everything due at `time` or before, in order. The order within a plan is kept. */
  until(time: number): readonly T[]
}

interface Row<T> {
  readonly value: T
  readonly plan: Iterator<T>
}

export function createSchedule<T extends Planned>(plans: readonly Iterator<T>[]): Schedule<T> {
  const rows = plans.flatMap((plan) => rowOf(plan)).toSorted((a, b) => a.value.at - b.value.at)

  /** After others that are due at the same time. */
  function insert(row: Row<T>): void {
    let low = 0
    let high = rows.length
    while (low < high) {
      const middle = (low + high) >> 1
      const other = rows[middle]
      if (other && other.value.at <= row.value.at) low = middle + 1
      else high = middle
    }
    rows.splice(low, 0, row)
  }

  return {
    get next() {
      return rows[0]?.value.at ?? Number.POSITIVE_INFINITY
    },
    until(time) {
      const due: T[] = []
      for (let first = rows[0]; first && first.value.at <= time; first = rows[0]) {
        rows.shift()
        due.push(first.value)
        for (const row of rowOf(first.plan)) insert(row)
      }
      return due
    },
  }
}

function rowOf<T>(plan: Iterator<T>): Row<T>[] {
  const { value, done } = plan.next()
  return done ? [] : [{ value, plan }]
}
