/**
 * The longest time in which the event loop did nothing else. In processor time of this thread: others work on this machine, too, and what they take
 * is no stall.
 */

/** Milliseconds. */
export function threadTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** Milliseconds of `work`'s longest turn. */
export async function longestStall(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let last = threadTime()
  const look = (): void => {
    const now = threadTime()
    longest = Math.max(longest, now - last)
    last = now
  }
  const timer = setInterval(look, 1)
  await work()
  // The last turn is seen when it is over.
  await new Promise((resolve) => setTimeout(resolve, 5))
  clearInterval(timer)
  return longest
}

/** What an input costs is there each time. A collection of the garbage that other tests have left is not: `work` runs again, three times at most. */
export async function ownStall(most: number, work: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 3 && least >= most; attempt++) least = Math.min(least, await longestStall(work))
  return least
}

/** Milliseconds that it takes to print and to parse JSON of so many characters: the client does that here, and the server prints. */
export function jsonYardstick(characters: number): number {
  const row = { name: 'component-1', state: 'FAILED', error: { code: 'E42', message: 'x'.repeat(100) } }
  const rows = Array.from({ length: characters / JSON.stringify(row).length }, () => ({ ...row }))
  const times = [1, 2, 3].map(() => {
    const start = threadTime()
    JSON.parse(JSON.stringify(rows))
    return threadTime() - start
  })
  return Math.max(...times)
}
