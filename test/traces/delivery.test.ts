/** Which spans are sent again and which are left out, when a collector refuses requests. */
import { expect, it } from 'vitest'
import { sendAll } from '../../src/outlets/traces/delivery.ts'
import type { Span } from '../../src/outlets/traces/spans.ts'

const spanOf = (index: number): Span => ({
  ...{ traceId: 't', spanId: String(index), parentSpanId: null, name: 'n', start: 0, end: 0 },
  ...{ failure: null, isDone: true, attributes: {}, events: [], links: [] },
})
const spans = Array.from({ length: 700 }, (_, index) => spanOf(index))

function collectorThat(refuses: (span: Span) => boolean, code = 400) {
  const accepted: string[] = []
  const left: unknown[] = []
  let requests = 0
  const exporter = {
    async send(some: readonly Span[]) {
      requests += 1
      if (some.some(refuses)) throw Object.assign(new Error('refused'), { code })
      accepted.push(...some.map(({ spanId }) => spanId))
    },
  }
  const log = {
    warn: (line: { readonly spans: readonly { readonly spanId: string }[] }) =>
      void left.push(...line.spans.map(({ spanId }) => spanId)),
  }
  const deliver = () => sendAll(exporter, log as never, spans)
  return { accepted, left, requests: () => requests, deliver }
}

it.each([400, 413])('leaves out only the spans that the collector refuses with %i', async (code) => {
  const poisoned = new Set(['0', '3', '499', '500'])
  const collector = collectorThat(({ spanId }) => poisoned.has(spanId), code)
  await collector.deliver()
  expect(collector.left).toEqual([...poisoned])
  expect(collector.accepted).toEqual(spans.map(({ spanId }) => spanId).filter((id) => !poisoned.has(id)))
})

it('leaves out nothing if the collector refuses everything, and sends few requests', async () => {
  const collector = collectorThat(() => true)
  await expect(collector.deliver()).rejects.toThrow('refused')
  expect(collector.left).toEqual([])
  expect(collector.requests()).toBeLessThan(60)
})

it('sends everything again after any other error', async () => {
  const collector = collectorThat(({ spanId }) => spanId === '600', 401)
  await expect(collector.deliver()).rejects.toThrow('refused')
  expect([collector.left, collector.requests()]).toEqual([[], 2])
})
