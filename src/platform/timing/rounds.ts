/**
 * Work in rounds, one at a time: at an interval, and on request. A request during a round begins another one after it. Requests during a round that
 * fails wait for the next request, so that a failure is not repeated without a pause.
 */
import type { Millis } from '../../domain/values.ts'

export interface Rounds {
  request(): void
  /** Begins no further round, and waits for the present one. */
  stop(): Promise<void>
}

/** `round`: false if it failed. It never rejects. */
export function createRounds(round: () => Promise<boolean>, interval: Millis): Rounds {
  let isWanted = false
  let isStopped = false
  let work: Promise<void> | null = null

  async function run(): Promise<void> {
    while (isWanted && !isStopped) {
      isWanted = false
      if (!(await round())) return
    }
  }

  function request(): void {
    isWanted = true
    work ??= run().finally(() => {
      work = null
    })
  }

  const timer = setInterval(request, interval)
  return {
    request,
    async stop() {
      isStopped = true
      clearInterval(timer)
      await work
    },
  }
}
