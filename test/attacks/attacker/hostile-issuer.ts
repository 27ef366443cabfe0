/** An OpenID issuer that lies: what its token endpoint answers is written in the code that it is asked with. */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { exportJWK, SignJWT } from 'jose'

/** Groups that have roles here. `tenant` sees a part of the fleet. */
export const groups = ['admins', 'viewers', 'tenant'] as const

export const issuerAnswers = [
  ...['valid', 'valid', 'valid', 'valid', 'valid', 'no groups', 'many groups', 'odd subject', 'odd name'],
  ...['other nonce', 'other audience', 'expired', 'unsigned', 'other key', 'no ID token', 'error', 'odd lifetime'],
  ...['page', 'half', 'status 500', 'large', 'deep', 'redirect'],
] as const
export type IssuerAnswer = (typeof issuerAnswers)[number]

export const logoutTokens = [
  'valid',
  'old',
  'no subject',
  'with nonce',
  'no event',
  'odd subject',
  'other key',
] as const
export type LogoutToken = (typeof logoutTokens)[number]

/** What a code says. */
export interface Code {
  readonly answer: IssuerAnswer
  readonly nonce: string | null
  readonly subject: string
  readonly group: string
}

export interface HostileIssuer {
  readonly url: string
  /** Variables of a server that signs in with it. */
  readonly env: Readonly<Record<string, string>>
  logoutToken(kind: LogoutToken, subject: string): Promise<string>
  stop(): Promise<void>
}

export const codeOf = (code: Code): string => Buffer.from(JSON.stringify(code)).toString('base64url')

const event = 'http://schemas.openid.net/event/backchannel-logout'
const clientId = 'rollcall'
const oddTexts = ['\0', 'x'.repeat(5_000), '\ufeffann', '__proto__', '', "'; --", '\u202e']

/** `known`: its address for clients, if something stands between. */
export async function startHostileIssuer(known?: string): Promise<HostileIssuer> {
  const [key, other] = [
    generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ]
  const jwk = { ...(await exportJWK(key.publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }
  let asked = 0

  const now = (): number => Math.floor(Date.now() / 1_000)
  function sign(claims: Readonly<Record<string, unknown>>, typ: string, privateKey = key.privateKey): Promise<string> {
    return new SignJWT({ iss: url, aud: clientId, iat: now(), exp: now() + 600, ...claims })
      .setProtectedHeader({ alg: 'ES256', typ, kid: 'k' })
      .sign(privateKey)
  }

  async function idToken({ answer, nonce, subject, group }: Code): Promise<string> {
    asked += 1
    const odd = oddTexts[asked % oddTexts.length]
    const claims = {
      sub: answer === 'odd subject' ? odd : subject,
      preferred_username: answer === 'odd name' ? odd : subject,
      ...(nonce !== null && { nonce: answer === 'other nonce' ? 'another' : nonce }),
      ...(answer !== 'no groups' && {
        groups: answer === 'many groups' ? Array(10_000).fill('g').concat(group) : [group],
      }),
      ...(answer === 'other audience' && { aud: 'another' }),
      ...(answer === 'expired' && { exp: now() - 3_600 }),
    }
    if (answer !== 'unsigned') return sign(claims, 'JWT', answer === 'other key' ? other.privateKey : key.privateKey)
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    return `${part({ alg: 'none' })}.${part({ iss: url, aud: clientId, exp: now() + 600, ...claims })}.`
  }

  function send(response: ServerResponse, status: number, body: object | string): void {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    response
      .writeHead(status, { 'content-type': typeof body === 'string' ? 'text/html' : 'application/json' })
      .end(text)
  }

  async function answerToken(form: URLSearchParams, response: ServerResponse): Promise<void> {
    const text = form.get('code') ?? form.get('device_code') ?? form.get('refresh_token') ?? ''
    const code = readCode(text)
    if (code === null || code.answer === 'error') return send(response, 400, { error: 'invalid_grant' })
    const good = {
      ...{ access_token: 'a', token_type: 'Bearer', refresh_token: text, expires_in: 300 },
      id_token: await idToken(form.has('code') ? code : { ...code, nonce: null }),
    }
    switch (code.answer) {
      case 'no ID token':
        return send(response, 200, { ...good, id_token: undefined })
      case 'odd lifetime':
        return send(response, 200, { ...good, expires_in: [1e308, -1, 'x', null, 0.001][asked % 5] })
      case 'page':
        return send(response, 200, '<html>')
      case 'half':
        response
          .writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' })
          .write('{"access_token":')
        return void response.destroy()
      case 'status 500':
        return send(response, 500, { error: 'x'.repeat(5_000) })
      case 'large':
        return send(response, 200, { ...good, more: 'x'.repeat(3_000_000) })
      case 'deep':
        return send(response, 200, { ...good, more: JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) })
      case 'redirect':
        return void response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end()
      default:
        return send(response, 200, good)
    }
  }

  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', url)
    const form = new URLSearchParams((await buffer(request)).toString())
    if (pathname === '/.well-known/openid-configuration') return send(response, 200, metadata)
    if (pathname === '/keys') return send(response, 200, { keys: [jwk] })
    if (pathname === '/token') return answerToken(form, response)
    if (pathname !== '/device') return send(response, 404, '')
    asked += 1
    const answer = issuerAnswers[asked % issuerAnswers.length] ?? 'valid'
    const device_code = codeOf({ answer, nonce: null, subject: 'terminal', group: 'viewers' })
    send(response, 200, { device_code, user_code: 'U', verification_uri: `${url}/u`, expires_in: 60, interval: 1 })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = known ?? own
  const metadata = {
    issuer: url,
    ...{ authorization_endpoint: `${url}/authorize`, token_endpoint: `${url}/token`, jwks_uri: `${url}/keys` },
    ...{ device_authorization_endpoint: `${url}/device`, end_session_endpoint: `${url}/end` },
    ...{ response_types_supported: ['code'], subject_types_supported: ['public'] },
    id_token_signing_alg_values_supported: ['ES256'],
  }
  const roles = { admins: 'admin', viewers: 'viewer', tenant: { role: 'viewer', scopes: ['label:tenant=a'] } }
  return {
    url: own,
    env: {
      ...{ OIDC_ISSUER: url, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: 'a-secret-of-the-attack-only' },
      OIDC_ROLES: JSON.stringify(roles),
    },
    logoutToken(kind, subject) {
      asked += 1
      const claims = {
        ...{ jti: randomUUID(), sub: kind === 'odd subject' ? oddTexts[asked % oddTexts.length] : subject },
        events: kind === 'no event' ? {} : { [event]: {} },
        ...(kind === 'old' && { iat: now() - 3_600 }),
        ...(kind === 'no subject' && { sub: undefined }),
        ...(kind === 'with nonce' && { nonce: 'n' }),
      }
      return sign(claims, 'logout+jwt', kind === 'other key' ? other.privateKey : key.privateKey)
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function readCode(text: string): Code | null {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString()) as Code
  } catch {
    return null
  }
}
