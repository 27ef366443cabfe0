/** One caller's subscriptions, thousands that differ: they delay neither the answer to a report nor deliveries to others. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Message, openSocket } from './transports.ts'

const perSocket = 1_000
const sockets = 3
const all = sockets * perSocket
const half = all / 2

/** A stream of a state, which reads, and one of changes, which does not; each is another document. */
const greedy = {
  'a state': (n: number) =>
    `subscription { deployment(deploymentId: "d-1") { a${n}: cursor deployment { state history(first: ${1 + (n % 100)}) { nodes { at } } } } }`,
  changes: (n: number) => `subscription { changes(after: "0") { a${n}: cursor change { kind at } } }`,
}

describe.each(stores)('on $name', (store) => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ store, env: { TRUSTED_PROXIES: '127.0.0.1' } })
  })
  afterAll(() => server.stop())

  let count = 0
  async function report(): Promise<void> {
    count += 1
    const body = { deploymentId: 'd-1', status: { state: count % 2 === 0 ? 'installing' : 'pending' }, components: [] }
    expect((await server.post('/device/edge-1/deployment/d-1/status', body)).status).toBe(201)
  }

  /** Opens a subscription for each document on one socket; `told` counts their deliveries. */
  async function watch(address: string, documents: readonly string[]) {
    const socket = await openSocket(server.url, { 'x-forwarded-for': address })
    let told = 0
    const waiting = new Map<number, () => void>()
    socket.on('message', (text) => {
      const { type } = JSON.parse(String(text)) as Message
      if (type !== 'next') return
      told += 1
      waiting.get(told)?.()
    })
    for (const [id, query] of documents.entries())
      socket.send(JSON.stringify({ type: 'subscribe', id: String(id), payload: { query } }))
    const until = (number: number) =>
      told >= number ? Promise.resolve() : new Promise<void>((resolve) => void waiting.set(number, resolve))
    return { socket, told: () => told, until }
  }

  it.each(Object.entries(greedy))('a caller with thousands of subscriptions to %s', async (_, documentOf) => {
    await report()
    const many = await Promise.all(
      Array.from({ length: sockets }, (_, socket) =>
        watch(
          '192.0.2.1',
          Array.from({ length: perSocket }, (_, n) => documentOf(socket * perSocket + n)),
        ),
      ),
    )
    const allTold = (): number => many.reduce((sum, { told }) => sum + told(), 0)
    const one = await watch('192.0.2.2', [documentOf(0)])
    // Each begins with the present state, and the test waits until it delivers the same change.
    await one.until(1)
    await Promise.all(many.map(({ until }) => until(perSocket)))
    // On a machine that is busy with other tests, the client may count an answer late: then it reports again.
    for (let attempt = 1; ; attempt += 1) {
      await expect.poll(isQuiet(allTold)).toBe(true)
      const before = allTold()
      const own = one.told()
      await report()
      await report()
      const whenAnswered = allTold() - before
      await one.until(own + 1)
      const whenOtherTold = allTold() - before
      // And all of them deliver.
      await expect.poll(allTold).toBeGreaterThanOrEqual(before + all)
      if (attempt < 3 && (whenAnswered >= half || whenOtherTold >= all)) continue
      // A report waits for one portion of them, also on the embedded database, which has one connection.
      expect(whenAnswered).toBeLessThan(half)
      expect(whenOtherTold).toBeLessThan(all)
      break
    }
    for (const { socket } of many) socket.terminate()
    one.socket.terminate()
  })
})

/** Whether it counts what it counted when it was last asked. */
function isQuiet(count: () => number): () => boolean {
  let last = -1
  return () => {
    const before = last
    last = count()
    return last === before
  }
}
