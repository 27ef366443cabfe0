/** A plant with an identity service: a server that trusts it, and devices with X.509-SVIDs. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { type Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SecureVersion } from 'node:tls'
import { afterAll, beforeAll } from 'vitest'
import { defaultTimeouts } from '../../../src/api/rest/guard.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { type AppOptions, type RunningApp, startApp } from '../../support/servers/app.ts'
import { documentsOf, type IdentityService, startIdentityService } from '../../support/systems/identity-service.ts'
import { type Authority, type Certificate, type Certificates, createCertificates } from '../devices/certificates.ts'
import { bodyOf, statusOf } from '../devices/devices.ts'
import { bundleOf, signs, signsCertificates } from './svids.ts'

export interface Plant {
  /** Signs what servers show; it is no authority for devices. */
  readonly web: Authority
  readonly first: Authority
  readonly second: Authority
  readonly service: IdentityService
  publish(sequence: number, ...authorities: readonly Authority[]): void
  /** What a server has that shows an X.509-SVID of its own. */
  env(more?: Record<string, string>): Promise<Record<string, string>>
}

export const serverId = 'spiffe://factory.example/margo/wfm/plant'

/** Makes it anew for the tests of a file. */
export function usePlant(): Plant {
  let certificates: Certificates
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-plant-'))
  let servers = 0
  const plant = {} as { -readonly [Name in keyof Plant]: Plant[Name] }
  beforeAll(async () => {
    certificates = await createCertificates()
    for (const name of ['web', 'first', 'second'] as const)
      plant[name] = await certificates.authority(name, { usage: signsCertificates, days: 5 })
    const { service } = Object.assign(plant, {
      service: await startIdentityService(await plant.web.issue('mis', { names: 'IP:127.0.0.1' })),
    })
    plant.publish = (sequence, ...authorities) =>
      service.publish(documentsOf(service.url, bundleOf(sequence, ...authorities)))
    plant.env = async (more = {}) => {
      servers += 1
      const { files } = await plant.first.issue('', { names: `URI:${serverId},IP:127.0.0.1`, usage: signs, days: 4 })
      return {
        ...{ DEVICE_AUTH: 'mtls', DEVICE_PROVISION: 'true', TLS_CERT: files.cert, TLS_KEY: files.key },
        ...{ IDENTITY_SERVICE: service.url, IDENTITY_SERVICE_CA: plant.web.files.cert },
        IDENTITY_DIRECTORY: join(folder, String(servers)),
        ...more,
      }
    }
  })
  afterAll(async () => {
    await plant.service.stop()
    await certificates.remove()
    rmSync(folder, { recursive: true })
  })
  return plant
}

export const start = (env: Record<string, string>, more: Partial<AppOptions> = {}): Promise<RunningApp> =>
  startApp({ env, timeouts: { ...defaultTimeouts, tlsFiles: 60_000 }, ...more })

interface Answer {
  readonly status: number
  readonly socket: IncomingMessage['socket']
  // biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
  readonly body: any
}

interface Sent {
  readonly agent?: Agent | false
  /** PEM that is sent with the certificate. */
  readonly chain?: string
  readonly maxVersion?: SecureVersion
}

/** A report of the client, over TLS with its certificate. A client knows a server by its SPIFFE id, not by its authority for the web. */
export function report(app: RunningApp, client: string, { cert, key }: Certificate, sent: Sent = {}): Promise<Answer> {
  const { agent = false, chain = '', ...more } = sent
  return ask(app, statusOf(client), bodyOf(), { agent, cert: cert + chain, key, ...more })
}

export function ask(app: RunningApp, path: string, body: unknown, options: object = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const asked = request(`${app.url}${path}`, {
      method: 'POST',
      agent: false,
      rejectUnauthorized: false,
      headers,
      ...options,
    })
    asked.on('error', reject)
    asked.on('response', async (response) => {
      const { socket } = response
      const text = (await response.setEncoding('utf8').toArray()).join('')
      resolve({ status: response.statusCode ?? 0, socket, body: text === '' ? null : JSON.parse(text) })
    })
    asked.end(JSON.stringify(body))
  })
}

/** The same over TLS without a certificate, for the functions of devices.ts. */
export const asCaller = (app: RunningApp): RunningApp => ({
  ...app,
  async query(query, variables = {}) {
    const { body } = await ask(app, '/graphql', { query, variables })
    if (body.errors) throw new Error(body.errors[0].message)
    return body.data
  },
})

/** A file that a test may write again. */
export function fileOf(text: string): string {
  const path = join(temporaryFolder(), 'a-file')
  writeFileSync(path, text)
  return path
}
