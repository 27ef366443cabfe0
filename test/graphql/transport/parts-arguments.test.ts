/** `@defer` and `@stream` with arguments that graphql takes for granted, and does not check where variables give them. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Api, startApi } from '../harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
  await api.report({})
})
afterAll(() => api.close())

const stream = 'query ($n: Int!) { deployments(first: 5) { nodes @stream(initialCount: $n) { id } } }'
const defer = 'subscription ($x: Boolean!) { deploymentCounts { cursor ... @defer(if: $x) { counts { total } } } }'

it.each([
  [stream, { n: -1 }, 'multipart/mixed;incrementalSpec=v0.2', '@stream(initialCount:) must be at least 0'],
  [stream, { n: -1 }, 'multipart/mixed;deferSpec=20220824', '@stream(initialCount:) must be at least 0'],
  [stream, { n: -1 }, 'application/json', '@stream(initialCount:) must be at least 0'],
  [defer, { x: true }, 'text/event-stream', '@defer is not possible in a subscription'],
])('%s with %j in %s is refused with a reason', async (query, variables, accept, reason) => {
  const headers = { 'content-type': 'application/json', accept, authorization: 'Bearer admin' }
  const response = await fetch(api.url, { method: 'POST', headers, body: JSON.stringify({ query, variables }) })
  const text = await response.text()
  expect(text).toContain(reason)
  expect(text).toContain('BAD_USER_INPUT')
  expect(api.logged).toEqual([])
})
