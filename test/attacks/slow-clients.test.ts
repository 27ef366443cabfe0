/** Clients that begin a request and do not end it are cut off while others are answered. */
import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Attacked, startAttacked } from './attacked.ts'

/** Writes one more byte every few milliseconds, as long as it can. */
function drip(socket: Socket, text: string): void {
  let at = 0
  const timer = setInterval(() => {
    if (!socket.writable) return clearInterval(timer)
    socket.write(text[at++ % text.length] ?? 'x')
  }, 20)
  socket.once('close', () => clearInterval(timer))
}

// Each test waits for time-outs, so they wait at the same time.
describe.concurrent('a slow client', () => {
  let shared: Attacked
  beforeAll(async () => {
    shared = await startAttacked()
  })
  afterAll(() => shared.stop())

  it.for([
    ['says nothing', ''],
    ['has begun a header', 'GET /graphql HTTP/1.1\r\nHost: x\r\nX-A: '],
    ['has begun a WebSocket', 'GET /graphql HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'],
  ] as const)('is cut off when it %s, a hundred times', async ([, begun], context) => {
    const { open, answersOthers, limited, stop } = await startAttacked()
    context.onTestFinished(stop)
    const all = await Promise.all(Array.from({ length: 100 }, open))
    for (const { socket } of all) {
      socket.write(begun)
      if (begun !== '') drip(socket, 'abc')
    }
    await answersOthers()
    for (const text of await Promise.all(all.map(({ ended }) => ended))) expect(text).toMatch(/^(HTTP\/1.1 408|$)/)
    expect(await limited('slowRequest')).toBeGreaterThanOrEqual(begun === '' ? 0 : 100)
  })

  it.for([
    '/graphql',
    '/reports',
    '/device/edge-1/deployment/d-1/status',
    '/v2/projects/p/composite-apps/a/v1/deployment-intent-groups/g/resources',
  ])('is cut off in the middle of a body to %s', async (path) => {
    const all = await Promise.all(Array.from({ length: 50 }, shared.open))
    for (const { socket } of all) {
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{`,
      )
      drip(socket, ' ')
    }
    await shared.answersOthers()
    await Promise.all(all.map(({ ended }) => ended))
    await shared.answersOthers()
  })
})
