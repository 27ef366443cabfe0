import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { listen, subscribe } from './support/clients/conversation.ts'
import { everyStore } from './support/databases/stores.ts'
import { startApp } from './support/servers/app.ts'

const path = '/device/edge-1/deployment/d-1/status'
const body = (state: string) => ({ deploymentId: 'd-1', status: { state }, components: [] })

describe.each(everyStore)('one report, on $name', (store) => {
  it('is committed, asked for and watched, on every transport', async () => {
    const server = await startApp({ store })
    const events = await listen(server)
    const socket = await subscribe(server)
    const { revision } = (await (await server.post(path, body('installing'))).json()) as { revision: string }
    const event = { data: { changes: { cursor: revision } } }
    expect(await events.next()).toEqual({ id: revision, event: 'next', data: event })
    expect(await socket.next()).toEqual(event)
    expect(await server.query('{ revision deployment(deploymentId: "d-1") { state } }')).toEqual({
      revision,
      deployment: { state: 'INSTALLING' },
    })
    await server.stop()
  })
})

describe('an upgrade', () => {
  it('is for /graphql only', async () => {
    const server = await startApp()
    const refused = new WebSocket(`${server.url.replace('http', 'ws')}/reports`, 'graphql-transport-ws')
    const error = await new Promise<Error>((resolve) => refused.once('error', resolve))
    expect(error.message).toContain('404')
    await server.stop()
  })

  it('to HTTP/2, which Java offers with its first request, is ignored', async () => {
    const server = await startApp()
    const offer = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAEAAEAA' }
    const sent = request(`${server.url}${path}`, { method: 'POST', headers: offer }).end(
      JSON.stringify(body('installed')),
    )
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    expect([answer.statusCode, await text(answer)]).toEqual([201, expect.stringContaining('APPLIED')])
    await server.stop()
  })
})
