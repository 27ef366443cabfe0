/** A Margo Identity Service: its discovery document and its bundle over https, as a test sets them, or what a test has it do instead. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Certificate } from '../../auth/devices/certificates.ts'

export interface IdentityService {
  readonly url: string
  /** Paths that were asked for. */
  readonly asked: readonly string[]
  /** What it answers at these paths. */
  publish(answers: Readonly<Record<string, unknown>>): void
  /** Null: it answers well again. */
  misbehave(how: ((request: IncomingMessage, response: ServerResponse) => void) | null): void
  stop(): Promise<void>
}

/** `certificate`: of 127.0.0.1. */
export async function startIdentityService({ cert, key }: Pick<Certificate, 'cert' | 'key'>): Promise<IdentityService> {
  let answers: Readonly<Record<string, unknown>> = {}
  let fault: ((request: IncomingMessage, response: ServerResponse) => void) | null = null
  const asked: string[] = []
  const server = createServer({ cert, key }, (request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    if (fault) return fault(request, response)
    const answer = answers[path]
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer ?? { title: 'Not Found' }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    publish(next) {
      answers = next
    },
    misbehave(how) {
      fault = how
    },
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

export const bundlePath = '/.well-known/spiffe/bundle.json'

/** The two documents of a trust domain. */
export const documentsOf = (url: string, bundle: unknown, trustDomain = 'factory.example') => ({
  '/.well-known/margo': { trustDomain, trustBundleUri: `${url}${bundlePath}`, anything: [1] },
  [bundlePath]: bundle,
})
