/** Copies of one signed message that come at once, on one server and on two: one is executed. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createClaiming } from '../../../src/api/auth/devices/claims.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import { sessionOf } from '../../../src/store/connection/transaction.ts'
import type { Database } from '../../../src/store/database.ts'
import { openFresh } from '../../support/databases/databases.ts'
import { type EmptyStore, postgresStores, stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { bodyOf, registerAll, statusOf } from './devices.ts'
import { newKey, type SigningKey, signed } from './signing.ts'

const env = { DEVICE_AUTH: 'signature', PUBLIC_URL: 'https://rollcall.example' }

/** The statuses of so many copies, sent at once to these servers by turns. */
async function copies(servers: readonly RunningApp[], key: SigningKey, path: string, body: string, count: number) {
  const headers = signed(key, { url: `${env.PUBLIC_URL}${path}`, body })
  const send = (index: number) => servers[index % servers.length]?.post(path, body, headers)
  const responses = await Promise.all(Array.from({ length: count }, (_, index) => send(index)))
  const again = await servers[0]?.post(path, body, headers)
  return { statuses: responses.map((response) => response?.status), again: again?.status }
}

function expectOne({ statuses, again }: Awaited<ReturnType<typeof copies>>, success: number): void {
  expect(statuses.filter((status) => status === success)).toEqual([success])
  expect(statuses.filter((status) => ![success, 401, 503].includes(status ?? 0))).toEqual([])
  expect(again).toBe(401)
}

const cases = [['one server', stores, 1] as const, ['two servers', postgresStores, 2] as const]
describe.each(
  cases.flatMap(([name, on, count]) => on.map((store) => ({ name: `${name} on ${store.name}`, store, count }))),
)('$name', ({ store, count }) => {
  let empty: EmptyStore
  let servers: RunningApp[]
  const key = newKey.ed25519()
  beforeAll(async () => {
    empty = await store.create()
    servers = []
    for (let index = 0; index < count; index += 1) servers.push(await startApp({ on: empty, env }))
    const [first] = servers
    if (first) await registerAll(first, [{ deviceId: 'press', publicKeys: [key.publicKey] }])
  })
  afterAll(async () => {
    for (const server of servers) await server.stop()
    await empty.drop()
  })

  it('take one of several copies of a report', async () => {
    for (let round = 0; round < 5; round += 1) {
      const body = JSON.stringify(bodyOf('pump', { round }))
      expectOne(await copies(servers, key, statusOf('press'), body, 6), 201)
    }
  })

  it('take one of several copies of a backlog', async () => {
    const items = Array.from({ length: 600 }, (_, index) => bodyOf(`d-${index}`))
    expectOne(await copies(servers, key, '/reports', JSON.stringify({ reports: items }), 5), 200)
  })
})

it.each(stores)('a signed report asks the database once about its message, and claims it, on $name', async (store) => {
  const empty = await store.create()
  const asked: string[] = []
  const open = async (): Promise<Database> => {
    const database = await empty.open()
    const session = sessionOf((text, parameters) => {
      if (/device_identities|used_signatures/.test(text)) asked.push(text)
      return database.session.run(text, parameters)
    })
    return { ...database, session }
  }
  const server = await startApp({ on: { ...empty, open }, env })
  onTestFinished(async () => {
    await server.stop()
    await empty.drop()
  })
  const key = newKey.ed25519()
  await registerAll(server, [{ deviceId: 'press', publicKeys: [key.publicKey] }])
  asked.length = 0
  const body = JSON.stringify(bodyOf('pump'))
  const headers = signed(key, { url: `${env.PUBLIC_URL}${statusOf('press')}`, body })
  expect((await server.post(statusOf('press'), body, headers)).status).toBe(201)
  expect(asked.map((text) => /select|insert/.exec(text)?.[0])).toEqual(['select', 'insert'])
})

describe.each(stores)('a claim on $name', (store) => {
  const proof = { id: 'a-message', until: Date.now() + 60_000 }

  it('ends with the work that could not be done, and by itself when its process does', async () => {
    const database = await openFresh(store)
    // As on two servers: what one does is in the database, and in no memory that they share.
    const [here, there] = [createClaiming(database), createClaiming(database)]
    const work = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const first = here(proof, () => {
      begun.resolve()
      return work.promise
    })
    first.catch(() => undefined)
    await begun.promise
    for (const one of [here, there])
      await expect(one(proof, async () => 'done')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    work.reject(new DomainError('UNAVAILABLE', 'the database is away'))
    await expect(first).rejects.toThrow('away')
    expect(await there(proof, async () => 'done')).toBe('done')
    await expect(here(proof, async () => 'done')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await database.session.run(`update used_signatures set held_until = now() - interval '1 second'`)
    expect(await here(proof, async () => 'done')).toBe('done')
    await database.session.run('update used_signatures set held_until = null')
    await expect(there(proof, async () => 'done')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })
})

describe.each(stores)('a message that was refused with a time to retry, on $name', (store) => {
  it('is taken when it does', async () => {
    const server = await startApp({ store, env: { ...env, DEVICE_RATE: '1' } })
    onTestFinished(() => server.stop())
    const key = newKey.ed25519()
    await registerAll(server, [{ deviceId: 'press', publicKeys: [key.publicKey] }])
    const send = async (number: number) => {
      const body = JSON.stringify(bodyOf('pump', { number }))
      const headers = signed(key, { url: `${env.PUBLIC_URL}${statusOf('press')}`, body })
      const ask = async () => (await server.post(statusOf('press'), body, headers)).status
      return { status: await ask(), ask }
    }
    let refused = await send(0)
    for (let number = 1; refused.status === 201; number += 1) refused = await send(number)
    expect(refused.status).toBe(429)
    await expect.poll(refused.ask).toBe(201)
    expect(await refused.ask()).toBe(401)
  })
})
