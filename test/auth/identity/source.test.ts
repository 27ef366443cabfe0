/** What is asked of an identity service, and which of its answers are taken. */
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readPublished } from '../../../src/api/auth/identity/bundle.ts'
import { fetchBundles } from '../../../src/api/auth/identity/source.ts'
import { AnswerError } from '../../../src/platform/outbound/request.ts'
import {
  bundlePath,
  documentsOf,
  type IdentityService,
  startIdentityService,
} from '../../support/systems/identity-service.ts'
import { type Authority, type Certificates, createCertificates } from '../devices/certificates.ts'
import { bundleOf, chainOf } from './svids.ts'

let certificates: Certificates
let web: Authority
let first: Authority
let second: Authority
let service: IdentityService
beforeAll(async () => {
  certificates = await createCertificates()
  web = await certificates.authority('web')
  first = await certificates.authority('first')
  second = await certificates.authority('second')
  service = await startIdentityService(await web.issue('mis', { names: 'IP:127.0.0.1' }))
})
afterAll(async () => {
  await service.stop()
  await certificates.remove()
})
beforeEach(() => service.misbehave(null))

const never = new AbortController().signal

interface Asked {
  readonly trustDomain?: string | null
  readonly path?: string
  readonly domains?: readonly string[]
  readonly ca?: string | null
  readonly signal?: AbortSignal
  readonly patience?: number
}

async function ask({ trustDomain = null, path = '', domains = ['factory.example'], ...more }: Asked = {}) {
  const options = { domains, ca: web.cert, signal: never, ...more }
  const { bundles, refresh } = await fetchBundles({ trustDomain, url: `${service.url}${path}` }, options)
  const names = [...bundles].map(([domain, { authorities, sequence }]) => [
    domain,
    authorities.map(({ subject }) => subject.replace('CN=', '')),
    sequence,
  ])
  return { names, refresh }
}

describe('an identity service', () => {
  it('names the bundle of its trust domain in a discovery document', async () => {
    service.publish(documentsOf(service.url, bundleOf(7, first, second)))
    expect(await ask()).toEqual({ names: [['factory.example', ['first', 'second'], 7]], refresh: 60 })
    expect(service.asked.slice(-2)).toEqual(['/.well-known/margo', bundlePath])
    service.publish({ ...documentsOf(service.url, bundleOf(null, first)) })
    expect(await ask()).toMatchObject({ names: [['factory.example', ['first'], null]] })
  })

  it('may be named by its bundle, or by a document at another path', async () => {
    const { '/.well-known/margo': document, [bundlePath]: bundle } = documentsOf(service.url, bundleOf(1, first))
    service.publish({ '/a/discovery?of=1': document, [bundlePath]: bundle })
    expect((await ask({ path: '/a/discovery?of=1' })).names).toHaveLength(1)
    expect((await ask({ path: bundlePath, trustDomain: 'factory.example' })).names).toHaveLength(1)
    expect((await ask({ path: bundlePath })).names).toHaveLength(1)
    await expect(ask({ path: bundlePath, domains: ['a', 'b'] })).rejects.toThrow('does not say for which')
  })

  it('may have a map of trust domains, of which those of this server are taken', async () => {
    const map = { trust_domains: { a: bundleOf(1, first), b: bundleOf(2, second), c: bundleOf(3, web) } }
    service.publish({ [bundlePath]: map })
    const expected = {
      names: [
        ['a', ['first'], 1],
        ['b', ['second'], 2],
      ],
      refresh: null,
    }
    expect(await ask({ path: bundlePath, domains: ['a', 'b'] })).toEqual(expected)
    expect((await ask({ path: bundlePath, trustDomain: 'c' })).names).toEqual([['c', ['web'], 3]])
    await expect(ask({ path: bundlePath, domains: ['a', 'd'] })).rejects.toThrow('without the trust domain d')
  })

  it('is not that of another trust domain', async () => {
    service.publish(documentsOf(service.url, bundleOf(1, first), 'elsewhere.example'))
    await expect(ask()).rejects.toThrow('for the trust domain elsewhere.example, and this server has no identity there')
    await expect(ask({ trustDomain: 'factory.example' })).rejects.toThrow('elsewhere.example')
  })

  it.each<[string, string, unknown]>([
    ['no https', 'no https URL', 'http://127.0.0.1/'],
    ['a file', 'no https URL', 'file:///etc/passwd'],
    ['a user', 'no https URL', 'https://a:b@127.0.0.1/'],
    ['no text', 'no https URL', 7],
  ])('may not name a bundle by %s', async (_, message, trustBundleUri) => {
    service.publish({ '/.well-known/margo': { trustDomain: 'factory.example', trustBundleUri } })
    await expect(ask()).rejects.toThrow(message)
  })

  it('is asked only if its own certificate is of the authority that is configured, and of its host', async () => {
    service.publish(documentsOf(service.url, bundleOf(1, first)))
    const before = service.asked.length
    await expect(ask({ ca: first.cert })).rejects.toThrow()
    await expect(ask({ ca: null })).rejects.toThrow()
    expect(service.asked.length).toBe(before)
    const elsewhere = await startIdentityService(await web.issue('mis', { names: 'DNS:mis.example' }))
    const options = { domains: ['factory.example'], ca: web.cert, signal: never }
    await expect(fetchBundles({ trustDomain: null, url: elsewhere.url }, options)).rejects.toThrow(
      "does not match certificate's altnames",
    )
    expect(elsewhere.asked).toEqual([])
    await elsewhere.stop()
  })

  it.each<[string, string, Parameters<IdentityService['misbehave']>[0]]>([
    ['redirects', 'status 302', (_, response) => response.writeHead(302, { location: '/' }).end()],
    ['has nothing', 'status 404', (_, response) => response.writeHead(404).end('{}')],
    ['fails', 'status 500', (_, response) => response.writeHead(500).end('x'.repeat(100_000))],
    ['answers 304 though nothing was sent', 'status 304', (_, response) => response.writeHead(304).end()],
    ['answers a page', 'not JSON', (_, response) => response.end('<html>')],
    ['answers nothing', 'not JSON', (_, response) => response.end()],
    ['is huge', 'more than 1048576 bytes', (_, response) => response.end(' '.repeat(2 ** 21))],
    ['has many values', 'more than 20000 values', (_, response) => response.end(`[${'0,'.repeat(30_000)}0]`)],
    ['nests deep', 'nested deeper', (_, response) => response.end('['.repeat(1_000) + ']'.repeat(1_000))],
    ['answers a list', 'neither', (_, response) => response.end('[]')],
    ['has a map of nothing', 'without trust domains', (_, response) => response.end('{"trust_domains":[]}')],
    ['breaks off', 'aborted', (_, response) => response.write('{', () => response.destroy())],
    ['does not begin', 'hang up', (_, response) => response.destroy()],
  ])('that %s is refused in words', async (_, message, fault) => {
    service.misbehave(fault)
    await expect(ask()).rejects.toThrow(message)
  })

  it('that is slow is left after some time', async () => {
    service.misbehave((_, response) => void response.write(' '))
    await expect(ask({ patience: 50 })).rejects.toThrow('aborted')
  })

  it('that never ends is left when the server ends', async () => {
    const ending = new AbortController()
    service.misbehave((_, response) => {
      response.write(' ', () => ending.abort())
    })
    await expect(ask({ signal: ending.signal })).rejects.toThrow()
  })
})

describe('a bundle', () => {
  const x5c = ({ cert }: { cert: string }) => chainOf({ cert } as Authority)[0]?.raw.toString('base64')
  const key = (more: object) => ({ kty: 'EC', use: 'x509-svid', ...more })
  const read = (keys: unknown) => {
    const found = readPublished({ keys })
    return found.kind === 'bundle' ? found.bundle : expect.unreachable()
  }

  it('has the first certificate of each key for X.509-SVIDs', () => {
    const { authorities, unusable } = read([
      key({ x5c: [x5c(first), x5c(second)] }),
      { kty: 'EC', use: 'jwt-svid', x5c: [x5c(second)] },
      { kty: 'EC', x5c: [x5c(second)] },
    ])
    expect([authorities.map(({ subject }) => subject), unusable]).toEqual([['CN=first'], 0])
  })

  it('is used without what cannot be an authority', async () => {
    const weak = await certificates.authority('weak', { keyKind: 'rsa 1024' })
    const leaf = await first.issue('leaf')
    const { authorities, unusable } = read([
      ...[key({ x5c: [x5c(leaf)] }), key({ x5c: [x5c(weak)] }), key({ x5c: ['AAAA'] }), key({ x5c: [] }), key({})],
      ...[key({ x5c: [7] }), key({ x5c: 'AAAA' }), key({ x5c: [first.cert] }), key({ x5c: [x5c(second)] })],
    ])
    expect([authorities.map(({ subject }) => subject), unusable]).toEqual([['CN=second'], 8])
  })

  it.each<[string, unknown]>([
    ['no keys', []],
    ['no keys for X.509-SVIDs', [{ use: 'jwt-svid' }]],
    ['no keys that can be used', [key({ x5c: ['AAAA'] })]],
    ['too many', Array.from({ length: 65 }, () => key({}))],
    ['something else', {}],
  ])('is refused with %s', (_, keys) => {
    expect(() => read(keys)).toThrow(AnswerError)
  })

  it('may be anything', () => {
    const names = fc.constantFrom('keys', 'use', 'x5c', 'trust_domains', 'trustDomain', 'trustBundleUri', '__proto__')
    const leaf = fc.oneof(fc.constantFrom('x509-svid', 'https://x', x5c(first), ''), fc.jsonValue())
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ maxDepth: 5 }, leaf, fc.array(tie('tree')), fc.dictionary(names, tie('tree'))),
    }))
    fc.assert(
      fc.property(tree, (answer) => {
        try {
          readPublished(answer)
        } catch (error) {
          expect(error).toBeInstanceOf(AnswerError)
        }
      }),
    )
  })
})
