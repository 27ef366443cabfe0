/** Promises that were rejected and that nothing waited for. Without a listener each of them would end the process. */
import { afterAll, beforeAll, expect } from 'vitest'

/** Collects those of a test file, which fails by them. What it returns takes those that came since it was last called. */
export function expectNoUnhandledRejections(): () => Promise<readonly unknown[]> {
  const rejected: unknown[] = []
  const listen = (reason: unknown): void => void rejected.push(reason)

  async function soFar(): Promise<readonly unknown[]> {
    // Node tells of a rejection when all microtasks are done.
    for (let turn = 0; turn < 3; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve))
    return rejected.splice(0)
  }

  beforeAll(() => void process.on('unhandledRejection', listen))
  afterAll(async () => {
    expect(await soFar()).toEqual([])
    process.off('unhandledRejection', listen)
  })
  return soFar
}
