/** Connections to PostgreSQL that are half open: nothing arrives, and nothing says so. Devices are answered soon all the same. */
import { connect, createServer, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'vitest'
import { defaultTimeouts } from '../../../src/api/rest/guard.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { expectSound } from '../../support/databases/soundness.ts'
import { postgresStores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const path = '/device/edge-1/deployment/d-1/status'
const body = (state: string) => ({ deploymentId: 'd-1', status: { state }, components: [] })
/** Milliseconds. Much less than the slowest statement may take, and more than a busy machine needs. */
const soon = 20_000

// Each test waits for time-outs, so they wait at the same time.
describe.concurrent.each(postgresStores)('half-open connections to $name', (store) => {
  async function start(
    { onTestFinished, expect }: TestContext,
    commit?: number,
  ): Promise<{ server: RunningApp; network: Network }> {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const network = await startNetwork(empty.config.url ?? '')
    onTestFinished(() => network.close())
    const config = { url: network.url, dataDir: 'memory', silence: 1_000 }
    const server = await startApp({
      on: { ...empty, open: () => openDatabase(config) },
      timeouts: { ...defaultTimeouts, ...(commit && { commit }) },
    })
    onTestFinished(() => server.stop())
    expect((await server.post(path, body('installing'))).status).toBe(201)
    return { server, network }
  }

  it('are left for new ones: a report is written once and answered', async (context) => {
    const { expect } = context
    const { server, network } = await start(context)
    network.forget()
    const began = performance.now()
    const answers = await Promise.all(['installed', 'installed'].map((state) => server.post(path, body(state))))
    expect(performance.now() - began).toBeLessThan(soon)
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    const verdicts = await Promise.all(answers.map(async (answer) => (await answer.json()).verdict))
    expect(verdicts.toSorted()).toEqual(['APPLIED', 'UNCHANGED'])
    await expectSound(server.app.database)
  })

  it('and no others: a report is refused with Retry-After, and taken when there are', async (context) => {
    const { expect } = context
    const { server, network } = await start(context, 1_000)
    network.fall()
    const began = performance.now()
    const refused = await server.post(path, body('installed'))
    expect(performance.now() - began).toBeLessThan(soon)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)])
    network.recover()
    await expect.poll(async () => (await server.post(path, body('installed'))).status).toBe(201)
    await expectSound(server.app.database)
  })
})

interface Network {
  readonly url: string
  /** Every connection there is falls silent; others work. */
  forget(): void
  /** So do others. */
  fall(): void
  recover(): void
  close(): Promise<void>
}

async function startNetwork(serverUrl: string): Promise<Network> {
  const target = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let isFallen = false
  const server = createServer((client) => {
    client.on('error', () => {}).pause()
    sockets.add(client)
    if (isFallen) return
    const upstream = connect(Number(target.port || 5432), target.hostname).on('error', () => {})
    sockets.add(upstream)
    client.pipe(upstream).pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String(typeof address === 'object' && address ? address.port : 0)
  const forget = (): void => {
    for (const socket of sockets) socket.unpipe().pause()
  }
  return {
    url: url.href,
    forget,
    fall() {
      isFallen = true
      forget()
    },
    recover() {
      isFallen = false
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
