/** Attacks on sign-in: each fails, and leaves the sessions of others as they are. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { someOf } from '../../support/runner/depth.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { createPerson, type Issuer, type Person, startIssuer } from '../../support/systems/issuer.ts'

describe.each(stores)('attacks on sign-in on $name', (store) => {
  let issuer: Issuer
  let other: Issuer
  let server: RunningApp
  /** Advanced by each attempt of a property: sign-ins of one address are limited. */
  let late = 0

  beforeAll(async () => {
    issuer = await startIssuer({ groups: { ada: ['operators'], mallory: ['viewers'] } })
    other = await startIssuer()
    server = await startApp({ store, env: issuer.env, clock: () => Date.now() + late })
    issuer.serve(server.url)
  })
  afterAll(async () => {
    await server.stop()
    await issuer.stop()
    await other.stop()
  })

  /** The callback that the issuer sends the person to, before the person goes there. */
  async function callbackOf(person: Person): Promise<URL> {
    const { headers } = await person.send(`${server.url}/session/oidc/login`)
    let next = headers.get('location') ?? ''
    for (;;) {
      if (next.startsWith(`${server.url}/session/oidc/callback`)) return new URL(next)
      const answer = await person.send(next)
      const location = answer.headers.get('location')
      if (location !== null) {
        next = new URL(location, next).href
        continue
      }
      const body = new URLSearchParams({ prompt: 'login', login: person.subject, password: 'any' })
      const signedIn = await person.send(next, { method: 'POST', body })
      next = new URL(signedIn.headers.get('location') ?? '', next).href
    }
  }
  const isSignedIn = async (person: Person) => (await person.send(`${server.url}/session`)).status === 200
  async function expectRefusal(person: Person, url: URL, why: string): Promise<void> {
    const response = await person.send(url.href)
    expect([response.status, await response.text()]).toEqual([401, expect.stringContaining(why)])
    expect(person.cookie('rollcall')).toBeNull()
  }

  it('a callback in another browser, without the login cookie, or with the cookie of another sign-in', async () => {
    const [ada, mallory] = [createPerson('ada'), createPerson('mallory')]
    const stolen = await callbackOf(ada)
    await expectRefusal(mallory, stolen, 'it began in another browser')
    // The victim has begun a sign-in too: the code of the attacker does not belong to it.
    const injected = await callbackOf(mallory)
    await expectRefusal(ada, injected, 'it does not belong to the last sign-in')
    mallory.setCookie('rollcall-login', 'forged')
    await expectRefusal(mallory, injected, 'it began in another browser')
  })

  it.each([
    ['a missing state', (url: URL) => url.searchParams.delete('state'), 'does not belong to'],
    ['a wrong state', (url: URL) => url.searchParams.set('state', 'wrong'), 'does not belong to'],
    ['two states', (url: URL) => url.searchParams.append('state', 'more'), 'does not belong to'],
    ['another issuer', (url: URL) => url.searchParams.set('iss', 'https://evil.example'), 'does not belong to'],
    ['no issuer', (url: URL) => url.searchParams.delete('iss'), 'does not belong to'],
    ['no code', (url: URL) => url.searchParams.delete('code'), 'does not belong to'],
    ['an unknown code', (url: URL) => url.searchParams.set('code', 'unknown'), 'invalid_grant'],
    ['two codes', (url: URL) => url.searchParams.append('code', 'more'), 'does not belong to'],
    ['an error', (url: URL) => url.searchParams.set('error', '<script>'), 'an unknown error'],
  ])('a callback with %s', async (_, change, why) => {
    const person = createPerson('ada')
    const url = await callbackOf(person)
    change(url)
    await expectRefusal(person, url, why)
  })

  it('a callback with any other state, code, issuer or cookie, and any other query', async () => {
    const names = ['state', 'code', 'iss'] as const
    const text = fc.string({ unit: 'binary', maxLength: 40 })
    const change = fc.oneof(
      fc.record({ of: fc.constantFrom(...names), by: fc.constant('delete' as const), text: fc.constant('') }),
      fc.record({ of: fc.constantFrom(...names), by: fc.constantFrom('set', 'append', 'before', 'after'), text }),
      fc.record({ of: fc.constantFrom(...names), by: fc.constant('swap' as const), text: fc.constant('') }),
      fc.record({ of: fc.constant('cookie' as const), by: fc.constantFrom('set', 'swap', 'after'), text }),
      fc.record({ of: fc.constant('query' as const), by: fc.constant('set' as const), text }),
    )
    const [ada, mallory] = [createPerson('ada'), createPerson('mallory')]
    await fc.assert(
      fc.asyncProperty(change, async ({ of, by, text: given }) => {
        late += 1_000
        const [url, foreign] = [await callbackOf(ada), await callbackOf(mallory)]
        const own = ada.cookie('rollcall-login') ?? ''
        const values = { cookie: own, query: url.search, ...Object.fromEntries(url.searchParams) } as Record<
          string,
          string
        >
        const others = { cookie: mallory.cookie('rollcall-login') ?? '', ...Object.fromEntries(foreign.searchParams) }
        const before = values[of] ?? ''
        const after = {
          set: given,
          swap: (others as Record<string, string>)[of] ?? '',
          before: given + before,
          after: before + given,
        }
        const next = by === 'delete' || by === 'append' ? null : after[by].toWellFormed()
        // The issuers are the same, and an empty text changes nothing.
        fc.pre(next !== before && (next !== null || by !== 'append' || given !== before))
        const plain = Buffer.from(next ?? '').toString('base64url')
        if (of === 'cookie')
          ada.setCookie(
            'rollcall-login',
            by === 'swap' ? others.cookie : by === 'after' ? `${own}${plain || 'x'}` : plain,
          )
        else if (of === 'query') url.search = next ?? ''
        else if (by === 'delete') url.searchParams.delete(of)
        else if (by === 'append') url.searchParams.append(of, given)
        else url.searchParams.set(of, next ?? '')
        const response = await ada.send(url.href)
        expect([400, 401]).toContain(response.status)
        expect(response.headers.getSetCookie()).toEqual([])
        expect(ada.cookie('rollcall')).toBeNull()
      }),
      { numRuns: someOf(8, 60) },
    )
  })

  it('an ID token with any other claim: it is refused, or names the person as far as it can', async () => {
    const required = ['nonce', 'aud', 'iss', 'sub'] as const
    const others = ['exp', 'iat', 'nbf', 'azp', 'groups', 'preferred_username', 'email', 'sid'] as const
    const value = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.constantFrom('a\u0000b', '\ud800', null))
    const person = createPerson('ada')
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...required, ...others), value, async (name, given) => {
        late += 1_000
        const url = await callbackOf(person)
        issuer.answerToken = async (body) => {
          const claims = JSON.parse(Buffer.from(String(body.id_token).split('.')[1] ?? '', 'base64url').toString())
          return { ...body, id_token: await issuer.sign({ ...claims, [name]: given }, 'JWT') }
        }
        const response = await person.send(url.href).finally(() => {
          issuer.answerToken = null
        })
        expect([name, given, response.status]).toEqual([name, given, expect.toSatisfy((status) => status < 500)])
        if (name !== 'sub' && required.some((one) => one === name)) expect(response.status).toBe(401)
      }),
      { numRuns: someOf(8, 60) },
    )
  })

  it('a callback that is sent twice', async () => {
    const person = createPerson('ada')
    const url = await callbackOf(person)
    const login = person.cookie('rollcall-login') ?? ''
    expect((await person.send(url.href)).status).toBe(302)
    expect(person.cookie('rollcall-login')).toBeNull()
    const attacker = createPerson('ada')
    attacker.setCookie('rollcall-login', login)
    await expectRefusal(attacker, url, 'it was completed before')
    expect(await isSignedIn(person)).toBe(true)
  })

  it.each([
    ['another nonce', async (claims: object) => issuer.sign({ ...claims, nonce: 'other' }, 'JWT')],
    ['no nonce', async (claims: object) => issuer.sign({ ...claims, nonce: undefined }, 'JWT')],
    ['another audience', async (claims: object) => issuer.sign({ ...claims, aud: 'other' }, 'JWT')],
    ['another issuer', async (claims: object) => issuer.sign({ ...claims, iss: other.url }, 'JWT')],
    ['a key of another issuer', async (claims: object) => other.sign({ ...claims }, 'JWT')],
    ['an expiry in the past', async (claims: object) => issuer.sign({ ...claims, exp: 1_000_000_000 }, 'JWT')],
  ])('an ID token with %s', async (_, forge) => {
    const person = createPerson('ada')
    const url = await callbackOf(person)
    issuer.answerToken = async (body) => {
      const claims = JSON.parse(Buffer.from(String(body.id_token).split('.')[1] ?? '', 'base64url').toString())
      return { ...body, id_token: await forge(claims) }
    }
    try {
      const response = await person.send(url.href)
      expect(response.status).toBe(401)
    } finally {
      issuer.answerToken = null
    }
    expect(await isSignedIn(person)).toBe(false)
  })

  it.each([
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    'javascript:alert(1)',
    'evil',
    `/${'a'.repeat(1_001)}`,
  ])('a return to %j', async (returnTo) => {
    const person = createPerson('ada')
    const response = await person.send(`${server.url}/session/oidc/login?returnTo=${encodeURIComponent(returnTo)}`)
    expect([response.status, response.headers.get('location')]).toEqual([400, null])
    expect(person.cookie('rollcall-login')).toBeNull()
  })

  it('a session that the attacker has chosen', async () => {
    const [person, attacker] = [createPerson('ada'), createPerson('mallory')]
    expect((await attacker.open(`${server.url}/session/oidc/login`)).status).toBe(302)
    const planted = attacker.cookie('rollcall') ?? ''
    person.setCookie('rollcall', planted)
    expect((await person.open(`${server.url}/session/oidc/login`)).status).toBe(302)
    expect(person.cookie('rollcall')).not.toBe(planted)
    // What the browser had before is over.
    expect([await isSignedIn(person), await isSignedIn(attacker)]).toEqual([true, false])
  })

  it('a sign-in or a sign-out that another site begins', async () => {
    const person = createPerson('ada')
    await person.open(`${server.url}/session/oidc/login`)
    const foreign = { headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' } }
    for (const [path, method] of [
      ['login', 'GET'],
      ['logout', 'POST'],
      ['device', 'POST'],
    ] as const)
      expect((await person.send(`${server.url}/session/oidc/${path}`, { method, ...foreign })).status).toBe(403)
    expect(await isSignedIn(person)).toBe(true)
  })

  it('a Host that names another server', async () => {
    const { request } = await import('node:http')
    const status = await new Promise((resolve, reject) =>
      request(`${server.url}/session/oidc/login`, { headers: { host: 'evil.example' } }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      })
        .on('error', reject)
        .end(),
    )
    expect(status).toBe(400)
  })

  it('parameters and bodies that are too long', async () => {
    const person = createPerson('ada')
    const long = await person.send(`${server.url}/session/oidc/callback?code=${'a'.repeat(9_000)}`)
    expect(long.status).toBe(400)
    const body = new URLSearchParams({ logout_token: 'a'.repeat(20_000) })
    expect((await fetch(`${server.url}/session/oidc/backchannel`, { method: 'POST', body })).status).toBe(413)
    const handle = JSON.stringify({ handle: 'a'.repeat(20_000) })
    const headers = { 'content-type': 'application/json' }
    const device = await fetch(`${server.url}/session/oidc/device/token`, { method: 'POST', body: handle, headers })
    expect(device.status).toBe(413)
  })
})
