/** Subscriptions over multipart HTTP, byte by byte. That they are what the other transports send: the tests over each transport (test/graphql/clients.ts). */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Api, startApi } from '../harness.ts'

const accept = 'multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json;q=0.9'
const changes = (after: number): string => `subscription { changes(after: "${after}") { change { kind } } }`

describe('subscriptions in parts', () => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ graphql: { keepAlive: 50 } })
  })
  afterEach(async () => {
    await expect.poll(() => api.road.feed.subscribers.changes + api.road.feed.subscribers.states).toBe(0)
    await expect.poll(api.openSnapshots).toBe(0)
  })
  afterAll(() => api.close())

  const headNow = async (): Promise<number> => Number((await api.ask('{ revision }')).revision)

  async function read(query: string, headers: Record<string, string> = {}, url = api.url) {
    const response = await fetch(`${url}?${new URLSearchParams({ query })}`, { headers: { accept, ...headers } })
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    return {
      response,
      /** What is there when it is of this form, or when it has ended. */
      async until(form: RegExp): Promise<string> {
        for (;;) {
          if (form.test(text)) return text
          const { done = true, value = '' } = (await reader?.read()) ?? {}
          if (done) return `${text}(ended)`
          text += value
        }
      },
      close: () => reader?.cancel(),
    }
  }
  const part = (body: string, cursor?: number): string =>
    `\r\nContent-Type: application/json\r\n${cursor === undefined ? '' : `Last-Event-ID: ${cursor}\r\n`}\r\n${body}\r\n--graphql`

  it('end each part with the next boundary, and have the cursor of a change in its header', async () => {
    const after = await headNow()
    const stream = await read(changes(after))
    expect(stream.response.headers.get('content-type')).toBe('multipart/mixed;boundary="graphql";subscriptionSpec=1.0')
    expect(stream.response.headers.get('x-accel-buffering')).toBe('no')
    await api.report({ deploymentId: 'first' })
    const whole = (await stream.until(/"payload".*\r\n--graphql/)).replaceAll(part('{}'), '')
    const payload = '{"payload":{"data":{"changes":{"change":{"kind":"DEPLOYMENT_STATE_CHANGED"}}}}}'
    expect(whole).toBe(`\r\n--graphql${part(payload, after + 1)}`)
    await stream.close()
  })

  it('begin with where a client continues, resume there, and beat while nothing happens', async () => {
    const head = await headNow()
    const query = 'subscription { changes { cursor } }'
    const stream = await read(query)
    const twice = part('{}').repeat(2)
    expect(await stream.until(new RegExp(RegExp.escape(twice)))).toContain(`\r\n--graphql${part('{}', head)}${twice}`)
    await stream.close()
    await api.report({ deploymentId: 'meanwhile' })
    const resumed = await read(query, { 'last-event-id': String(head) })
    expect(await resumed.until(/"payload"/)).toContain(`Last-Event-ID: ${head + 1}\r\n`)
    await resumed.close()
  })

  it.each([
    [accept, 'multipart/mixed'],
    ['multipart/mixed; subscriptionSpec="1.0"', 'multipart/mixed'],
    ['multipart/mixed;subscriptionSpec=1.0, */*', 'multipart/mixed'],
    ['multipart/mixed;subscriptionSpec=1.0, text/event-stream', 'text/event-stream'],
    ['*/*', 'text/event-stream'],
    ['multipart/mixed;subscriptionSpec=2.0, application/json', 'application/json'],
    ['multipart/mixed, application/json', 'application/json'],
    [`${'multipart/mixed;'.repeat(900)}, application/json`, 'application/json'],
  ])('are what %s asks for: %s', async (given, type) => {
    const { response, close } = await read(changes(await headNow()), { accept: given })
    const isStream = type !== 'application/json'
    expect([response.status, response.headers.get('content-type')?.split(';')[0]]).toEqual([isStream ? 200 : 406, type])
    await close()
  })

  it('are refused with a status, in JSON', async () => {
    for (const [query, status] of [
      ['subscription { nothing }', 200],
      ['subscription {', 200],
    ] as const) {
      const { response, until } = await read(query, { accept: 'multipart/mixed;subscriptionSpec=1.0' })
      expect([query, response.status, response.headers.get('content-type')?.split(';')[0]]).toEqual([
        ...[query, status, 'application/json'],
      ])
      expect(JSON.parse((await until(/\}$/)).replace('(ended)', ''))).toMatchObject({ errors: [{}] })
    }
  })

  it('end with the last boundary when they are complete, and without it when the server stops', async () => {
    const going = await startApi()
    const stream = await read('subscription { deploymentCounts { cursor } }', {}, going.url)
    await stream.until(/"payload"/)
    await going.graphql.dispose()
    const text = await stream.until(/never/)
    expect([text.endsWith('--graphql(ended)'), text.includes('--graphql--')]).toEqual([true, false])
    await going.close()
  })
})
