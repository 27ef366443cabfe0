/** Logout tokens of the issuer: one that is forged, of another kind, old or sent twice ends no session. */
import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { createPerson, type Issuer, type Person, startIssuer } from '../../support/systems/issuer.ts'

const event = 'http://schemas.openid.net/event/backchannel-logout'

describe.each(stores)('attacks on sign-in on $name', (store) => {
  let issuer: Issuer
  let other: Issuer
  let server: RunningApp

  beforeAll(async () => {
    issuer = await startIssuer({ groups: { ada: ['operators'] } })
    other = await startIssuer()
    server = await startApp({ store, env: issuer.env })
    issuer.serve(server.url)
  })
  afterAll(async () => {
    await server.stop()
    await issuer.stop()
    await other.stop()
  })

  const isSignedIn = async (person: Person) => (await person.send(`${server.url}/session`)).status === 200

  it('logout tokens that are forged, of another kind, old or sent twice', async () => {
    const person = createPerson('ada')
    let idToken = ''
    issuer.answerToken = async (body) => {
      idToken = String(body.id_token)
      return body
    }
    await person.open(`${server.url}/session/oidc/login`)
    issuer.answerToken = null
    const now = Math.floor(Date.now() / 1000)
    const claims = () => ({
      iss: issuer.url,
      aud: issuer.clientId,
      iat: now,
      exp: now + 120,
      jti: randomUUID(),
      sub: 'ada',
      events: { [event]: {} },
    })
    const send = async (token: string) => {
      const body = new URLSearchParams({ logout_token: token })
      const response = await fetch(`${server.url}/session/oidc/backchannel`, { method: 'POST', body })
      return [response.status, response.headers.get('cache-control')]
    }
    const without = (name: string) => ({ ...claims(), [name]: undefined })
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify(claims())).toString('base64url')}.`
    const symmetric = new SignJWT(claims()).setProtectedHeader({ alg: 'HS256' })
    const forged = [
      await other.sign(claims()),
      await issuer.sign({ ...claims(), aud: 'other' }),
      await issuer.sign({ ...claims(), iss: other.url }),
      await issuer.sign({ ...claims(), nonce: 'n' }),
      await issuer.sign({ ...claims(), events: {} }),
      await issuer.sign({ ...claims(), events: { [event]: 'yes' } }),
      await issuer.sign({ ...claims(), iat: now - 3_600 }),
      await issuer.sign({ ...claims(), iat: now + 3_600, exp: now + 7_200 }),
      await issuer.sign({ ...claims(), exp: now - 3_600 }),
      ...(await Promise.all(
        ['jti', 'iat', 'exp', 'sub', 'events', 'aud', 'iss'].map((name) => issuer.sign(without(name))),
      )),
      await symmetric.sign(new TextEncoder().encode(issuer.env.OIDC_CLIENT_SECRET)),
      unsigned,
      idToken,
      'nothing',
      '',
    ]
    for (const [index, token] of forged.entries())
      expect([index, ...(await send(token))]).toEqual([index, 400, 'no-store'])
    expect(await isSignedIn(person)).toBe(true)

    const good = await issuer.sign(claims())
    expect(await send(good)).toEqual([200, 'no-store'])
    expect(await isSignedIn(person)).toBe(false)
    await person.open(`${server.url}/session/oidc/login`)
    expect(await send(good)).toEqual([400, 'no-store'])
    expect(await isSignedIn(person)).toBe(true)
  })
})
