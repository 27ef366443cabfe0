/** A WebSocket with a subscription, opened with the session of a person. */
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import type { Person } from '../../support/systems/issuer.ts'

/** `ended`: its close code. */
export function openSocketAt(url: string, person: Person) {
  const { promise: ended, resolve: end } = Promise.withResolvers<number>()
  const { promise: isOpen, resolve: opened } = Promise.withResolvers<void>()
  class OwnSocket extends WebSocket {
    constructor(address: string, protocol: string) {
      super(address, protocol, { headers: { cookie: `rollcall=${person.cookie('rollcall')}`, origin: url } })
    }
  }
  const client = createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: OwnSocket,
    retryAttempts: 0,
    on: { closed: (event) => end((event as { code: number }).code) },
  })
  client.subscribe(
    { query: 'subscription { deploymentCounts { cursor } }' },
    { next: () => opened(), error: () => {}, complete: () => {} },
  )
  return { ended, isOpen }
}
