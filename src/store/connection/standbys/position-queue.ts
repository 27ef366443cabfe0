/** Readers that wait until a standby has replayed a position of the log. They share the statements that look for it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { includes, type LogPosition } from '../log-head.ts'

interface PositionQueue {
  /** False: not in time, or the standby has a problem. */
  wait(position: LogPosition): Promise<boolean>
  /** Call it with each position that the standby shows. */
  shown(position: LogPosition): void
  giveUp(): void
}

interface PositionQueueOptions {
  /** Reads the position, and calls `shown` or `giveUp`. Must not throw. */
  readonly look: () => Promise<void>
  /** Milliseconds that a reader waits. */
  readonly patience: number
}

interface Waiting {
  readonly position: LogPosition
  readonly resolve: (isShown: boolean) => void
}

/** Milliseconds between two looks. Replay takes about as long. */
const lookEvery = 2

export function createPositionQueue({ look, patience }: PositionQueueOptions): PositionQueue {
  const waiting = new Set<Waiting>()
  let isLooking = false

  async function lookUntilShown(): Promise<void> {
    isLooking = true
    while (waiting.size > 0) {
      await look()
      if (waiting.size > 0) await sleep(lookEvery)
    }
    isLooking = false
  }

  function answer(one: Waiting, isShown: boolean): void {
    waiting.delete(one)
    one.resolve(isShown)
  }

  return {
    wait(position) {
      const { promise, resolve } = Promise.withResolvers<boolean>()
      const one = { position, resolve }
      waiting.add(one)
      const timer = setTimeout(answer, patience, one, false)
      if (!isLooking) void lookUntilShown()
      return promise.finally(() => clearTimeout(timer))
    },
    shown(position) {
      for (const one of waiting) if (includes(position, one.position)) answer(one, true)
    },
    giveUp() {
      for (const one of waiting) answer(one, false)
    },
  }
}
