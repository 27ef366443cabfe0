/** Sign-in at several servers, and at one whose issuer is away or has new keys. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { postgresStores } from '../../support/databases/stores.ts'
import { startApp } from '../../support/servers/app.ts'
import { createPerson, type Person, startIssuer } from '../../support/systems/issuer.ts'
import { openSocketAt } from './open-socket.ts'

const minute = 60_000

describe('sign-in at a server whose issuer changes', () => {
  it('answers 503 until the issuer is reachable, and accepts its new keys', async () => {
    const issuer = await startIssuer({ groups: { ada: ['viewers'] } })
    const server = await startApp({ env: issuer.env })
    onTestFinished(async () => {
      await server.stop()
      await issuer.stop()
    })
    const person = createPerson('ada')
    const refused = await person.send(`${server.url}/session/oidc/login`)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
    expect(await refused.text()).toContain('the issuer cannot be reached')
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
    issuer.serve(server.url)
    await expect.poll(async () => (await person.open(`${server.url}/session/oidc/login`)).status).toBe(302)
    issuer.rotateKeys()
    expect((await createPerson('ada').open(`${server.url}/session/oidc/login`)).status).toBe(302)
    await person.open(`${server.url}/session/oidc/login`)
    // The issuer is lost between the redirect and the callback.
    const { headers } = await person.send(`${server.url}/session/oidc/login`)
    let callback = await person.send(headers.get('location') ?? '')
    expect(callback.headers.get('location')).toContain('/session/oidc/callback')
    await issuer.stop()
    callback = await person.send(callback.headers.get('location') ?? '')
    expect(callback.status).toBe(503)
    await issuer.restart()
  })
})

describe.each(postgresStores)('sign-in at several servers on $name', (store) => {
  it('ends sockets on every server when a person logs out, and is refreshed by any', async () => {
    const on = await store.create()
    const issuer = await startIssuer({ groups: { ada: ['operators'], bob: ['viewers'] } })
    let now = Date.now()
    const options = { on, env: issuer.env, clock: () => now }
    const [one, two] = [await startApp(options), await startApp(options)]
    onTestFinished(async () => {
      await Promise.all([one.stop(), two.stop(), issuer.stop()])
      await on.drop()
    })
    issuer.serve(one.url, two.url)
    const [ada, bob] = [createPerson('ada'), createPerson('bob')]
    for (const person of [ada, bob]) await person.open(`${one.url}/session/oidc/login`)
    const open = (person: Person) => openSocketAt(two.url, person)
    const [socket, other] = [open(ada), open(bob)]
    await Promise.all([socket.isOpen, other.isOpen])
    // The issuer tells the first server only.
    await ada.open(`${issuer.url}/session/end`)
    expect(await socket.ended).toBe(4403)
    // Both servers look for sessions that are due: one refreshes.
    let refreshes = 0
    issuer.answerToken = async (body) => {
      refreshes += 1
      return body
    }
    issuer.groups.set('bob', ['operators'])
    now += 7 * minute
    expect(await other.ended).toBe(4403)
    expect(refreshes).toBe(1)
    const again = open(bob)
    await again.isOpen
    await one.stop()
    issuer.groups.set('bob', ['alpha'])
    now += 7 * minute
    expect(await again.ended).toBe(4403)
    const response = await bob.send(`${two.url}/session`)
    expect(await response.json()).toMatchObject({ scopes: ['project:alpha'] })
  })
})
