/** The queue of spans keeps a bounded number of them, whatever the collector does. */
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { expect, it } from 'vitest'
import { createSpanQueue } from '../../src/outlets/traces/span-queue.ts'

const span = {} as ReadableSpan

function collector() {
  const answers: ((code: number) => void)[] = []
  const sizes: number[] = []
  const counts = { sent: 0, dropped: 0 }
  const queue = createSpanQueue({
    exporter: {
      export(spans, done) {
        sizes.push(spans.length)
        answers.push((code) => done({ code }))
      },
    },
    sent: (count) => (counts.sent += count),
    dropped: (count) => (counts.dropped += count),
    capacity: 1_000,
    interval: 3_600_000,
  })
  return {
    queue,
    answers,
    sizes,
    counts,
    add: (count: number) => {
      for (let n = 0; n < count; n += 1) queue.processor.onEnd(span)
    },
  }
}

it('drops and counts what does not fit while a collector does not answer', async () => {
  const { queue, answers, sizes, counts, add } = collector()
  add(10_000)
  expect([sizes, counts]).toEqual([[500], { sent: 0, dropped: 8_500 }])
  answers.shift()?.(0)
  await expect.poll(() => sizes).toEqual([500, 500])
  answers.shift()?.(1)
  await expect.poll(() => sizes).toEqual([500, 500, 500])
  answers.shift()?.(0)
  await queue.close()
  expect(counts).toEqual({ sent: 1_000, dropped: 9_000 })
})

it('sends the queued spans when it is closed, and accepts none afterwards', async () => {
  const { queue, answers, sizes, counts, add } = collector()
  add(3)
  const closing = queue.close()
  answers.shift()?.(0)
  await closing
  add(1)
  expect([sizes, counts]).toEqual([[3], { sent: 3, dropped: 1 }])
})
