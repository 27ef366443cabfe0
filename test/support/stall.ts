/** The longest time in which the event loop did nothing else, in relation to something that this machine can do now: others work on it, too. */
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Milliseconds. */
export async function longestStall(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await work()
  // A stall is noted when it is over.
  await new Promise((resolve) => setTimeout(resolve, 5))
  delay.disable()
  return delay.max / 1e6
}

/** Milliseconds that it takes to print and to parse JSON of so many characters: the client does that here, and the server prints. */
export function jsonYardstick(characters: number): number {
  const row = { name: 'component-1', state: 'FAILED', error: { code: 'E42', message: 'x'.repeat(100) } }
  const rows = Array.from({ length: characters / JSON.stringify(row).length }, () => ({ ...row }))
  const times = [1, 2, 3].map(() => {
    const start = performance.now()
    JSON.parse(JSON.stringify(rows))
    return performance.now() - start
  })
  return Math.max(...times)
}
