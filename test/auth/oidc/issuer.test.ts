/** The issuer's own mistakes: answers that are slow, endless or contradictory, and an issuer of many tenants. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { OidcConfig } from '../../../src/api/auth/oidc/config.ts'
import { createIssuer, type Issuer } from '../../../src/api/auth/oidc/issuer.ts'
import { createLog } from '../../../src/platform/log/log.ts'

const config: OidcConfig = {
  ...{
    issuer: '',
    tenants: null,
    name: 'issuer',
    clientId: 'rollcall',
    clientSecret: 'a-client-secret-for-tests-only',
  },
  ...{ scopes: 'openid', groupsClaim: 'groups', roles: [], resource: null },
}

function createLines() {
  const lines: { readonly msg: string; readonly error?: { readonly message: string } }[] = []
  return {
    lines,
    log: createLog({ level: 'info', to: { write: (line: string) => void lines.push(JSON.parse(line)) } }),
  }
}

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('an issuer', () => {
  it.each<[string, RequestListener]>([
    [
      'answers without end',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        const chunk = Buffer.alloc(1 << 16, ' ')
        const more = (): void => {
          while (!response.destroyed && response.write(chunk));
        }
        response.on('drain', more)
        more()
      },
    ],
    ['answers with a page', (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
    ['answers with null', (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('null')],
    ['fails', (_, response) => response.writeHead(500).end()],
    ['redirects', (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['breaks off', (_, response) => response.destroy()],
    [
      'names another issuer',
      (_, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"issuer":"https://evil.example"}'),
    ],
  ])('that %s in its discovery makes sign-in unavailable, with one line in the log', async (_, answer) => {
    const url = await serve(answer)
    let now = 1_000_000
    const { lines, log } = createLines()
    const issuer = createIssuer({ ...config, issuer: url }, () => now, log)
    for (let tries = 0; tries < 3; tries += 1) {
      await expect(issuer.begin(`${url}/callback`)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      now += 2_000
    }
    expect(lines.map(({ msg }) => msg)).toEqual(['the issuer of OIDC cannot be used: trying again'])
  })
})

describe('an issuer that answers what cannot be shown', () => {
  const long = `https://issuer.example/${'x'.repeat(10_000)}`
  const good = { device_code: 'd', user_code: 'ABCD', verification_uri: 'https://issuer.example/u', expires_in: 60 }
  const start = async (metadata: object, codes: object) => {
    const url = await serve((request, response) => {
      const isDiscovery = request.url?.includes('.well-known')
      const found = { issuer: url, jwks_uri: `${url}/keys`, token_endpoint: `${url}/token`, ...metadata }
      const answer = isDiscovery ? { ...found, device_authorization_endpoint: `${url}/device` } : codes
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
    return createIssuer({ ...config, issuer: url }, Date.now, createLines().log)
  }

  it.each([['authorization_endpoint'], ['end_session_endpoint'], ['jwks_uri']])('as %s is not used', async (name) => {
    for (const value of [long, 'javascript:alert(1)'])
      await expect((await start({ [name]: value }, good)).beginDevice()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  it.each([
    ['a long code', { user_code: 'x'.repeat(1_000) }],
    ['a code with an escape sequence', { user_code: 'AB\u001b[2J' }],
    ['a long device code', { device_code: 'x'.repeat(100_000) }],
    ['a long address', { verification_uri: long }],
    ['no address', { verification_uri: '\u001b[2J' }],
    ['no second address', { verification_uri_complete: 'file:///etc/passwd' }],
  ])('as %s begins no sign-in of a terminal', async (_, codes) => {
    await expect((await start({}, { ...good, ...codes })).beginDevice()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })

  it('has a terminal ask neither in a rush nor next year', async () => {
    const begin = async (codes: object) => (await start({}, { ...good, ...codes })).beginDevice()
    expect(await begin({ interval: 0.001, expires_in: 1e300 })).toMatchObject({ interval: 1, expiresIn: 3_600 })
    expect(await begin({ interval: 1e300 })).toMatchObject({ interval: 60 })
  })
})

it('is not waited for longer than 5 seconds when the issuer begins an answer and does not end it', async () => {
  const url = await serve(
    (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{'),
  )
  const issuer = createIssuer({ ...config, issuer: url }, Date.now, createLines().log)
  await expect(issuer.begin(`${url}/callback`)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
})

describe('an issuer of many tenants', () => {
  const [ours, others] = ['9188040d-6c67-4c5b-b112-36a304b66dad', '11111111-2222-3333-4444-555555555555']
  const origin = 'https://login.microsoftonline.com'
  const template = `${origin}/{tenantid}/v2.0`

  /** The real one is on the internet: these are its answers. */
  async function start(tenants: readonly string[] | null, issuerName = template, path = 'organizations') {
    const { privateKey, publicKey } = await generateKeyPair('RS256')
    let idToken = ''
    const json = (body: object): Response => Response.json(body)
    const send = async (address: string | URL): Promise<Response> => {
      const { pathname } = new URL(address)
      if (pathname === `/${path}/v2.0/.well-known/openid-configuration`)
        return json({
          issuer: issuerName,
          authorization_endpoint: `${origin}/organizations/oauth2/v2.0/authorize`,
          token_endpoint: `${origin}/organizations/oauth2/v2.0/token`,
          token_endpoint_auth_methods_supported: ['client_secret_post'],
          jwks_uri: `${origin}/keys`,
          id_token_signing_alg_values_supported: ['RS256'],
        })
      if (pathname === '/keys') return json({ keys: [{ ...(await exportJWK(publicKey)), alg: 'RS256', use: 'sig' }] })
      return json({ access_token: 'a', token_type: 'Bearer', expires_in: 600, id_token: idToken })
    }
    const options = { ...config, issuer: `${origin}/${path}/v2.0`, tenants }
    const { lines, log } = createLines()
    const issuer: Issuer = createIssuer(options, Date.now, log, send)
    const signIn = async (claims: object) => {
      const { nonce, state, verifier } = await issuer.begin('https://rollcall.example/session/oidc/callback')
      idToken = await new SignJWT({ sub: 'ada', groups: ['operators'], nonce, ...claims })
        .setProtectedHeader({ alg: 'RS256' })
        .setAudience('rollcall')
        .setIssuedAt()
        .setExpirationTime('5 minutes')
        .sign(privateKey)
      const callback = new URL(`https://rollcall.example/session/oidc/callback?code=c&state=${state}`)
      return issuer.redeem(callback, { nonce, state, verifier })
    }
    return { signIn, lines }
  }
  const issOf = (tenant: string): string => template.replace('{tenantid}', tenant)

  it('signs in persons of the tenants of the configuration, and of no other', async () => {
    const { signIn } = await start([ours])
    expect((await signIn({ iss: issOf(ours), tid: ours })).claims).toMatchObject({ sub: 'ada', tid: ours })
    for (const claims of [
      { iss: issOf(others), tid: others },
      { iss: issOf(ours), tid: others },
      { iss: issOf(others), tid: ours },
      { iss: issOf(ours) },
      { iss: template, tid: '{tenantid}' },
      { iss: issOf('undefined') },
      { iss: 'https://evil.example', tid: ours },
    ])
      await expect(signIn(claims), JSON.stringify(claims)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('signs in personal accounts, whose issuer names their one tenant', async () => {
    const { signIn } = await start(null, issOf(ours), 'consumers')
    expect((await signIn({ iss: issOf(ours), tid: ours })).claims).toMatchObject({ sub: 'ada', tid: ours })
    for (const iss of [issOf(others), issOf('consumers'), template])
      await expect(signIn({ iss, tid: others }), iss).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it.each([
    ['without tenants', null, template, 'the issuer has many tenants: set OIDC_TENANTS'],
    ['with tenants, that has one', [ours], issOf(ours), 'the issuer has one tenant: remove OIDC_TENANTS'],
  ])('%s is not used, and the log says why', async (_, tenants, name, why) => {
    const { signIn, lines } = await start(tenants, name)
    await expect(signIn({ iss: issOf(ours), tid: ours })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(lines.map(({ error }) => error?.message)).toEqual([why])
  })
})
