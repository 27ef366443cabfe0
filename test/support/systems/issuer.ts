/** A real OpenID provider on loopback, which can be killed, restarted and given other keys; and a person's browser without a screen. */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeJwt, exportJWK, importJWK, type JWK, SignJWT } from 'jose'
import Provider, { type Configuration } from 'oidc-provider'

export interface Issuer {
  readonly url: string
  readonly clientId: string
  /** Variables of a server that signs in with it. */
  readonly env: Readonly<Record<string, string>>
  /** The groups of each person. Anyone may sign in. */
  readonly groups: Map<string, readonly string[]>
  /** What a request to the token endpoint is answered with instead, if anything. */
  answerToken: ((body: Record<string, unknown>) => Promise<Record<string, unknown>>) | null
  /** What a revocation waits for, if anything. */
  revoke: (() => Promise<void>) | null
  /** Undefined: there is none, or it was revoked. */
  findRefreshToken(token: string): Promise<unknown>
  /** Begins to serve clients at these addresses of Rollcall. */
  serve(...rollcalls: readonly string[]): void
  /** A token that is signed with its present key. */
  sign(claims: Readonly<Record<string, unknown>>, typ?: string): Promise<string>
  rotateKeys(): void
  stop(): Promise<void>
  restart(): Promise<void>
}

export interface IssuerOptions {
  /** Seconds of an access token, 600 by default: Rollcall refreshes after 400. */
  readonly tokenSeconds?: number
  readonly clientSecret?: string | null
  readonly groups?: Readonly<Record<string, readonly string[]>>
  readonly configuration?: Configuration
}

type Key = JWK & { readonly kid: string }

async function newKey(): Promise<Key> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...(await exportJWK(privateKey)), kid: randomUUID(), alg: 'ES256', use: 'sig' } as Key
}

export async function startIssuer(options: IssuerOptions = {}): Promise<Issuer> {
  const { tokenSeconds = 600, clientSecret = 'a-client-secret-for-tests-only' } = options
  const [secretMethod = 'client_secret_basic'] = options.configuration?.clientAuthMethods ?? []
  const clientId = `rollcall-${randomUUID()}`
  const groups = new Map(Object.entries(options.groups ?? {}))
  const keys = [await newKey(), await newKey()]
  let port = 0
  let rollcalls: readonly string[] = []
  let handle: ((request: IncomingMessage, response: ServerResponse) => unknown) | null = null
  let server: Server
  let isRotated = false
  let find: (token: string) => Promise<unknown> = async () => undefined

  function listen(): Promise<void> {
    server = createServer((request, response) => {
      if (handle) return void handle(request, response)
      response.writeHead(503).end()
    })
    return new Promise((resolve) =>
      server.listen(port, '127.0.0.1', () => {
        port = (server.address() as AddressInfo).port
        resolve()
      }),
    )
  }
  await listen()
  const url = `http://127.0.0.1:${port}`

  function compose(): void {
    const provider = new Provider(url, {
      clients: [
        {
          client_id: clientId,
          ...(clientSecret === null
            ? { token_endpoint_auth_method: 'none' as const }
            : { client_secret: clientSecret, token_endpoint_auth_method: secretMethod }),
          grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
          response_types: ['code'],
          id_token_signed_response_alg: 'ES256',
          redirect_uris: rollcalls.map((rollcall) => `${rollcall}/session/oidc/callback`),
          post_logout_redirect_uris: rollcalls.map((rollcall) => `${rollcall}/`),
          ...(rollcalls[0] ? { backchannel_logout_uri: `${rollcalls[0]}/session/oidc/backchannel` } : {}),
          backchannel_logout_session_required: true,
        },
      ],
      jwks: { keys: [...keys] },
      cookies: { keys: ['a-key-of-cookies'] },
      claims: { openid: ['sub'], profile: ['preferred_username', 'groups'], email: ['email'] },
      findAccount: (_, sub) => ({
        accountId: sub,
        claims: () => ({ sub, preferred_username: `${sub}.name`, groups: [...(groups.get(sub) ?? [])] }),
      }),
      features: { backchannelLogout: { enabled: true }, deviceFlow: { enabled: true }, revocation: { enabled: true } },
      ttl: { AccessToken: tokenSeconds, IdToken: 86_400, RefreshToken: 86_400 },
      issueRefreshToken: async () => true,
      // Its own agent refuses loopback addresses, where the tests are.
      fetch: (address, init: RequestInit & { dispatcher?: unknown } = {}) => {
        const { dispatcher: _, ...rest } = init
        return fetch(address, rest)
      },
      // No page asks for consent.
      loadExistingGrant: async (ctx) => {
        const grant = new ctx.oidc.provider.Grant({
          clientId: ctx.oidc.client?.clientId ?? '',
          accountId: ctx.oidc.session?.accountId ?? '',
        })
        grant.addOIDCScope('openid profile email offline_access')
        await grant.save()
        return grant
      },
      ...options.configuration,
    })
    find = (token) => provider.RefreshToken.find(token)
    provider.use(async (ctx, next) => {
      if (ctx.path === '/token/revocation') await issuer.revoke?.()
      await next()
      if (ctx.path === '/jwks') ctx.body = { keys: keys.slice(0, 1).map(({ d: _, ...shown }) => shown) }
      if (ctx.path === '/token' && ctx.status === 200 && isRotated) ctx.body = await signedAgain(ctx.body)
      if (ctx.path === '/token' && ctx.status === 200 && issuer.answerToken)
        ctx.body = await issuer.answerToken(ctx.body as Record<string, unknown>)
    })
    handle = provider.callback()
  }

  /** The provider cannot change its keys while it runs, and forgets what it gave when it starts again. */
  async function signedAgain(body: Record<string, unknown>): Promise<Record<string, unknown>> {
    return { ...body, id_token: await issuer.sign(decodeJwt(String(body.id_token)), 'JWT') }
  }

  async function stop(): Promise<void> {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }

  const issuer: Issuer = {
    url,
    clientId,
    groups,
    answerToken: null,
    revoke: null,
    findRefreshToken: (token) => find(token),
    env: {
      OIDC_ISSUER: url,
      OIDC_CLIENT_ID: clientId,
      ...(clientSecret === null ? {} : { OIDC_CLIENT_SECRET: clientSecret }),
      OIDC_ROLES: JSON.stringify({
        admins: 'admin',
        operators: 'operator',
        viewers: 'viewer',
        alpha: { role: 'viewer', scopes: ['project:alpha'] },
      }),
    },
    serve(...addresses) {
      rollcalls = addresses
      compose()
    },
    async sign(claims, typ = 'logout+jwt') {
      const [key] = keys
      const signer = new SignJWT({ ...claims }).setProtectedHeader({ alg: 'ES256', typ, kid: key?.kid ?? '' })
      return signer.sign(await importJWK(key ?? {}, 'ES256'))
    },
    rotateKeys() {
      keys.reverse()
      isRotated = true
    },
    stop,
    restart: listen,
  }
  return issuer
}

interface Cookie {
  readonly host: string
  readonly path: string
  readonly value: string
}

export interface Person {
  readonly subject: string
  /** Goes where links and redirects lead, signs in at the issuer, and returns the first answer that asks for nothing. */
  open(url: string): Promise<Response>
  /** One request, without following it. */
  send(url: string, init?: RequestInit): Promise<Response>
  /** The value of a cookie. */
  cookie(name: string): string | null
  setCookie(name: string, value: string): void
}

/** A browser that follows redirects and sends forms. `subject`: who signs in. */
export function createPerson(subject: string): Person {
  const jar = new Map<string, Cookie>()

  async function send(url: string, init: RequestInit = {}): Promise<Response> {
    const { host, pathname } = new URL(url)
    // Cookies do not know ports: as in a browser, both servers on one address see each other's.
    const sent = [...jar]
      .filter(([, { path }]) => pathname.startsWith(path))
      .map(([name, { value }]) => `${name}=${value}`)
    const headers = { 'sec-fetch-site': 'same-origin', ...init.headers, cookie: sent.join('; ') }
    const response = await fetch(url, { redirect: 'manual', ...init, headers })
    for (const header of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = header.split(';')
      const cut = pair.indexOf('=')
      const [name, value] = [pair.slice(0, cut).trim(), pair.slice(cut + 1)]
      const path = /path=([^;]*)/i.exec(attributes.join(';'))?.[1]?.trim() ?? '/'
      const isOver = value === '' || /max-age=0|expires=Thu, 01 Jan 1970/i.test(header)
      if (isOver) jar.delete(name)
      else jar.set(name, { host, path, value })
    }
    return response
  }

  async function open(url: string): Promise<Response> {
    let response = await send(url)
    for (let steps = 0; steps < 20; steps += 1) {
      const at = response.url
      const location = response.headers.get('location')
      if (location !== null) {
        if (new URL(location, at).pathname === '/') return response
        response = await send(new URL(location, at).href)
        continue
      }
      const text = await response.clone().text()
      const action = /<form[^>]*action="([^"]+)"/.exec(text)?.[1]
      if (action === undefined || !text.includes('<form')) return response
      const part = (tag: string, name: string): string => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? ''
      const fields = text.match(/<input[^>]*>/g) ?? []
      const body = new URLSearchParams(fields.map((tag) => [part(tag, 'name'), part(tag, 'value')]))
      if (body.has('login')) {
        body.set('login', subject)
        body.set('password', 'any')
      }
      for (const button of text.match(/<button[^>]*>/g) ?? [])
        if (part(button, 'name') === 'logout') body.set(part(button, 'name'), 'yes')
      response = await send(new URL(action, at).href, { method: 'POST', body })
    }
    throw new Error(`no end after ${response.url}`)
  }

  return {
    subject,
    open,
    send,
    cookie: (name) => jar.get(name)?.value ?? null,
    setCookie: (name, value) => void jar.set(name, { host: '', path: '/', value }),
  }
}
