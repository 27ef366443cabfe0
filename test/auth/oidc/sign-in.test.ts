/** Sign-in with a real issuer: what a person may do, until when, and how it ends. */
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { createPerson, type Issuer, type Person, startIssuer } from '../../support/systems/issuer.ts'
import { openSocketAt } from './open-socket.ts'

const adminKey = 'an-admin-key-for-tests-only'
const minute = 60_000

describe.each(stores)('sign-in on $name', (store) => {
  let issuer: Issuer
  let server: RunningApp
  let now = Date.now()

  beforeAll(async () => {
    issuer = await startIssuer()
    const env = { ...issuer.env, API_AUTH: 'key', API_ADMIN_KEY: adminKey }
    server = await startApp({ store, env, clock: () => now })
    issuer.serve(server.url)
  })
  afterAll(async () => {
    await server.stop()
    await issuer.stop()
  })

  async function signIn(subject: string, groups: readonly string[]): Promise<Person> {
    issuer.groups.set(subject, groups)
    const person = createPerson(subject)
    const response = await person.open(`${server.url}/session/oidc/login?returnTo=/%3Fsigned-in`)
    expect([response.status, response.headers.get('location')]).toEqual([302, '/?signed-in'])
    return person
  }
  const session = async (person: Person) => {
    const response = await person.send(`${server.url}/session`)
    return { status: response.status, ...((await response.json()) as Record<string, unknown>) }
  }
  const audit = async (subject: string): Promise<readonly Record<string, unknown>[]> => {
    const query = '{ auditLog(first: 100) { nodes { kind caller credential address action outcome detail } } }'
    const answer = await server.post('/graphql', { query }, { authorization: `Bearer ${adminKey}` })
    const { data } = (await answer.json()) as { data: { auditLog: { nodes: { caller: string }[] } } }
    return data.auditLog.nodes.filter(({ caller }) => caller.includes(`(${subject})`))
  }
  /** Refresh tokens that the issuer gives for a person during the work. */
  async function tokensOf(subject: string, work: () => Promise<unknown>): Promise<string[]> {
    const tokens: string[] = []
    issuer.answerToken = async (body) => {
      if (decodeJwt(String(body.id_token)).sub === subject) tokens.push(String(body.refresh_token))
      return body
    }
    await work().finally(() => {
      issuer.answerToken = null
    })
    return tokens
  }
  async function signInWithToken(subject: string, groups: readonly string[]): Promise<[Person, string]> {
    let person = createPerson(subject)
    const [refreshToken = ''] = await tokensOf(subject, async () => {
      person = await signIn(subject, groups)
    })
    return [person, refreshToken]
  }
  const isRevoked = async (refreshToken: string | undefined): Promise<boolean> =>
    (await issuer.findRefreshToken(refreshToken ?? '')) === undefined
  const openSocket = (person: Person) => openSocketAt(server.url, person)

  it('gives a person the role of a group, and names the person in the audit log', async () => {
    const person = await signIn('ada', ['operators', 'others'])
    expect(await session(person)).toMatchObject({
      name: 'ada.name (ada)',
      roles: ['operator'],
      scopes: [],
      signedInWith: 'oidc',
    })
    expect(await audit('ada')).toMatchObject([
      { kind: 'SIGN_IN', credential: 'oidc', address: '127.0.0.1', action: 'signIn', outcome: 'done' },
    ])
  })

  it('gives the scopes of a group, and the highest of several roles', async () => {
    expect(await session(await signIn('alice', ['alpha']))).toMatchObject({
      roles: ['viewer'],
      scopes: ['project:alpha'],
    })
    expect(await session(await signIn('boss', ['alpha', 'admins']))).toMatchObject({ roles: ['admin'], scopes: [] })
  })

  it('refuses a person without a role, with a page that says so', async () => {
    issuer.groups.set('mallory', ['visitors'])
    const person = createPerson('mallory')
    const response = await person.open(`${server.url}/session/oidc/login`)
    expect(response.status).toBe(403)
    expect(response.headers.get('content-type')).toContain('text/html')
    expect(await response.text()).toContain('mallory.name (mallory) is in no group that has a role here')
    expect(person.cookie('rollcall')).toBeNull()
    expect(await session(person)).toMatchObject({ status: 401, signIn: { name: new URL(issuer.url).host } })
  })

  it('ends sessions, sockets and streams when the person logs out elsewhere', async () => {
    const person = await signIn('bob', ['viewers'])
    const other = await signIn('carol', ['viewers'])
    const socket = openSocket(person)
    await socket.isOpen
    const events = await person.send(`${server.url}/graphql?query=subscription{deploymentCounts{cursor}}`, {
      headers: { accept: 'text/event-stream' },
    })
    await person.open(`${issuer.url}/session/end`)
    expect(await socket.ended).toBe(4403)
    // The stream ends, or is cut: it is over.
    await events.text().catch(() => '')
    expect(await session(person)).toMatchObject({ status: 401 })
    expect(await session(other)).toMatchObject({ status: 200 })
    expect((await audit('bob'))[0]).toMatchObject({ kind: 'SIGN_OUT', action: 'backChannelLogout' })
  })

  it('logs out at the issuer too', async () => {
    const [person, refreshToken] = await signInWithToken('dave', ['viewers'])
    expect(await isRevoked(refreshToken)).toBe(false)
    const socket = openSocket(person)
    await socket.isOpen
    const answer = await person.send(`${server.url}/session/oidc/logout`, { method: 'POST' })
    const { location } = (await answer.json()) as { location: string }
    // No token is in the browser, nor in its history.
    expect([...new URL(location).searchParams.keys()].toSorted()).toEqual(['client_id', 'post_logout_redirect_uri'])
    expect(person.cookie('rollcall')).toBeNull()
    expect(await socket.ended).toBe(4403)
    await expect.poll(() => isRevoked(refreshToken)).toBe(true)
    const back = await person.open(location)
    expect(new URL(back.headers.get('location') ?? '').href).toBe(`${server.url}/`)
    expect((await audit('dave'))[0]).toMatchObject({ kind: 'SIGN_OUT', action: 'signOut' })
    // The issuer asks who it is.
    const again = await person.send(
      (await person.send(`${server.url}/session/oidc/login`)).headers.get('location') ?? '',
    )
    expect(again.headers.get('location')).toContain('/interaction/')
  })

  it('ends a session that was opened with a key, too', async () => {
    const opened = await server.post('/session', {}, { authorization: `Bearer ${adminKey}` })
    const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? ''
    const statusOf = async () => (await fetch(`${server.url}/session`, { headers: { cookie } })).status
    expect(await statusOf()).toBe(200)
    expect((await server.post('/session/oidc/logout', '', { cookie })).status).toBe(200)
    expect(await statusOf()).toBe(401)
  })

  it('revokes the tokens of a session that loses its rights, and of a sign-in that is refused', async () => {
    const [person, refreshToken] = await signInWithToken('judy', ['operators'])
    issuer.groups.set('judy', [])
    const [last = refreshToken] = await tokensOf('judy', async () => {
      now += 7 * minute
      await expect.poll(async () => (await session(person)).status).toBe(401)
    })
    await expect.poll(() => isRevoked(last)).toBe(true)
    const [refused] = await tokensOf('judy', () => createPerson('judy').open(`${server.url}/session/oidc/login`))
    await expect.poll(() => isRevoked(refused)).toBe(true)
  })

  it('signs out while the issuer does not answer the revocation', async () => {
    const [person] = await signInWithToken('kim', ['viewers'])
    issuer.revoke = () => new Promise(() => undefined)
    try {
      expect((await person.send(`${server.url}/session/oidc/logout`, { method: 'POST' })).status).toBe(200)
    } finally {
      issuer.revoke = null
    }
    expect(await session(person)).toMatchObject({ status: 401 })
  })

  it('keeps tokens and secrets out of the log, and encrypts them in the database', async () => {
    let tokens: Record<string, unknown> = {}
    issuer.answerToken = async (body) => {
      tokens = body
      return body
    }
    await signIn('frank', ['viewers'])
    issuer.answerToken = null
    const secrets = [tokens.refresh_token, tokens.id_token, tokens.access_token, issuer.env.OIDC_CLIENT_SECRET]
    const rows = await server.app.database.session.run(
      'select o.*, s.* from oidc_sessions o join api_sessions s on s.hash = o.hash',
    )
    const kept = JSON.stringify([rows, server.logged])
    expect(rows.length).toBeGreaterThan(0)
    for (const secret of secrets) {
      expect(secret).toEqual(expect.any(String))
      expect(kept).not.toContain(secret)
    }
  })

  it('narrows a session with open connections when the person loses a group, and ends it with the last one', async () => {
    const person = await signIn('grace', ['operators', 'alpha'])
    const unchanged = await signIn('heidi', ['viewers'])
    const [socket, kept] = [openSocket(person), openSocket(unchanged)]
    await Promise.all([socket.isOpen, kept.isOpen])
    issuer.groups.set('grace', ['alpha'])
    now += 7 * minute
    expect(await socket.ended).toBe(4403)
    expect(await session(person)).toMatchObject({ status: 200, roles: ['viewer'], scopes: ['project:alpha'] })
    expect((await audit('grace'))[0]).toMatchObject({ action: 'refresh', detail: { roles: ['viewer'] } })
    const narrow = openSocket(person)
    await narrow.isOpen
    issuer.groups.set('grace', [])
    now += 7 * minute
    expect(await narrow.ended).toBe(4403)
    expect(await session(person)).toMatchObject({ status: 401 })
    expect((await audit('grace'))[0]).toMatchObject({ kind: 'SIGN_OUT', action: 'refresh' })
    // Fourteen minutes are longer than a token lasts.
    expect(await session(unchanged)).toMatchObject({ status: 200 })
    expect(await Promise.race([kept.ended, 'open'])).toBe('open')
  })

  it('keeps sessions while the issuer replaces its keys, at once and twice', async () => {
    const person = await signIn('leo', ['viewers'])
    for (const [group, role] of [
      ['operators', 'operator'],
      ['viewers', 'viewer'],
    ] as const) {
      issuer.rotateKeys()
      issuer.groups.set('leo', [group])
      now += 7 * minute
      await expect.poll(() => session(person)).toMatchObject({ roles: [role] })
    }
  })

  it('ends sessions some minutes after their tokens while the issuer is unreachable, and works again afterwards', async () => {
    const person = await signIn('ivan', ['viewers'])
    const socket = openSocket(person)
    await socket.isOpen
    await issuer.stop()
    now += 11 * minute
    expect(await session(person)).toMatchObject({ status: 200 })
    now += 5 * minute
    expect(await socket.ended).toBe(4403)
    expect(await session(person)).toMatchObject({ status: 401 })
    await issuer.restart()
    await signIn('ivan', ['viewers'])
  })
})
