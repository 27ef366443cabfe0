/** PostgreSQL over TLS: the certificate has the name of the host, also if the host is written with a dot at its end. */
import dns from 'node:dns'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket, connect as tcp } from 'node:net'
import { getCACertificates, setDefaultCACertificates, TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { openPostgres } from '../../../src/store/connection/postgres.ts'
import { type Certificate, type Certificates, createCertificates } from '../../auth/devices/certificates.ts'
import { findPostgres } from '../../support/databases/postgres-server.ts'
import { postgresUrl } from '../../support/databases/stores.ts'

const name = 'db.ns.svc.cluster.local'
/** Bytes of the request of a client for TLS. */
const tlsRequest = 8

/** Ends TLS in front of the tests' PostgreSQL, as a proxy does. Returns its port. */
async function startTls({ cert, key }: Certificate): Promise<number> {
  const { hostname, port } = new URL(postgresUrl())
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.on('error', () => undefined)
  }
  const server = createServer((socket) => {
    keep(socket).once('data', (request) => {
      if (request.length !== tlsRequest) return socket.destroy()
      socket.write('S')
      const secure = keep(new TLSSocket(socket, { isServer: true, cert, key }))
      secure.pipe(keep(tcp(Number(port), hostname))).pipe(secure)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(async () => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  })
  return (server.address() as AddressInfo).port
}

describe.skipIf(!findPostgres())('a database over TLS', () => {
  let certificates: Certificates
  let issue: (names: string) => Promise<Certificate>
  beforeAll(async () => {
    certificates = await createCertificates()
    const authority = await certificates.authority('database')
    issue = (names) => authority.issue('server of the database', { names })
    const before = getCACertificates('default')
    setDefaultCACertificates([...before, authority.cert])
    // Only a DNS server of a cluster knows the name.
    const lookup = vi
      .spyOn(dns, 'lookup')
      .mockImplementation(((_: string, __: object, done: (...answer: unknown[]) => void) =>
        done(null, [{ address: '127.0.0.1', family: 4 }])) as never)
    return () => {
      lookup.mockRestore()
      setDefaultCACertificates(before)
    }
  })
  afterAll(() => certificates.remove())

  async function ask(host: string, names: string): Promise<unknown> {
    const url = new URL(postgresUrl())
    url.host = `${host}:${await startTls(await issue(names))}`
    url.searchParams.set('sslmode', 'verify-full')
    const database = openPostgres({ url: url.href })
    return database.session.run('select 1 as one').finally(() => database.close())
  }

  it.each([name, `${name}.`])('is used if its certificate has the name: %s', async (host) => {
    expect(await ask(host, `DNS:${name}`)).toEqual([{ one: 1 }])
  })

  it.each([name, `${name}.`])('is not used if its certificate has another name: %s', async (host) => {
    await expect(ask(host, 'DNS:other.ns.svc.cluster.local')).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    })
  })
})
