/** deploy/nginx.conf in front of a server: what a client claims in headers that only the proxy may set is not believed. */
import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  request as requestInTheClear,
  type ServerResponse,
} from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type ConnectionOptions, connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import {
  type Authority,
  type Certificate,
  type Certificates,
  clientCert,
  createCertificates,
} from '../auth/devices/certificates.ts'
import { bodyOf, registerAll, statusOf } from '../auth/devices/devices.ts'
import { stores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { findNginx, type Nginx, startNginx } from '../support/systems/nginx.ts'

const idOf = (client: string) => ({ names: `URI:spiffe://fleet.example/margo/wfm/north/client/${client}` })

describe.skipIf(!findNginx()).each(stores)('a server behind deploy/nginx.conf, on $name', (store) => {
  let certificates: Certificates
  let fleet: Authority
  let press: Certificate
  let app: RunningApp
  let nginx: Nginx

  beforeAll(async () => {
    certificates = await createCertificates()
    fleet = await certificates.authority('the fleet')
    press = await fleet.issue('press', idOf('press'))
    const { files } = await fleet.issue('localhost', { names: 'DNS:localhost,IP:127.0.0.1' })
    app = await startApp({
      store,
      env: {
        DEVICE_AUTH: 'mtls',
        SPIFFE_TRUST_DOMAIN: 'fleet.example',
        TRUSTED_PROXIES: '127.0.0.1',
        CLIENT_CERT_HEADER: 'overwritten',
      },
    })
    await registerAll(app, [{ deviceId: 'press' }, { deviceId: 'other' }])
    nginx = await startNginx({ port: app.port, ...files, clientCa: fleet.files.cert })
  })
  afterAll(async () => {
    await nginx?.dispose()
    await app?.stop()
    await certificates?.remove()
  })

  interface Asking {
    readonly reporter?: string
    readonly headers?: Record<string, string>
    /** Null: without one, over https. */
    readonly certificate?: Certificate | null
    readonly from?: string
  }

  /** In the clear, unless a certificate is shown. */
  async function report({ reporter = 'press', headers = {}, certificate, from = '127.0.0.1' }: Asking = {}) {
    const options = {
      method: 'POST',
      agent: false,
      localAddress: from,
      headers: { 'content-type': 'application/json', ...headers },
    } as const
    const sent =
      certificate === undefined
        ? requestInTheClear(`http://127.0.0.1:${nginx.port}${statusOf(reporter)}`, options)
        : request(`https://127.0.0.1:${nginx.tlsPort}${statusOf(reporter)}`, {
            ...options,
            ca: fleet.cert,
            ...(certificate ? { cert: certificate.cert, key: certificate.key } : {}),
          })
    sent.end(JSON.stringify(bodyOf('pump')))
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.resume()
    await once(response, 'end')
    return response.statusCode
  }

  it('does not believe a certificate that a client only claims to have', async () => {
    const forged = { headers: clientCert(press) }
    expect(await report(forged)).toBe(401)
    expect(await report({ ...forged, certificate: null })).toBe(401)
    const escaped = encodeURIComponent(press.cert)
    expect(await report({ headers: { 'client-cert': escaped } })).toBe(401)
    expect((await app.query('{ deploymentCounts { total } }')).deploymentCounts.total).toBe(0)
  })

  it('believes the certificate that nginx has checked, whatever the client claims beside it', async () => {
    expect(await report({ certificate: press })).toBe(201)
    const other = await fleet.issue('other', idOf('other'))
    const claiming = { certificate: other, headers: clientCert(press) }
    expect(await report(claiming)).toBe(403)
    expect(await report({ ...claiming, reporter: 'other' })).toBe(201)
  })

  it('refuses a certificate that another authority signed', async () => {
    const strangers = await certificates.authority('stranger')
    expect(await report({ certificate: await strangers.issue('press', idOf('press')) })).toBe(400)
    expect(await report({ certificate: null })).toBe(401)
  })

  it('offers HTTP/2 to browsers, and no cipher that the server itself does not speak', async () => {
    const handshake = async (options: ConnectionOptions) => {
      const socket = connect({ host: '127.0.0.1', port: nginx.tlsPort, ca: fleet.cert, ...options })
      await once(socket, 'secureConnect')
      const { alpnProtocol } = socket
      socket.destroy()
      return alpnProtocol
    }
    expect(await handshake({ ALPNProtocols: ['h2', 'http/1.1'] })).toBe('h2')
    expect(await handshake({ ALPNProtocols: ['http/1.1'] })).toBe('http/1.1')
    const tls12 = (ciphers: string) => handshake({ ciphers, maxVersion: 'TLSv1.2' })
    for (const cipher of ['ECDHE-ECDSA-AES128-SHA', 'ECDHE-ECDSA-AES128-SHA256', 'AES128-SHA'])
      await expect(tls12(cipher), cipher).rejects.toThrow(/handshake failure/)
    await expect(tls12('ECDHE-ECDSA-AES128-GCM-SHA256')).resolves.toBeDefined()
  })

  // Addresses of which nothing was refused before: the log takes only so much of one.
  it.each([['127.0.0.3'], ['127.0.0.2']])('knows where a client comes from, whatever it claims: %s', async (from) => {
    const before = app.logged.length
    expect(await report({ from, headers: { 'x-forwarded-for': '192.0.2.66' } })).toBe(401)
    const refused = app.logged.slice(before).filter(({ method }) => method === 'mtls')
    expect(refused.map(({ address }) => address)).toEqual([from])
  })

  it('tells subscribers over WebSockets and event streams as it happens', async () => {
    const watched = 'subscription { changes { change { revision } } }'
    const address = `http://127.0.0.1:${nginx.port}/graphql?${new URLSearchParams({ query: watched })}`
    const leaving = new AbortController()
    const stream = await fetch(address, { headers: { accept: 'text/event-stream' }, signal: leaving.signal })
    const sockets = [`ws://127.0.0.1:${nginx.port}`, `wss://127.0.0.1:${nginx.tlsPort}`].map((url) => {
      const socket = new WebSocket(`${url}/graphql`, 'graphql-transport-ws', { ca: fleet.cert })
      const told = Promise.withResolvers<string>()
      const subscribed = Promise.withResolvers<void>()
      socket.on('open', () => socket.send('{"type":"connection_init"}')).on('error', told.reject)
      socket.on('message', (message) => {
        const { type } = JSON.parse(String(message))
        if (type === 'connection_ack') {
          socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: watched } }))
          socket.send('{"type":"ping"}')
        }
        if (type === 'pong') subscribed.resolve()
        if (type === 'next') told.resolve(String(message))
      })
      return { socket, subscribed: subscribed.promise, told: told.promise }
    })
    await Promise.all(sockets.map(({ subscribed }) => subscribed))
    // A subscription begins after its request: report until it delivers.
    let isTold = false
    const reporting = (async () => {
      for (let n = 0; !isTold; n += 1)
        await app.query(
          `mutation { declareDeployments(input: { deployments: [{ deviceId: "other", deploymentId: "p-${n}" }] }) { __typename } }`,
        )
    })()
    const byStream = (async () => {
      let text = ''
      for await (const chunk of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += chunk
        if (/"revision":"\d+"/.test(text)) return
      }
      throw new Error(`the stream ended: ${text}`)
    })()
    await Promise.all([byStream, ...sockets.map(({ told }) => told)]).finally(() => {
      isTold = true
    })
    await reporting
    leaving.abort()
    for (const { socket } of sockets) socket.terminate()
  })
})

describe.skipIf(!findNginx())('deploy/nginx.conf', () => {
  let certificates: Certificates
  let authority: Authority
  beforeAll(async () => {
    certificates = await createCertificates()
    authority = await certificates.authority('the fleet')
  })
  afterAll(() => certificates.remove())

  /** The address of an nginx before servers that answer so. */
  async function standBefore(answer: RequestListener, readTimeout?: string): Promise<string> {
    const { files } = await authority.issue('localhost', { names: 'IP:127.0.0.1' })
    const servers = createServer(answer).listen(0, '127.0.0.1')
    onTestFinished(() => {
      servers.close()
      servers.closeAllConnections()
    })
    await once(servers, 'listening')
    const { port } = servers.address() as AddressInfo
    const nginx = await startNginx({ port, ...files, clientCa: files.cert, ...(readTimeout && { readTimeout }) })
    onTestFinished(nginx.dispose)
    return `http://127.0.0.1:${nginx.port}`
  }

  it('passes on each 503 with its reason, also when all servers have just answered so', async () => {
    let asked = 0
    const url = await standBefore((_, response) => {
      asked += 1
      response.writeHead(503, { 'retry-after': '7' }).end('the database cannot be reached')
    })
    for (const attempt of [1, 2, 3]) {
      const answer = await fetch(`${url}/reports`, { method: 'POST', body: '{}' })
      expect([answer.status, answer.headers.get('retry-after'), await answer.text()]).toEqual([
        ...[503, '7', 'the database cannot be reached'],
      ])
      // Each attempt goes to both.
      expect(asked).toBe(2 * attempt)
    }
  })

  it('waits for an export whose rows are far apart, with the headers of other requests', async () => {
    const exports: { readonly response: ServerResponse; readonly headers: IncomingHttpHeaders }[] = []
    const url = await standBefore(({ url: path, headers }, response) => {
      if (path?.startsWith('/export/')) exports.push({ response, headers })
    }, '100ms')
    const exported = fetch(`${url}/export/changes`, { headers: { 'x-forwarded-for': '192.0.2.66' } })
    // Both servers have been silent for longer than a request may take.
    expect((await fetch(`${url}/graphql`)).status).toBe(504)
    expect(exports.map(({ headers }) => headers['x-forwarded-for'])).toEqual(['127.0.0.1'])
    exports[0]?.response.end('row')
    expect(await (await exported).text()).toBe('row')
  })
})
