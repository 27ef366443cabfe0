import { describe, expect, it } from 'vitest'
import { createSocket } from '../../src/client/client.ts'
import { expectNoUnhandledRejections } from '../support/rejections.ts'

const rejections = expectNoUnhandledRejections()

describe('a socket', () => {
  it.each(['leaves its last subscription', 'still has a subscription'])(
    'that waits to connect again and %s is closed without an unhandled rejection',
    async (how) => {
      const lost = Promise.withResolvers<void>()
      const closed = Promise.withResolvers<void>()
      // No server listens on the port of this address.
      const socket = createSocket({ url: 'http://127.0.0.1:1/graphql', retryAt: () => lost.resolve() })
      const leave = socket.follow('subscription { revision }', {}, { next: () => undefined })
      socket.on('error', () => closed.resolve())
      await lost.promise
      if (how === 'leaves its last subscription') leave()
      else await closed.promise
      socket.close()
      // The wait ends at once.
      for (let turn = 0; turn < 20; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve))
      leave()
      expect(await rejections()).toEqual([])
    },
  )
})
