/** An answer in parts ends with its client. */
import type { ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import type { Exchange } from '../../src/api/rest/exchange.ts'
import { createStreamedJson } from '../../src/api/rest/streamed-json.ts'

it('reads no more of an answer in parts when its client is gone', async () => {
  const unread = Object.assign(new Writable({ write() {} }), { writeHead() {} })
  let taken = 0
  let isClosed = false
  async function* parts() {
    try {
      for (; taken < 100; taken += 1) yield 'x'.repeat(1 << 20)
    } finally {
      isClosed = true
    }
  }
  const sent = createStreamedJson({ response: unread as unknown as ServerResponse, method: 'GET' } as Exchange)(parts())
  await expect.poll(() => unread.listenerCount('drain')).toBe(1)
  const before = taken
  unread.destroy()
  await sent
  expect([taken, isClosed]).toEqual([before, true])
})
