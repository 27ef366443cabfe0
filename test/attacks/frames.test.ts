/** What a client sends wrongly on a WebSocket closes that socket with the protocol's code, and is no error of ours. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { closed, openSilentSocket, openSocket, subscribe } from './transports.ts'

let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(async () => {
  expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
  await server.stop()
})

const query = { query: 'subscription { changes { cursor } }' }
const wrong: readonly (readonly [name: string, frames: readonly unknown[], code: number])[] = [
  ['next', [{ type: 'next', id: '1', payload: {} }], 4400],
  ['error', [{ type: 'error', id: '1', payload: [{ message: 'no' }] }], 4400],
  ['connection_ack', [{ type: 'connection_ack' }], 4400],
  ['an unknown type', [{ type: 'start', id: '1' }], 4400],
  ['no object', [7], 4400],
  ['an id that is no text', [{ type: 'subscribe', id: 7, payload: query }], 4400],
]
const wrongOnceOpen: typeof wrong = [
  ...wrong,
  ['a second connection_init', [{ type: 'connection_init' }], 4429],
  [
    'an id twice',
    [
      { type: 'subscribe', id: '1', payload: query },
      { type: 'subscribe', id: '1', payload: query },
    ],
    4409,
  ],
]

async function send(socket: Awaited<ReturnType<typeof openSocket>>, frames: readonly unknown[]): Promise<number> {
  const end = closed(socket)
  for (const frame of frames) socket.send(JSON.stringify(frame))
  return (await end).code
}

describe('on a socket', () => {
  it.each(wrongOnceOpen)('that is open, %s', async (_, frames, code) => {
    expect(await send(await openSocket(server.url), frames)).toBe(code)
  })

  it.each([...wrong, ['subscribe', [{ type: 'subscribe', id: '1', payload: query }], 4401]] as const)(
    'that has not said who it is, %s',
    async (_, frames, code) => {
      expect(await send(await openSilentSocket(server.url), frames)).toBe(code)
    },
  )
})

it('other sockets of the same client go on', async () => {
  const socket = await openSocket(server.url)
  await send(await openSocket(server.url), [{ type: 'next', id: '1', payload: {} }])
  expect(await subscribe(socket, '1', { query: '{ __typename }' })).toEqual({ data: { __typename: 'Query' } })
  socket.terminate()
})
