/** Subscriptions over one transport that are closed after each test, and leave nothing behind. */
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import type { Stream, transports } from './clients.ts'
import { type Api, startApi } from './harness.ts'

export function useSubscriptions(transport: (typeof transports)[number]) {
  let api: Api
  let open: Stream[] = []
  let count = 0

  beforeAll(async () => {
    api = await startApi({ road: { feed: { bookmarkInterval: 50 } } })
    await api.report({ deploymentId: 'before' })
  })
  afterEach(async () => {
    await Promise.all(open.map((stream) => stream.close()))
    open = []
    await expect
      .poll(() => ({ ...counts(), snapshots: api.openSnapshots() }))
      .toEqual({ changes: 0, states: 0, snapshots: 0 })
  })
  afterAll(() => api.close())

  const counts = () => ({ changes: api.road.feed.subscribers.changes, states: api.road.feed.subscribers.states })
  const newId = (): string => {
    count += 1
    return `d-${count}`
  }

  function watch(query: string, variables: Record<string, unknown> = {}): Stream {
    const stream = transport.watch(api.url, query, variables)
    open.push(stream)
    return stream
  }

  const headNow = (): Promise<string> => api.ask('{ revision }').then(({ revision }) => revision)

  return { api: () => api, newId, watch, headNow }
}
