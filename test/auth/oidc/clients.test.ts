/** Clients of the issuer and addresses of the server: without a secret, with one that is sent in the body, over https, from too fast a client. */
import { expect, it, onTestFinished } from 'vitest'
import { startApp } from '../../support/servers/app.ts'
import { createPerson, type IssuerOptions, startIssuer } from '../../support/systems/issuer.ts'

async function start(options: IssuerOptions, env: Record<string, string> = {}) {
  const issuer = await startIssuer({ groups: { ada: ['operators'] }, ...options })
  let now = Date.now()
  const server = await startApp({ env: { ...issuer.env, ...env }, clock: () => now })
  onTestFinished(async () => {
    await server.stop()
    await issuer.stop()
  })
  issuer.serve(server.url)
  const advance = (milliseconds: number): void => {
    now += milliseconds
  }
  return { issuer, server, advance }
}

it.each([
  ['without a secret', { clientSecret: null }],
  ['that takes the secret in the body', { configuration: { clientAuthMethods: ['client_secret_post' as const] } }],
])('signs in and refreshes with a client %s', async (_, options) => {
  const { issuer, server, advance } = await start(options)
  const person = createPerson('ada')
  expect((await person.open(`${server.url}/session/oidc/login`)).status).toBe(302)
  issuer.groups.set('ada', ['viewers'])
  advance(7 * 60_000)
  const roles = async () => ((await (await person.send(`${server.url}/session`)).json()) as { roles: unknown }).roles
  await expect.poll(roles).toEqual(['viewer'])
})

it('asks the issuer for the present rights also after the clock of the database has gone back', async () => {
  const { issuer, server, advance } = await start({})
  const person = createPerson('ada')
  expect((await person.open(`${server.url}/session/oidc/login`)).status).toBe(302)
  issuer.groups.set('ada', ['viewers'])
  advance(-60 * 60_000)
  const roles = async () => ((await (await person.send(`${server.url}/session`)).json()) as { roles: unknown }).roles
  await expect.poll(roles).toEqual(['viewer'])
})

it('protects the login cookie by its prefix over https, and sends the issuer the public address', async () => {
  const { server } = await start({}, { PUBLIC_URL: 'https://rollcall.example/plant' })
  const response = await fetch(`${server.url}/session/oidc/login`, { redirect: 'manual' })
  expect(response.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^__Host-rollcall-login=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/),
  ])
  const { searchParams } = new URL(response.headers.get('location') ?? '')
  expect(searchParams.get('redirect_uri')).toBe('https://rollcall.example/plant/session/oidc/callback')
  expect(searchParams.get('code_challenge_method')).toBe('S256')
  expect([...searchParams.keys()]).not.toContain('code_verifier')
})

it('passes no flood of sign-ins on to the issuer', async () => {
  const { server } = await start({})
  const begin = () => fetch(`${server.url}/session/oidc/device`, { method: 'POST' }).then(({ status }) => status)
  expect(await begin()).toBe(200)
  const callback = () => fetch(`${server.url}/session/oidc/callback?code=x&state=y`).then(({ status }) => status)
  const statuses = await Promise.all(Array.from({ length: 70 }, callback))
  expect(new Set(statuses)).toEqual(new Set([401, 429]))
  expect(await begin()).toBe(429)
})

it('takes no token of a former issuer to the next', async () => {
  const { issuer, server, advance } = await start({})
  await createPerson('ada').open(`${server.url}/session/oidc/login`)
  await server.app.database.session.run("update api_sessions set credential_id = 'https://former.example'")
  let asked = 0
  issuer.answerToken = async (body) => {
    asked += 1
    return body
  }
  advance(7 * 60_000)
  const due = async () =>
    (
      await server.app.database.session.run<{ n: number }>(
        'select count(*)::int as n from oidc_sessions where refresh_at > $1::timestamptz',
        [new Date(Date.now() + 7 * 60_000).toISOString()],
      )
    )[0]?.n
  await expect.poll(due).toBe(1)
  expect(asked).toBe(0)
})

it('is not asked to refresh every second, however short its tokens last', async () => {
  const { issuer, server } = await start({})
  issuer.answerToken = async (body) => ({ ...body, expires_in: 0.001 })
  const began = Date.now()
  expect((await createPerson('ada').open(`${server.url}/session/oidc/login`)).status).toBe(302)
  const [session] = await server.app.database.session.run<{ wait: number; left: number }>(
    `select extract(epoch from o.refresh_at - $1::timestamptz)::float as wait, extract(epoch from s.expires_at - o.refresh_at)::float as left
     from oidc_sessions o join api_sessions s on s.hash = o.hash`,
    [new Date(began).toISOString()],
  )
  // The clock of the server began a moment before.
  expect(session?.wait).toBeGreaterThan(5)
  // The session is still there when it is refreshed.
  expect(session?.left).toBeGreaterThan(60)
})
