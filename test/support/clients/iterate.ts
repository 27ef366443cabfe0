/** Reads a stream of the feed as an async iterator. */
import type { Stream } from '../../../src/feed/stream.ts'

export function iterate<Event extends object>(
  stream: Stream<Event>,
): AsyncIterableIterator<Event> & {
  return(): Promise<IteratorResult<Event>>
} {
  let wake = (): void => undefined
  let isWoken = false
  let turn: Promise<unknown> = Promise.resolve()
  stream.onWake(() => {
    isWoken = true
    wake()
  })

  async function take(): Promise<IteratorResult<Event>> {
    for (;;) {
      isWoken = false
      const event = await stream.next()
      if (event === 'ended') return { done: true, value: undefined }
      if (event !== 'idle') return { done: false, value: event }
      if (!isWoken)
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    }
  }

  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next() {
      const result = turn.then(take)
      turn = result.catch(() => undefined)
      return result
    },
    async return() {
      stream.close()
      return { done: true, value: undefined }
    },
  }
}
