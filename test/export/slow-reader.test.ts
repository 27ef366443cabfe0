/** An export to a client that reads slowly, leaves or loses its credential: what the server holds meanwhile. */
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bodyOf } from '../../src/api/export/body.ts'
import { type ExportDeps, serveExport } from '../../src/api/export/serve.ts'
import { createTally } from '../../src/api/export/tally.ts'
import { everyone } from '../../src/domain/principal.ts'
import { createAdmission } from '../../src/platform/limits/admission.ts'
import { createDeadline } from '../../src/platform/limits/deadline.ts'
import type { Database, Snapshot } from '../../src/store/database.ts'
import { type Api, startApi } from '../graphql/harness.ts'
import { collect } from '../support/garbage.ts'

/** Their errors fill the buffers of a connection. */
const reports = 1_200
const message = 'x'.repeat(20_000)

let api: Api
let server: Server
let url: string
/** Of the requests so far. */
const seen = { snapshots: 0, open: 0, responses: [] as ServerResponse[], ended: 0, end: (): void => {} }

beforeAll(async () => {
  api = await startApi({})
  const list = Array.from({ length: reports }, (_, index) => `d-${index}`)
  await Promise.all(
    list.map((deploymentId) =>
      api.report({ reporter: 'edge', deploymentId, state: 'FAILED', error: { code: 'E', message } }),
    ),
  )
  const admission = createAdmission({ limits: { rates: { address: null, device: null }, streams: 1 } })
  const deps: ExportDeps = {
    database: counted(api.road.database),
    deadline: () => createDeadline(15_000, admission.refuse),
    admission,
    auth: {
      follow(_, end) {
        seen.end = end
        return () => {}
      },
    },
    silence: 0,
  }
  server = createServer((request, response) => {
    seen.responses.push(response)
    const exchange = { request, response, bodies: admission.bodies, method: 'GET', path: '', id: '' }
    serveExport(deps, exchange, everyone, 'changes', request.url?.includes('/manifest') === true)
      // As rest/server.ts does.
      .catch(() => (response.headersSent ? response.destroy() : response.writeHead(500).end()))
      .finally(() => {
        seen.ended += 1
      })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/export/changes`
})
afterAll(async () => {
  server.close()
  server.closeAllConnections()
  await api.close()
})

function counted(database: Database): Pick<Database, 'snapshot'> {
  return {
    async snapshot(...args): Promise<Snapshot> {
      const own = await database.snapshot(...args)
      seen.snapshots += 1
      seen.open += 1
      return {
        ...own,
        close: () => {
          seen.open -= 1
          return own.close()
        },
      }
    },
  }
}

/** A client that has sent its request and reads nothing. */
function beginSlowly() {
  const { port } = server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1').pause()
  socket.write('GET /export/changes HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n')
  return socket
}

const waits = (count: number) =>
  expect.poll(() => seen.responses.length === count && seen.responses.at(-1)?.writableNeedDrain).toBe(true)

it('keeps one part in memory and no transaction open while the client does not read', async () => {
  const whole = await (await fetch(url)).text()
  const parts = seen.snapshots
  expect(whole.trimEnd().split('\n')).toHaveLength(reports)
  expect(parts).toBeGreaterThan(2)
  const socket = beginSlowly()
  await waits(2)
  expect(seen.open).toBe(0)
  expect(seen.snapshots - parts).toBeLessThan(parts)
  expect(seen.responses.at(-1)?.writableLength).toBeLessThan(whole.length / 2)
  const chunks = await socket.toArray()
  const sent = Buffer.concat(chunks).length
  expect(sent).toBeGreaterThan(whole.length)
  expect([seen.open, seen.snapshots]).toEqual([0, 2 * parts])
})

it('keeps no rows of a part while its bytes are sent, nor of the first one later', async () => {
  const made: WeakRef<object>[] = []
  const part = (next: string | null) => {
    const rows = [{ cursor: next }]
    made.push(new WeakRef(rows))
    return { rows, next }
  }
  const encoder = { add: () => Buffer.from('x'), end: () => Buffer.alloc(0) }
  const body = bodyOf([part('1')], async (after) => part(after === '1' ? '2' : null), encoder, createTally([]))
  for (const count of [1, 2, 3]) {
    await body.next()
    // A reference that was used is strong until the turn ends.
    await new Promise(setImmediate)
    collect()
    expect(made.map((rows) => rows.deref())).toEqual(Array.from({ length: count }, () => undefined))
  }
})

it('stops reading when the client leaves', async () => {
  const [before, ended] = [seen.snapshots, seen.ended]
  const socket = beginSlowly()
  await waits(3)
  socket.destroy()
  await expect.poll(() => seen.ended).toBe(ended + 1)
  expect(seen.open).toBe(0)
  expect(seen.snapshots - before).toBeLessThan(9)
})

it('ends incomplete when retention removes rows that it has not read', async () => {
  const ended = seen.ended
  const socket = beginSlowly()
  await waits(4)
  const [head] = await api.road.database.session.run<{ tail: number }>('select tail from log_head')
  await api.road.database.session.run('update log_head set tail = revision')
  const chunks = await socket.toArray()
  expect(Buffer.concat(chunks).toString().endsWith('0\r\n\r\n')).toBe(false)
  await expect.poll(() => seen.ended).toBe(ended + 1)
  await api.road.database.session.run('update log_head set tail = $1::bigint', [head?.tail])
})

it('ends when the credential is revoked, and counts as a stream until then', async () => {
  const ended = seen.ended
  const socket = beginSlowly()
  await waits(5)
  expect((await fetch(url)).status).toBe(500)
  seen.end()
  socket.resume()
  await once(socket, 'close')
  await expect.poll(() => seen.ended).toBe(ended + 2)
  const answer = await fetch(url)
  expect(answer.status).toBe(200)
  await answer.body?.cancel()
  await expect.poll(() => seen.ended).toBe(ended + 3)
})

it('the answer to a request for a manifest begins while the export is made', async () => {
  const text = await (await fetch(`${url}/manifest`)).text()
  expect(text).toMatch(/^\n+\{/)
  expect(JSON.parse(text)).toMatchObject({ kind: 'changes', rows: reports })
})
