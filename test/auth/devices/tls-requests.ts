/** A fleet's certificate authority, and requests over TLS with its certificates. */
import type { IncomingMessage } from 'node:http'
import { type Agent, request } from 'node:https'
import { afterAll, beforeAll } from 'vitest'
import type { RunningApp } from '../../support/servers/app.ts'
import { type Authority, type Certificate, type Certificates, createCertificates } from './certificates.ts'

export const idOf = (client: string, domain = 'fleet.example') => `spiffe://${domain}/margo/wfm/north/client/${client}`
export const named = (client: string, domain?: string) => ({ names: `URI:${idOf(client, domain)}` })

export let fleet: Authority
export let strangers: Authority
export let server: Certificate

/** Makes them anew for the tests of a file. */
export function useCertificates(): void {
  let certificates: Certificates
  beforeAll(async () => {
    certificates = await createCertificates()
    fleet = await certificates.authority('the fleet')
    strangers = await certificates.authority('strangers')
    server = await fleet.issue('localhost', { names: 'DNS:localhost,IP:127.0.0.1' })
  })
  afterAll(() => certificates.remove())
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  // biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
  readonly body: any
}

/** One request over TLS, with a certificate or without. */
export function send(
  app: RunningApp,
  path: string,
  body: unknown,
  client: Certificate | null,
  headers: Record<string, string> = {},
  agent: Agent | false = false,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const identity = client ? { cert: client.cert, key: client.key } : {}
    const options = { method: 'POST', agent, ca: fleet.cert, ...identity }
    const sent = request(`${app.url}${path}`, {
      ...options,
      headers: { 'content-type': 'application/json', ...headers },
    })
    sent.on('error', reject)
    sent.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text && JSON.parse(text) })
      })
    })
    sent.end(JSON.stringify(body))
  })
}

export const overTls = (app: RunningApp): RunningApp => ({
  ...app,
  async query(document, variables = {}) {
    const { body } = await send(app, '/graphql', { query: document, variables }, null)
    if (body.errors) throw new Error(body.errors[0].message)
    return body.data
  },
})
