import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient as createEventClient } from 'graphql-sse'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { openDatabase } from '../src/store/open.ts'
import { connectDeaf, converse, listen, requestOf, subscribe, subscription } from './support/clients/conversation.ts'
import { type EmptyStore, postgresStores } from './support/databases/stores.ts'
import { isWhole } from './support/runner/depth.ts'
import { type RunningApp, startApp } from './support/servers/app.ts'

const path = '/device/edge-1/deployment/d-1/status'
const body = (state: string) => ({ deploymentId: 'd-1', status: { state }, components: [] })

describe('a server that closes', () => {
  it('tells its subscribers to go elsewhere, and leaves nothing behind', async () => {
    const server = await startApp()
    const events = await listen(server)
    const socket = await subscribe(server)
    await server.app.close()
    expect(await socket.closed).toMatchObject({ code: 1001 })
    // Cut off without a `complete`: an EventSource reconnects.
    expect(await events.next()).toBeNull()
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow()
    await server.stop()
    const again = await startApp({ env: { PORT: String(server.port) } })
    expect(again.port).toBe(server.port)
    await again.stop()
  })

  it('has written everything that it acknowledged', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'rollcall-app-'))
    const config = { url: null, dataDir }
    const on: EmptyStore = { config, open: () => openDatabase(config), drop: async () => {} }
    const server = await startApp({ on })
    const acknowledged: string[] = []
    let isOver = false
    const send = async (device: number): Promise<void> => {
      for (let n = 0; !isOver; n += 1) {
        const id = `d-${device}-${n}`
        const report = { deploymentId: id, status: { state: 'installed' }, components: [] }
        const response = await server.post(`/device/edge-${device}/deployment/${id}/status`, report).catch(() => null)
        if (response?.status === 201) acknowledged.push(id)
        else if (response) expect(response.status).toBe(503)
        else return
      }
    }
    const senders = Promise.all(Array.from({ length: 8 }, (_, device) => send(device)))
    await expect.poll(() => acknowledged.length).toBeGreaterThan(100)
    await server.stop()
    isOver = true
    await senders

    const again = await startApp({ on })
    const rows = await again.app.database.session.run<{ id: string }>('select deployment_id as id from deployments')
    const kept = new Set(rows.map(({ id }) => id))
    expect(acknowledged.filter((id) => !kept.has(id))).toEqual([])
    await again.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })

  it.skipIf(postgresStores.length === 0)('is not ready, answers what it has taken, and takes no more', async () => {
    const [store] = postgresStores
    if (!store) return
    const on = await store.create()
    const server = await startApp({ on })
    // A session that holds the head of the log keeps the batch in flight waiting.
    const sql = postgres(on.config.url ?? '', { max: 1, onnotice: () => {} })
    const holder = await sql.reserve()
    await holder`begin`
    await holder`select 1 from log_head for update`
    // Not idle, so the closing server leaves them open: one has begun to ask, the other waits for its answer.
    const probe = await converse(server)
    probe.write('GET /readyz HTTP/1.1\r\n')
    const device = await converse(server)
    device.write(requestOf('POST', path, JSON.stringify(body('installed'))))
    await expect.poll(() => blocked(holder)).toBe(1)

    const closing = server.app.close()
    await expect(fetch(`${server.url}/readyz`)).rejects.toThrow()
    probe.write('Host: rollcall\r\n\r\n')
    expect(await probe.ended).toMatch(/^HTTP\/1\.1 503 .*connection: close.*shutting down/is)
    await holder`commit`
    holder.release()
    expect(await device.ended).toMatch(/^HTTP\/1\.1 201 .*"verdict":"APPLIED"/s)
    await closing
    await sql.end()
    await on.drop()
  })

  it('refuses operations with 503 and Retry-After instead of beginning a stream that it would end', async () => {
    const server = await startApp()
    // Not idle, so the closing server leaves them open: each has begun to ask.
    const asking = await converse(server)
    asking.write(`GET /graphql?query=${encodeURIComponent(subscription)} HTTP/1.1\r\nAccept: text/event-stream\r\n`)
    const upgrading = await converse(server)
    upgrading.write('GET /graphql HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n')
    await server.query('{ revision }')
    const closing = server.app.close()
    asking.write('Host: rollcall\r\n\r\n')
    upgrading.write('Host: rollcall\r\n\r\n')
    expect(await asking.ended).toMatch(/^HTTP\/1\.1 503 .*retry-after: \d+.*"code":"UNAVAILABLE"/is)
    expect(await upgrading.ended).toMatch(/^HTTP\/1\.1 503 .*retry-after: \d+/is)
    await closing
    await server.stop()
  })

  it('says `complete` to no stream, and keeps no connection on which its reader would ask again', async () => {
    const server = await startApp()
    const headers = ['Accept: text/event-stream']
    const request = requestOf('POST', '/graphql', JSON.stringify({ query: subscription }), headers)
    const deaf = await connectDeaf(server)
    const open = await converse(server)
    open.write(request)
    await expect.poll(() => server.app.metrics.print()).toContain('rollcall_subscribers{kind="changes"} 1')
    // Its headers came before, its body comes when every stream has been ended.
    const late = await converse(server)
    const bodyAt = request.indexOf('\r\n\r\n') + 4
    late.write(request.slice(0, bodyAt))
    await server.query('{ revision }')
    const closing = server.app.close()
    await expect.poll(() => server.app.metrics.print()).toContain('rollcall_subscribers{kind="changes"} 0')
    late.write(request.slice(bodyAt))
    for (const { ended } of [open, late]) {
      expect(await ended).toMatch(/^HTTP\/1\.1 200 .*text\/event-stream/is)
      expect(await ended).not.toContain('complete')
    }
    await closing
    deaf.terminate()
    await server.stop()
  })

  it.runIf(isWhole)('loses nothing for a client of event streams that reconnects at once', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'rollcall-app-'))
    const config = { url: null, dataDir }
    const on: EmptyStore = { config, open: () => openDatabase(config), drop: async () => {} }
    const first = await startApp({ on })
    const deaf = await connectDeaf(first)
    let attempts = 0
    const client = createEventClient({
      url: `${first.url}/graphql`,
      retryAttempts: Number.POSITIVE_INFINITY,
      retry: async () => {
        attempts += 1
        await new Promise((resolve) => setImmediate(resolve))
      },
    })
    const [seen, ends]: [Set<string>, unknown[]] = [new Set(), []]
    client.subscribe<{ changes: { cursor: string } }>(
      { query: 'subscription { changes(after: "0") { cursor } }' },
      {
        next: ({ data }) => void seen.add(data?.changes.cursor ?? ''),
        error: (error) => void ends.push(error),
        complete: () => void ends.push('complete'),
      },
    )
    const say = async (server: RunningApp, state: string): Promise<string> =>
      (await (await server.post(path, body(state))).json()).revision
    const before = await say(first, 'installing')
    await expect.poll(() => seen).toContain(before)
    await first.stop()
    deaf.terminate()
    const again = await startApp({ on, env: { PORT: String(first.port) } })
    const after = await say(again, 'installed')
    await expect.poll(() => ends.length > 0 || seen.has(after)).toBe(true)
    expect(ends).toEqual([])
    expect(attempts).toBeGreaterThan(0)
    client.dispose()
    await again.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })

  it('closes once, however many callers ask', async () => {
    const server = await startApp()
    await Promise.all([server.app.close(), server.app.close()])
    await server.stop()
  })
})

/** Sessions that wait for a lock. */
async function blocked(sql: postgres.ReservedSql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from pg_locks where not granted`
  return row?.count ?? 0
}
