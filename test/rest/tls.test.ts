/** The server's own TLS: files that cannot be used, certificates whose time is over or that are replaced, and what it speaks. */
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defaultTimeouts } from '../../src/api/rest/guard.ts'
import { readTls } from '../../src/api/rest/tls/tls-files.ts'
import {
  type Authority,
  type Certificate,
  type Certificates,
  createCertificates,
} from '../auth/devices/certificates.ts'
import { bodyOf, statusOf } from '../auth/devices/devices.ts'
import { temporaryFolder } from '../support/folder.ts'
import { isWhole } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Program, startProgram } from '../support/servers/program.ts'

let certificates: Certificates
let fleet: Authority
let others: Authority
let first: Certificate
let second: Certificate
const names = { names: 'DNS:localhost,IP:127.0.0.1' }
beforeAll(async () => {
  certificates = await createCertificates()
  fleet = await certificates.authority('the fleet')
  others = await certificates.authority('others')
  first = await fleet.issue('localhost', names)
  second = await fleet.issue('localhost', names)
})
afterAll(() => certificates.remove())

/** Files of a server's own, to be replaced. */
function filesOf({ cert, key }: Certificate, clientCa = fleet.cert) {
  const folder = temporaryFolder()
  const [TLS_CERT, TLS_KEY, TLS_CLIENT_CA] = ['cert', 'key', 'ca'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  writeFileSync(TLS_CERT, cert)
  writeFileSync(TLS_KEY, key)
  writeFileSync(TLS_CLIENT_CA, clientCa)
  return { TLS_CERT, TLS_KEY, TLS_CLIENT_CA }
}

async function handshake(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, ca: fleet.cert, ...options })
  await once(socket, 'secureConnect')
  socket.destroy()
  return socket
}

async function shownBy(port: number): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, ca: fleet.cert })
  await once(socket, 'secureConnect')
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

const fingerprintOf = ({ cert }: Certificate): string => new X509Certificate(cert).fingerprint256

async function get(app: RunningApp, path: string): Promise<string> {
  const sent = request(`${app.url}${path}`, { ca: fleet.cert, agent: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return (await response.setEncoding('utf8').toArray()).join('')
}

describe('a file with several certificates', () => {
  const problemsOf = (files: ReturnType<typeof filesOf>) =>
    readTls({ cert: files.TLS_CERT, key: files.TLS_KEY, clientCa: files.TLS_CLIENT_CA }).then(
      () => [],
      (error: { problems: readonly string[] }) => error.problems,
    )
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'

  it.each([
    ['whole', () => fleet.cert + others.cert, []],
    ['with text between', () => `the fleet\n${fleet.cert}\nthe others:\n${others.cert}`, []],
    ['of which one is broken', () => fleet.cert + broken + others.cert, ['2 of 3']],
    ['of which two are', () => broken + fleet.cert + broken, ['1 of 3', '3 of 3']],
    ['of which the last is cut off', () => fleet.cert + others.cert.slice(0, 200), ['2 of 2']],
    ['of which one has lost its end', () => fleet.cert.replace(/-----END.*\n/, '') + others.cert, ['1 of 2']],
    ['of which one has lost its begin', () => fleet.cert + others.cert.replace(/-----BEGIN.*\n/, ''), ['2 of 2']],
  ])('is accepted if every certificate can be read: %s', async (_, pem, positions) => {
    const said = (name: string) =>
      positions.map((at) => `${name}: certificate ${at} cannot be read: it must be X.509 in PEM, whole`)
    expect(await problemsOf(filesOf(first, pem()))).toEqual(said('TLS_CLIENT_CA'))
    const chain = filesOf({ ...first, cert: first.cert + pem() })
    const after = (text: string) => text.replaceAll(/\d/g, (digit) => String(Number(digit) + 1))
    expect(await problemsOf(chain)).toEqual(
      positions.map((at) => `TLS_CERT: certificate ${after(at)} cannot be read: it must be X.509 in PEM, whole`),
    )
  })
})

describe('an expired certificate', () => {
  it('is logged as a warning with its date, and counted in a metric', async () => {
    const now = Date.now() + 3 * 24 * 60 * 60 * 1000
    const app = await startApp({ env: filesOf(first), clock: () => now })
    const date = new X509Certificate(first.cert).validToDate.toISOString()
    const warnings = app.logged.filter(({ level }) => level === 'warn').map(({ msg }) => msg)
    expect(warnings).toEqual([
      `TLS_CERT: the certificate of CN=localhost expired on ${date}: clients that verify it refuse it. Replace it`,
      expect.stringMatching(/^TLS_CLIENT_CA: the certificate of CN=the fleet expired on /),
    ])
    expect(await get(app, '/metrics')).toMatch(/^rollcall_tls_days_left\{file="TLS_CERT"\} -2(\.\d+)?$/m)
    await app.stop()
  })

  it('has its remaining days in a metric before it expires', async () => {
    const app = await startApp({ env: filesOf(first) })
    expect(app.logged.filter(({ level }) => level === 'warn')).toEqual([])
    const metrics = await get(app, '/metrics')
    for (const file of ['TLS_CERT', 'TLS_CLIENT_CA'])
      expect(metrics).toMatch(new RegExp(`^rollcall_tls_days_left\\{file="${file}"\\} (1|0\\.99)$`, 'm'))
    await app.stop()
  })

  it('is logged as a warning if it is not valid yet', async () => {
    const app = await startApp({ env: filesOf(first), clock: () => Date.now() - 24 * 60 * 60 * 1000 })
    expect(app.logged.map(({ msg }) => msg)).toContainEqual(expect.stringMatching(/^TLS_CERT: .* is not valid before /))
    await app.stop()
  })
})

describe('the protocol', () => {
  it('is TLS 1.2 and 1.3, with authenticated encryption and forward secrecy only', async () => {
    const app = await startApp({ env: filesOf(first) })
    const tls12 = (ciphers: string) => handshake(app.port, { ciphers, maxVersion: 'TLSv1.2' })
    for (const cipher of [
      'ECDHE-ECDSA-AES128-SHA',
      'ECDHE-ECDSA-AES256-SHA',
      'ECDHE-ECDSA-AES128-SHA256',
      'AES128-SHA',
    ])
      await expect(tls12(cipher), cipher).rejects.toThrow(/handshake failure/)
    await expect(handshake(app.port, { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' })).rejects.toThrow()
    for (const cipher of ['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-CHACHA20-POLY1305'])
      await expect(tls12(cipher), cipher).resolves.toBeDefined()
    await expect(handshake(app.port, { minVersion: 'TLSv1.3' })).resolves.toBeDefined()
    await app.stop()
  })
})

describe('files that are replaced', () => {
  const timeouts = { ...defaultTimeouts, tlsFiles: 200 }

  it('are used without a restart, once they are complete', async () => {
    const files = filesOf({ ...first, cert: first.cert + fleet.cert })
    const app = await startApp({ env: files, timeouts })
    expect(await shownBy(app.port)).toBe(fingerprintOf(first))
    // The key does not fit yet.
    writeFileSync(files.TLS_CERT, second.cert)
    await app.app.reload()
    expect(await shownBy(app.port)).toBe(fingerprintOf(first))
    expect(app.logged.at(-1)).toMatchObject({
      msg: 'the files of TLS cannot be used: the previous files stay in use',
      problems: [expect.stringContaining('TLS_CERT and TLS_KEY must be')],
    })
    copyFileSync(second.files.key, files.TLS_KEY)
    await expect.poll(() => shownBy(app.port)).toBe(fingerprintOf(second))
    expect(app.logged.at(-1)).toMatchObject({ msg: 'the certificates of TLS were replaced' })
    await app.stop()
  })

  it('are logged as a warning once while they are unusable, and again after they were usable', async () => {
    const files = filesOf(first)
    const app = await startApp({ env: files, timeouts })
    const warnings = () => app.logged.filter(({ level }) => level === 'warn').length
    for (const count of [1, 2]) {
      writeFileSync(files.TLS_CLIENT_CA, 'none')
      await expect.poll(warnings).toBe(count)
      writeFileSync(files.TLS_CLIENT_CA, fleet.cert)
      await app.app.reload()
    }
    expect(warnings()).toBe(2)
    await app.stop()
  })

  it('end connections with certificates of an authority that was removed', async () => {
    const files = filesOf(first)
    const env = { ...files, DEVICE_AUTH: 'mtls', DEVICE_PROVISION: 'true', SPIFFE_TRUST_DOMAIN: 'fleet.example' }
    const app = await startApp({ env })
    const id = (name: string) => ({ names: `URI:spiffe://fleet.example/margo/wfm/north/client/${name}` })
    const [old, fresh] = [await fleet.issue('press', id('press')), await others.issue('drill', id('drill'))]
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const report = async (name: string, { cert, key }: Certificate, own: Agent | false = false) => {
      const headers = { 'content-type': 'application/json' }
      const options = { method: 'POST', ca: fleet.cert, cert, key, headers, agent: own }
      const sent = request(`${app.url}${statusOf(name)}`, options)
      sent.end(JSON.stringify(bodyOf('pump')))
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      const { socket } = response
      response.resume()
      await once(response, 'end')
      return { status: response.statusCode, socket }
    }
    expect((await report('drill', fresh)).status).toBe(401)
    const before = await report('press', old, agent)
    expect([before.status, before.socket.destroyed]).toEqual([201, false])
    const cut = once(before.socket, 'close')
    writeFileSync(files.TLS_CLIENT_CA, others.cert)
    await app.app.reload()
    await cut
    expect((await report('press', old, agent)).status).toBe(401)
    expect((await report('drill', fresh)).status).toBe(201)
    agent.destroy()
    await app.stop()
  })

  it.runIf(isWhole)(
    'end connections that began before an authority was removed, and complete their handshake after it',
    async () => {
      const files = filesOf(first)
      const app = await startApp({ env: { ...files, DEVICE_AUTH: 'mtls' } })
      const accepted = connectPlain({ host: '127.0.0.1', port: app.port })
      await once(accepted, 'connect')
      const ended = new Promise((resolve) => accepted.on('error', () => {}).on('close', () => resolve('ended')))
      // The server accepts connections in their order, so it has accepted this one, too.
      await handshake(app.port)
      writeFileSync(files.TLS_CLIENT_CA, others.cert)
      await app.app.reload()
      const { cert, key } = await fleet.issue('press')
      const socket = connect({ socket: accepted, ca: fleet.cert, cert, key, servername: 'localhost' })
      const open = new Promise((resolve) => socket.on('error', () => {}).on('secureConnect', () => resolve('open')))
      const outcome = await Promise.race([ended, open])
      socket.destroy()
      expect(outcome).toBe('ended')
      await app.stop()
    },
  )
})

describe('SIGHUP', () => {
  async function started(env: Record<string, string>): Promise<Program> {
    const program = startProgram({ DATA_DIR: 'memory', ...env })
    await program.listening
    return program
  }

  it('replaces the certificates of the program', async () => {
    const files = filesOf(first)
    const program = await started(files)
    const port = Number(new URL(await program.listening).port)
    copyFileSync(second.files.cert, files.TLS_CERT)
    copyFileSync(second.files.key, files.TLS_KEY)
    program.child.kill('SIGHUP')
    await expect.poll(program.stderr).toContain('the certificates of TLS were replaced')
    expect(await shownBy(port)).toBe(fingerprintOf(second))
    await program.dispose()
  })

  it.runIf(isWhole)('does not end a program without certificates', async () => {
    const program = await started({})
    program.child.kill('SIGHUP')
    await expect.poll(program.stderr).toContain('nothing to read again')
    expect((await fetch(`${await program.listening}/healthz`)).status).toBe(200)
    await program.dispose()
  })
})
