/** What devices fetch: bytes that are what their digests say, each device its own, and next to nothing for who has them already. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { PgDialect } from 'drizzle-orm/pg-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Database } from '../../../src/store/database.ts'
import { declare, documentOf, remove } from '../../support/clients/desired.ts'
import { stores } from '../../support/databases/stores.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const dialect = new PgDialect()
const manifestType = 'application/vnd.margo.manifest.v1+json'
const sha256 = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/** Counts what is asked outside of the writer's transactions. */
function counting(database: Database, statements: string[]): Database {
  const { session } = database
  return {
    ...database,
    session: {
      ...session,
      rows: (query) => {
        statements.push(dialect.sqlToQuery(query).sql)
        return session.rows(query)
      },
    },
  }
}

describe.each(stores)('desired state over HTTP on $name', (store) => {
  let server: RunningApp
  let drop = async () => {}
  const statements: string[] = []
  beforeAll(async () => {
    const empty = await store.create()
    drop = empty.drop
    server = await startApp({ on: { ...empty, open: async () => counting(await empty.open(), statements) } })
  })
  afterAll(async () => {
    await server.stop()
    await drop()
  })

  const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    const response = await fetch(`${server.url}${path}`, { method, headers })
    const bytes = Buffer.from(await response.arrayBuffer())
    const header = (name: string) => response.headers.get(name)
    return { status: response.status, bytes, header, etag: header('etag') ?? '', json: () => JSON.parse(String(bytes)) }
  }
  const manifestOf = (device: string) => get(`/api/v1/clients/${encodeURIComponent(device)}/deployments`)

  it('is fetched as a client does: the manifest, what it lists, and all of that at once', async () => {
    const contents = [documentOf('pumps'), documentOf('a/b')]
    await declare(server, [
      { deviceId: 'edge-1', deploymentId: 'pumps', document: contents[0] ?? '' },
      { deviceId: 'edge-1', deploymentId: 'a/b', document: contents[1] ?? '' },
    ])
    const told = await manifestOf('edge-1')
    expect([told.status, told.header('content-type')]).toEqual([200, manifestType])
    expect(told.header('cache-control')).toBe('private, no-cache')
    expect(told.etag).toBe(`"${sha256(told.bytes)}"`)
    const { manifestVersion, deployments, bundle } = told.json()
    expect(manifestVersion).toBe(2)
    expect(deployments.map(({ deploymentId }: { deploymentId: string }) => deploymentId)).toEqual(['a/b', 'pumps'])

    for (const { deploymentId, digest, sizeBytes, url } of deployments) {
      const document = await get(url)
      expect([document.status, document.header('content-type')]).toEqual([200, 'application/yaml'])
      expect([sha256(document.bytes), document.bytes.length, document.etag]).toEqual([digest, sizeBytes, `"${digest}"`])
      expect(document.header('cache-control')).toBe('private, immutable, max-age=31536000')
      expect(document.bytes.toString()).toBe(documentOf(deploymentId))
      expect((await get(url, { 'if-none-match': document.etag })).status).toBe(304)
    }
    expect(bundle.mediaType).toBe('application/vnd.margo.bundle.v1+tar+gzip')
    const archive = await get(bundle.url)
    expect([archive.status, archive.header('content-type')]).toEqual([200, bundle.mediaType])
    expect([sha256(archive.bytes), archive.bytes.length, archive.etag]).toEqual([
      bundle.digest,
      bundle.sizeBytes,
      `"${bundle.digest}"`,
    ])
    for (const content of contents) expect(gunzipSync(archive.bytes).toString()).toContain(content)
  })

  it('has URLs below the address of its request, in every generation', async () => {
    await declare(server, [{ deviceId: 'edge 2', deploymentId: 'x', document: documentOf('x') }])
    for (const root of ['/api/v1', '/margo/api/v1', '/v1alpha2/margo/api/v1']) {
      const told = await get(`${root}/clients/edge%202/deployments`)
      const { deployments, bundle } = told.json()
      expect(deployments[0].url).toBe(`${root}/clients/edge%202/deployments/x/${deployments[0].digest}`)
      expect(bundle.url).toBe(`${root}/clients/edge%202/bundles/${bundle.digest}`)
      expect([(await get(deployments[0].url)).status, (await get(bundle.url)).status]).toEqual([200, 200])
      expect(told.etag).toBe(`"${sha256(told.bytes)}"`)
    }
  })

  it('has a version more with each change, keeps what it was, and is empty in the end', async () => {
    const device = { deviceId: 'edge-3', deploymentId: 'y' }
    const first = documentOf('y')
    const [id = ''] = await declare(server, [{ ...device, document: first }])
    const before = await manifestOf('edge-3')
    await declare(server, [{ ...device, document: first }])
    expect((await manifestOf('edge-3')).bytes).toEqual(before.bytes)
    await declare(server, [{ ...device, document: documentOf('y', '2.0.0') }])
    const after = await manifestOf('edge-3')
    expect([before.json().manifestVersion, after.json().manifestVersion]).toEqual([2, 3])
    expect(after.etag).not.toBe(before.etag)
    expect((await get(before.json().deployments[0].url)).bytes.toString()).toBe(first)
    expect((await get(before.json().bundle.url)).status).toBe(200)
    await remove(server, [id])
    expect((await manifestOf('edge-3')).json()).toEqual({ manifestVersion: 4, bundle: null, deployments: [] })
  })

  it('is the empty first version for a device without desired state, and a 404 for an unknown device', async () => {
    await server.post('/device/edge-4/deployment/z/status', {
      deploymentId: 'z',
      status: { state: 'installed' },
      components: [],
    })
    expect((await manifestOf('edge-4')).json()).toEqual({ manifestVersion: 1, bundle: null, deployments: [] })
    const unknown = await manifestOf('edge-nowhere')
    expect([unknown.status, unknown.json()]).toEqual([404, expect.objectContaining({ retryable: true })])
  })

  it('is of a device: a request that names none gets the address that does', async () => {
    for (const path of ['/api/v1/deployments', `/api/v1/bundles/sha256:${'0'.repeat(64)}`]) {
      const { status, header, json } = await get(path)
      expect([status, header('content-type')]).toEqual([400, 'application/problem+json'])
      expect(json().error).toContain('/api/v1/clients/{clientId}/deployments')
    }
  })

  it('of a child is in the manifest of its gateway, and there alone', async () => {
    await declare(server, [{ deviceId: 'gateway/child', deploymentId: 'c', document: documentOf('c') }])
    const listed = (await manifestOf('gateway')).json().deployments
    expect(listed.map(({ deploymentId }: { deploymentId: string }) => deploymentId)).toEqual(['c'])
    const child = await manifestOf('gateway/child')
    expect([child.status, child.json().error]).toEqual([403, expect.stringContaining('manifest of gateway')])
  })

  it('is not told to another device, whatever digest it knows', async () => {
    await declare(server, [
      { deviceId: 'edge-5', deploymentId: 'five', document: documentOf('five') },
      { deviceId: 'edge-6', deploymentId: 'six', document: documentOf('six') },
    ])
    const { deployments, bundle } = (await manifestOf('edge-5')).json()
    for (const { url } of [...deployments, bundle]) {
      expect((await get(url)).status).toBe(200)
      const stolen = await get(url.replace('edge-5', 'edge-6'))
      expect([stolen.status, stolen.header('content-type')]).toEqual([404, 'application/problem+json'])
      expect((await get(url.replace('edge-5', 'edge-6'), { 'if-none-match': '*' })).status).toBe(404)
    }
    const [{ digest }] = deployments
    for (const path of [`five/sha256:${'0'.repeat(64)}`, `six/${digest}`, `five/${digest.toUpperCase()}`, 'five/x'])
      expect([path, (await get(`/api/v1/clients/edge-5/deployments/${path}`)).status]).toEqual([path, 404])
  })

  it.runIf(isWhole)(
    'is given to one device in two bundles at once, however slowly it reads, and to others meanwhile',
    async () => {
      // More than what sockets hold.
      const filler = `# ${'x'.repeat(250_000)}`
      for (const part of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
        await declare(
          server,
          Array.from({ length: 10 }, (_, n) => ({
            deviceId: 'slow',
            deploymentId: `${part}${n}`,
            document: `${documentOf(`${part}${n}`)}${filler}`,
          })),
        )
      const { bundle } = (await manifestOf('slow')).json()
      const ask = (): Socket => {
        const socket = connect(server.port, '127.0.0.1').pause()
        onTestFinished(() => void socket.destroy())
        socket.write(`GET ${bundle.url} HTTP/1.1\r\nHost: x\r\n\r\n`)
        return socket
      }
      const slow = [ask(), ask()]
      for (const socket of slow) await once(socket, 'readable')
      const third = ask()
      let isTold = false
      third.once('readable', () => {
        isTold = true
      })
      const other = (await manifestOf('edge-1')).json()
      for (let n = 0; n < 30; n++) expect((await get(other.bundle.url)).status).toBe(200)
      // A client that has it already does not wait for others.
      expect((await get(bundle.url, { 'if-none-match': `"${bundle.digest}"` })).status).toBe(304)
      expect(isTold).toBe(false)
      slow[0]?.destroy()
      await expect.poll(() => isTold).toBe(true)
    },
  )

  it('is refused to a revoked device', async () => {
    await declare(server, [{ deviceId: 'edge-7', deploymentId: 'seven', document: documentOf('seven') }])
    await server.query('mutation { revokeDevice(input: { deviceId: "edge-7" }) { __typename } }')
    expect((await manifestOf('edge-7')).status).toBe(403)
  })

  it('is a manifest or nothing: 406 for who takes neither', async () => {
    const path = '/api/v1/clients/edge-1/deployments'
    for (const [accept, status] of [
      [manifestType, 200],
      ['*/*', 200],
      ['application/*;q=0.2, text/html', 200],
      ['application/json', 406],
      ['text/html', 406],
    ] as const) {
      const answer = await get(path, { accept })
      expect([accept, answer.status]).toEqual([accept, status])
      if (status === 406) expect(answer.json()).toMatchObject({ status: 406, title: 'Not Acceptable' })
    }
  })

  it('has a head, and takes nothing else', async () => {
    const path = '/api/v1/clients/edge-1/deployments'
    const whole = await get(path)
    const head = await get(path, {}, 'HEAD')
    expect([head.status, head.bytes.length, head.etag]).toEqual([200, 0, whole.etag])
    expect(head.header('content-length')).toBe(String(whole.bytes.length))
    const posted = await get(path, {}, 'POST')
    expect([posted.status, posted.header('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })

  it('is a sign of life to ask for it', async () => {
    await declare(server, [{ deviceId: 'edge-8', deploymentId: 'eight', document: documentOf('eight') }])
    const heard = async () => (await server.query('{ device(deviceId: "edge-8") { lastHeardAt } }')).device.lastHeardAt
    expect(await heard()).toBeNull()
    const { etag } = await manifestOf('edge-8')
    await expect.poll(heard).not.toBeNull()
    const first = await heard()
    await get('/api/v1/clients/edge-8/deployments', { 'if-none-match': etag })
    expect(await heard()).toBe(first)
  })

  it('costs one row for who has it already, and no document ever', async () => {
    const path = '/api/v1/clients/edge-1/deployments'
    const { etag } = await get(path)
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      statements.length = 0
      const polled = await get(path, { 'if-none-match': known })
      expect([known, polled.status, polled.bytes.length, polled.etag]).toEqual([known, 304, 0, etag])
      const asked = statements.filter((text) => text.includes('manifests'))
      expect(asked).toHaveLength(1)
      expect(statements.filter((text) => /desired_documents|manifest_entries/.test(text))).toEqual([])
    }
    statements.length = 0
    await Promise.all(Array.from({ length: 50 }, () => get(path, { 'if-none-match': etag })))
    expect(statements.filter((text) => text.includes('manifests')).length).toBeLessThanOrEqual(50)
    await declare(server, [{ deviceId: 'edge-1', deploymentId: 'new', document: documentOf('new') }])
    expect((await get(path, { 'if-none-match': etag })).status).toBe(200)
  })
})
