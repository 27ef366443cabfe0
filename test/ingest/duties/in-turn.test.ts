/** The duties that follow the log leave room for reports: one statement at a time, and pauses while reports come. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { inTurn } from '../../../src/ingest/duties/in-turn.ts'
import type { Session } from '../../../src/store/database.ts'

let newest = 1
const open = new Map<string, () => void>()
const session: Session = {
  rows: () => expect.unreachable(),
  run: (text) =>
    new Promise((resolve, reject) => {
      open.set(text, text === 'bad' ? () => reject(new Error('refused')) : () => resolve([]))
    }),
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  open.clear()
})

/** Ends a statement after so many milliseconds. */
async function end(text: string, after: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(after)
  open.get(text)?.()
  await vi.advanceTimersByTimeAsync(0)
}

it('runs one statement at a time, in order, also after one that failed', async () => {
  const { run } = inTurn(session, () => newest)
  const results = ['a', 'bad', 'c'].map((text) => run(text).catch((error: Error) => error.message))
  await vi.advanceTimersByTimeAsync(0)
  expect([...open.keys()]).toEqual(['a'])
  await end('a', 5)
  expect([...open.keys()]).toEqual(['a', 'bad'])
  await end('bad', 5)
  await end('c', 5)
  expect(await Promise.all(results)).toEqual([[], 'refused', []])
})

it('pauses as long as a statement took, while reports are acknowledged', async () => {
  const { run } = inTurn(session, () => newest)
  void run('a')
  void run('b')
  newest += 1
  await end('a', 600)
  await vi.advanceTimersByTimeAsync(599)
  expect(open.has('b')).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(open.has('b')).toBe(true)
  void run('c')
  await end('b', 40)
  expect(open.has('c')).toBe(true)
})

it('waits a second at most for a statement that hangs, and then goes on one at a time', async () => {
  const { run } = inTurn(session, () => newest)
  for (const text of ['hangs', 'next', 'last']) void run(text)
  await vi.advanceTimersByTimeAsync(999)
  expect([...open.keys()]).toEqual(['hangs'])
  await vi.advanceTimersByTimeAsync(1)
  expect([...open.keys()]).toEqual(['hangs', 'next'])
  await end('next', 5)
  expect([...open.keys()]).toEqual(['hangs', 'next', 'last'])
})
