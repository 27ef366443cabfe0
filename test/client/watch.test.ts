/** A subscriber over both transports: each change once, whatever happens to the connection, the server, the history and the sign-in. */
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/apps/client/client.ts'
import { startApi } from '../graphql/harness.ts'
import { temporaryFolder } from '../support/folder.ts'
import { expectNoUnhandledRejections } from '../support/rejections.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { startNode } from '../support/servers/child.ts'
import { startProgram } from '../support/servers/program.ts'
import { changes, follow, revisionsTo, startNetwork, transports } from './harness.ts'

expectNoUnhandledRejections()

const secret = 'a-secret-of-at-least-thirty-two-bytes'
let server: RunningApp
beforeAll(async () => {
  server = await startApp({
    env: { API_AUTH: 'open,jwt', API_JWT_SECRET: secret, API_JWT_ISSUER: 'i', API_JWT_AUDIENCE: 'a' },
  })
})
afterAll(() => server.stop())

/** Resolves with the newest revision. */
async function report(url: string, deploymentId: string, state: string): Promise<string> {
  const response = await fetch(`${url}/device/edge-1/deployment/${deploymentId}/status`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ deploymentId, status: { state }, components: [] }),
  })
  const { revision } = (await response.json()) as { revision: string }
  return revision
}

const subscribers = async (): Promise<number> =>
  Number(/rollcall_subscribers\{kind="changes"\} (\d+)/.exec(await server.app.metrics.print())?.[1])

describe.each(transports)('a subscriber over $name', ({ name, transport }) => {
  it('gets each change once across connections that are cut, and hears of them', async () => {
    const network = await startNetwork(server.url)
    const after = await report(server.url, name, 'pending')
    const { told, revisions } = follow({ url: network.url, transport: transport() }, after)
    const first = Number(after) + 1
    for (const state of ['installing', 'installed', 'removing']) {
      const known = await report(server.url, name, state)
      await expect.poll(revisions).toEqual(revisionsTo(known, first))
      network.cut()
      const missed = await report(server.url, name, 'failed')
      await expect.poll(network.refused).toBeGreaterThan(0)
      network.mend()
      await expect.poll(revisions).toEqual(revisionsTo(missed, first))
    }
    const interruptions = told.filter((one) => !/^\d+$/.test(one)).join(' ')
    expect(interruptions).toMatch(/^(lost( lost)* back ?){3}$/)
  })

  it('ends by its signal, without an error, and leaves the server', async () => {
    const { told, stop, ended } = follow({ url: server.url, transport: transport() }, '0')
    await expect.poll(() => told.length).toBeGreaterThan(0)
    await expect.poll(subscribers).toBe(1)
    stop.abort()
    await ended
    await expect.poll(subscribers).toBe(0)
  })

  it('ends by its signal while it waits for the server', async () => {
    const { told, stop, ended } = follow({ url: 'http://127.0.0.1:1', transport: transport() }, '0')
    await expect.poll(() => told).toContain('lost')
    stop.abort()
    await ended
  })

  it('leaves the server when the caller leaves the loop', async () => {
    for await (const { cursor } of connect({ url: server.url, transport: transport() }).watch(changes, {
      after: 'begin',
    })) {
      expect(cursor).toMatch(/^\d+$/)
      break
    }
    await expect.poll(subscribers).toBe(0)
  })

  it('goes on with a new token when the old one has expired, and fails where there is none', async () => {
    const sign = (seconds: number) =>
      new SignJWT({ sub: 'anna', roles: ['viewer'] })
        .setProtectedHeader({ alg: 'HS256' })
        .setIssuer('i')
        .setAudience('a')
        .setExpirationTime(Math.floor(Date.now() / 1000) + seconds)
        .sign(new TextEncoder().encode(secret))
    const asked: string[] = []
    const short = await sign(2)
    const long = await sign(3_600)
    const token = async (): Promise<string> => {
      asked.push('asked')
      return Date.now() > Number(JSON.parse(atob(short.split('.')[1] ?? '')).exp) * 1000 ? long : short
    }
    const after = await report(server.url, name, 'pending')
    const own = { url: server.url, transport: transport() }
    const renewing = follow({ ...own, token }, after)
    const lasting = follow({ url: server.url, transport: transport(), token: short }, after)
    const known = await report(server.url, name, 'installed')
    const seen = revisionsTo(known, Number(after) + 1)
    await expect.poll(renewing.revisions).toEqual(seen)
    await expect(lasting.ended).rejects.toMatchObject({ code: name === 'WebSocket' ? 'REFUSED' : 'UNAUTHENTICATED' })
    await report(server.url, name, 'pending')
    const newest = await report(server.url, name, 'failed')
    await expect.poll(renewing.revisions).toEqual(revisionsTo(newest, Number(after) + 1))
    expect(await connect({ ...own, token }).query('{ __typename }')).toEqual({ __typename: 'Query' })
  })

  it('learns of an overflow, and gets the rest after it', async () => {
    const api = await startApi({ road: { feed: { capacity: 50 } } })
    onTestFinished(() => api.close())
    const after = String((await api.ask('{ revision }')).revision)
    const stop = new AbortController()
    const document = `subscription ($after: Revision) { changes(after: $after) {
      cursor reset { reason } change { revision ... on DeploymentStateChanged { error { message } } }
    } }`
    const client = connect({ url: api.url, transport: transport() })
    const updates = client.watch<{ changes: { change: { revision: string } | null } }>(
      document,
      { after },
      { signal: stop.signal },
    )
    const error = { code: 'E', message: 'x'.repeat(name === 'WebSocket' ? 1 : 50_000) }
    // A WebSocket reads ahead, up to a limit of its own.
    const count = name === 'WebSocket' ? 1_200 : 400
    await api.report({ deploymentId: 'first', state: 'FAILED', error })
    const first = await updates.next()
    for (let i = 0; i < count; i += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, j) => api.report({ deploymentId: `d-${i + j}`, state: 'FAILED', error })),
      )
    const newest = String((await api.ask('{ revision }')).revision)
    const resets = new Set<string | null>([first.value?.reset ?? null])
    const revisions = [first.value?.data.changes.change?.revision]
    while (revisions.at(-1) !== newest) {
      const { value } = await updates.next()
      resets.add(value?.reset ?? null)
      const { change } = value?.data.changes ?? expect.unreachable()
      if (change) revisions.push(change.revision)
    }
    stop.abort()
    expect(revisions).toEqual(revisionsTo(newest, Number(after) + 1))
    expect([...resets]).toEqual(name === 'WebSocket' ? [null] : [null, 'OVERFLOW'])
  })

  it('gets the reason of a refusal', async () => {
    const { ended } = follow({ url: server.url, transport: transport() }, 'nonsense')
    await expect(ended).rejects.toMatchObject({ code: 'BAD_USER_INPUT' })
  })

  it.each([
    ['declares no $after', 'subscription { changes { cursor change { revision } } }', 'declare the variable'],
    [
      'selects no cursor',
      'subscription ($after: Revision) { changes(after: $after) { change { revision } } }',
      'select',
    ],
  ])('that %s would miss changes, and is refused', async (_, document, what) => {
    const { ended } = follow({ url: server.url, transport: transport() }, 'begin', document)
    await expect(ended).rejects.toMatchObject({ code: 'BAD_USER_INPUT', message: expect.stringContaining(what) })
  })
})

it('subscribers of a server that is killed miss nothing, and learn of a restored database', async () => {
  const dataDir = temporaryFolder()
  const restored = join(temporaryFolder(), 'restored')
  const start = (DATA_DIR: string, PORT: string) => {
    const program = startProgram({ DATA_DIR, PORT })
    onTestFinished(() => program.dispose())
    return program
  }
  let program = start(dataDir, '0')
  const url = await program.listening
  const { port } = new URL(url)
  const kill = async (): Promise<void> => {
    program.child.kill('SIGKILL')
    await program.ended
  }
  const after = await report(url, 'killed', 'pending')
  const followed = transports.map(({ transport }) => follow({ url, transport: transport() }, after))
  const all = () => followed.map(({ revisions }) => revisions())
  const first = Number(after) + 1
  const known = await report(url, 'killed', 'installing')
  await expect.poll(all).toEqual(followed.map(() => revisionsTo(known, first)))
  await kill()
  cpSync(dataDir, restored, { recursive: true })
  program = start(dataDir, port)
  await program.listening
  const later = await report(url, 'killed', 'installed')
  await expect.poll(all).toEqual(followed.map(() => revisionsTo(later, first)))
  expect(followed.flatMap(({ told }) => told)).not.toContain('CURSOR_EXPIRED')
  await kill()
  expect(await startNode(['src/bin.ts', 'new-epoch', '--yes'], { DATA_DIR: restored }).ended).toBe(0)
  program = start(restored, port)
  await program.listening
  const newest = await report(url, 'killed', 'failed')
  for (const { told } of followed) {
    await expect.poll(() => told.at(-1)).toBe(newest)
    expect(told.filter((one) => one === 'CURSOR_EXPIRED')).toHaveLength(1)
  }
})
