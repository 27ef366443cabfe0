/** Clients of a server with an identity service, over real TLS: who is recognized, who is admitted, and what a rotation of authorities does to open connections. */
import { writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { createCertificates } from '../devices/certificates.ts'
import { refusals, registerAll, revoke } from '../devices/devices.ts'
import { asCaller, fileOf, report, serverId, start, usePlant } from './plant.ts'
import { bundleOf, idOf, issueSvid, signs } from './svids.ts'

const plant = usePlant()
const svid = (client: string, by = plant.first) => issueSvid(by, idOf(client), { days: 3 })
const notAuthorized = 'https://docs.margo.org/specification/problem-types#not-authorized'
const retire = `mutation ($i: RetireDevicesInput!) { retireDevices(input: $i) { __typename } }`

describe('a client', () => {
  it('is recognized by its SPIFFE id: of a trust domain and the WFM of this server, in their form', async () => {
    plant.publish(1, plant.first)
    const app = await start(await plant.env())
    const [press, drill] = [await svid('press'), await svid('drill')]
    const middle = await plant.first.subordinate('middle')
    const below = await issueSvid(middle, idOf('press'))
    expect((await report(app, 'press', press)).status).toBe(201)
    expect((await report(app, 'press', below, { chain: middle.cert })).status).toBe(201)
    const strange = await report(app, 'press', drill)
    expect([strange.status, strange.body.detail]).toEqual([
      403,
      expect.stringContaining('press is not one of them: register it with the parent drill'),
    ])
    const refused = async (id: string, by = plant.first, names = `URI:${id}`) => {
      const { status, body } = await report(app, 'press', await by.issue('', { names, usage: signs }))
      return [status, body.detail]
    }
    const is = (text: string) => [401, expect.stringContaining(text)]
    expect(await refused(idOf('press'), plant.second)).toEqual(is('no authority of its trust domain issued it'))
    expect(await refused(idOf('press'), plant.web)).toEqual(is('no authority'))
    expect((await report(app, 'press', below)).body.detail).toContain('were not sent')
    expect(await refused(idOf('press', 'elsewhere.example'))).toEqual(is('elsewhere.example is not a trust domain'))
    expect(await refused(idOf('press', 'factory.example', 'other'))).toEqual(
      is(`no client of this server, which is ${serverId}`),
    )
    expect(await refused(serverId)).toEqual(is('no client of this server'))
    expect(await refused(`${idOf('press')}/more`)).toEqual(is('no client of this server'))
    expect(await refused('', plant.first, `URI:${idOf('press')},URI:${idOf('drill')}`)).toEqual(is('exactly one URI'))
    expect(await refused('', plant.first, 'DNS:press')).toEqual(is('exactly one URI'))
    const { body } = await report(app, 'press', await plant.first.issue('', { names: `URI:${idOf('press')}` }))
    expect(body.detail).toContain('digitalSignature')
    expect(await refusals(app, 'mtls', 'untrusted')).toBeGreaterThan(5)
    await app.stop()
  })

  it('speaks TLS 1.3, or 1.2 where the operator allows it, and begins each connection with a whole handshake', async () => {
    plant.publish(1, plant.first)
    const app = await start(await plant.env())
    const press = await svid('press')
    await expect(report(app, 'press', press, { maxVersion: 'TLSv1.2' })).rejects.toThrow(/protocol version/)
    // Keeps sessions, to resume them.
    const agent = new Agent({ keepAlive: false, maxCachedSessions: 10 })
    for (let time = 0; time < 2; time += 1) {
      const { socket, status } = await report(app, 'press', press, { agent })
      expect([status, (socket as TLSSocket).isSessionReused()]).toEqual([201, false])
    }
    await app.stop()
    const lenient = await start(await plant.env({ TLS_MIN_VERSION: '1.2' }))
    expect((await report(lenient, 'press', press, { maxVersion: 'TLSv1.2' })).status).toBe(201)
    // Also if the authorities have more names than a handshake can hold.
    const named = (_: unknown, at: number) => plant.first.subordinate(`${at}`.padEnd(1_100, 'x'))
    plant.publish(2, plant.first, ...(await Promise.all(Array.from({ length: 63 }, named))))
    await lenient.app.reload()
    expect((await report(lenient, 'press', press)).status).toBe(201)
    await lenient.stop()
  })

  it('that is known and not admitted gets 403 with the problem of the specification', async () => {
    plant.publish(1, plant.first)
    const app = await start(await plant.env({ DEVICE_PROVISION: 'false' }))
    const caller = asCaller(app)
    const problemOf = async (client: string) => {
      const { status, body } = await report(app, client, await svid(client))
      return [status, body.type, body.title, body.status, body.retryable]
    }
    const refusal = [403, notAuthorized, 'Not Authorized', 403, false]
    expect(await problemOf('stranger')).toEqual(refusal)
    await registerAll(caller, [{ deviceId: 'press' }, { deviceId: 'stolen' }, { deviceId: 'old' }])
    expect((await report(app, 'press', await svid('press'))).status).toBe(201)
    await revoke(caller, 'stolen')
    expect(await problemOf('stolen')).toEqual(refusal)
    expect(
      (await caller.query(retire, { i: { devices: [{ deviceId: 'old' }], reason: 'scrap' } })).retireDevices.__typename,
    ).toBe('RetireDevicesSuccess')
    expect(await problemOf('old')).toEqual(refusal)
    // "MUST NOT treat a peer as one of its clients" without the form, not even a registered one (WFM Identity Profile, Recognition by the WFM).
    const id = 'spiffe://factory.example/ns/line/sa/camera'
    await registerAll(caller, [{ deviceId: 'camera', spiffeIds: [id] }])
    expect((await report(app, 'camera', await issueSvid(plant.first, id))).status).toBe(401)
    await app.stop()
  })

  it('is admitted by the list where there is one, which is read again', async () => {
    plant.publish(1, plant.first)
    const ADMITTED_CLIENTS = fileOf(`# the line\npress\n${idOf('drill')} # by its whole id\n`)
    const app = await start(await plant.env({ ADMITTED_CLIENTS, DEVICE_PROVISION: 'false' }))
    const agent = new Agent({ keepAlive: true })
    const statusOf = async (client: string) => (await report(app, client, await svid(client), { agent })).status
    await registerAll(asCaller(app), [{ deviceId: 'registered' }])
    expect([await statusOf('press'), await statusOf('drill'), await statusOf('registered')]).toEqual([201, 201, 403])
    writeFileSync(ADMITTED_CLIENTS, 'drill\nregistered')
    await app.app.reload()
    expect([await statusOf('press'), await statusOf('drill'), await statusOf('registered')]).toEqual([403, 201, 201])
    writeFileSync(ADMITTED_CLIENTS, 'press\nno client/')
    for (let time = 0; time < 2; time += 1) await app.app.reload()
    expect([await statusOf('press'), await statusOf('drill')]).toEqual([403, 201])
    const warnings = app.logged.filter(({ msg }) => String(msg).startsWith('the list of admitted clients cannot'))
    expect(warnings).toMatchObject([{ problem: expect.stringMatching(/line 2 of .* must be a client id/) }])
    agent.destroy()
    await app.stop()
    for (const line of ['no client/', 'spiffe://factory.example/ns/line/sa/camera']) {
      writeFileSync(ADMITTED_CLIENTS, `press\n${line}`)
      await expect(start(await plant.env({ ADMITTED_CLIENTS }))).rejects.toThrow('line 2 of')
    }
  })

  it('of one of several trust domains is accepted by the authorities of that one only', async () => {
    const certificates = await createCertificates()
    const other = await certificates.authority('other')
    const { service } = plant
    const domains = { 'factory.example': bundleOf(1, plant.first), 'mine.example': bundleOf(1, other) }
    service.publish({ '/map.json': { trust_domains: domains } })
    const SPIFFE_ID = `${serverId},spiffe://mine.example/margo/wfm/pit`
    const app = await start(await plant.env({ IDENTITY_SERVICE: `${service.url}/map.json`, SPIFFE_ID }))
    const statusOf = async (client: string, by: typeof other, domain: string, wfm: string) =>
      (await report(app, client, await issueSvid(by, idOf(client, domain, wfm)))).status
    expect(await statusOf('press', plant.first, 'factory.example', 'plant')).toBe(201)
    expect(await statusOf('drill', other, 'mine.example', 'pit')).toBe(201)
    expect(await statusOf('press', other, 'factory.example', 'plant')).toBe(401)
    expect(await statusOf('drill', plant.first, 'mine.example', 'pit')).toBe(401)
    expect(await statusOf('drill', other, 'mine.example', 'plant')).toBe(401)
    // A device of the same name is that of the other trust domain.
    expect(await statusOf('press', other, 'mine.example', 'pit')).toBe(403)
    await registerAll(asCaller(app), [{ deviceId: 'saw' }])
    expect(await statusOf('saw', other, 'mine.example', 'pit')).toBe(403)
    await app.stop()
    await certificates.remove()
  })
})

describe('a rotation of authorities', () => {
  it('accepts an added one from then on, and a removed one no longer, also on open connections, under load', async () => {
    plant.publish(1, plant.first)
    const app = await start(await plant.env())
    const names = ['a', 'b', 'c', 'd']
    const devices = await Promise.all(
      names.map(async (name) => ({
        ...{ name, old: await svid(name), renewed: await svid(name, plant.second) },
        ...{
          agent: new Agent({ keepAlive: true, maxSockets: 1 }),
          fresh: new Agent({ keepAlive: true, maxSockets: 1 }),
        },
      })),
    )
    const statuses = { old: [] as number[], renewed: [] as number[] }
    let isOver = false
    const load = devices.flatMap(({ name, old, renewed, agent, fresh }) => [
      run('old', () => report(app, name, old, { agent })),
      run('renewed', () => report(app, name, renewed, { agent: fresh })),
    ])
    async function run(which: keyof typeof statuses, send: () => ReturnType<typeof report>): Promise<void> {
      while (!isOver) statuses[which].push((await send()).status)
    }
    /** What each kind gets from now on, over connections that are open already. */
    async function phase(): Promise<Record<string, number[]>> {
      await expect.poll(() => Math.min(statuses.old.length, statuses.renewed.length)).toBeGreaterThan(8)
      const found = { old: [...new Set(statuses.old)], renewed: [...new Set(statuses.renewed)] }
      return found
    }
    async function rotate(sequence: number, ...authorities: (typeof plant.first)[]): Promise<void> {
      plant.publish(sequence, ...authorities)
      await app.app.reload()
      // Requests that were under way.
      await Promise.all(devices.map(({ name, old, agent }) => report(app, name, old, { agent })))
      await Promise.all(devices.map(({ name, renewed, fresh }) => report(app, name, renewed, { agent: fresh })))
      statuses.old = []
      statuses.renewed = []
    }

    statuses.old = []
    await expect.poll(() => statuses.old.length).toBeGreaterThan(8)
    statuses.old = []
    expect(await phase()).toEqual({ old: [201], renewed: [401] })
    await rotate(2, plant.first, plant.second)
    expect(await phase()).toEqual({ old: [201], renewed: [201] })
    await rotate(3, plant.second)
    expect(await phase()).toEqual({ old: [401], renewed: [201] })
    isOver = true
    await Promise.all(load)
    // They were the same connections all the time.
    for (const { agent, fresh } of devices)
      expect([Object.values(agent.freeSockets).flat().length, Object.values(fresh.freeSockets).flat().length]).toEqual([
        1, 1,
      ])
    for (const { agent, fresh } of devices) for (const one of [agent, fresh]) one.destroy()
    await app.stop()
  })

  it('changes nothing while the service is hostile, and a start without it, or while it hangs, has what it had', async () => {
    plant.publish(1, plant.first)
    const env = await plant.env()
    const press = await svid('press')
    const before = await start(env)
    plant.service.misbehave((_, response) => response.end('{"keys":[]}'))
    await before.app.reload()
    expect((await report(before, 'press', press)).status).toBe(201)
    plant.service.misbehave((_, response) => response.destroy())
    await before.app.reload()
    const said = before.logged.filter(({ msg }) => String(msg).startsWith('the identity service'))
    expect(said).toMatchObject([{ level: 'warn', service: `${plant.service.url}/.well-known/margo` }])
    await before.stop()
    // It takes the connection, and never answers: what was kept is enough for a start.
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    plant.service.misbehave(() => ask())
    const after = await start(env)
    await asked
    expect((await report(after, 'press', press)).status).toBe(201)
    await after.stop()
    plant.service.misbehave((_, response) => response.destroy())
    const without = await start(await plant.env())
    const { status, body } = await report(without, 'press', press)
    expect([status, body.detail]).toEqual([
      503,
      expect.stringContaining('has not named the authorities of factory.example yet'),
    ])
    plant.service.misbehave(null)
    await without.app.reload()
    expect((await report(without, 'press', press)).status).toBe(201)
    await without.stop()
  })
})

describe('the clock of a server', () => {
  it.each([
    ['behind', -2 * 86_400_000, 'is valid from'],
    ['ahead', 3.5 * 86_400_000, 'expired at'],
  ])('that is %s refuses certificates with both times', async (_, difference, text) => {
    plant.publish(1, plant.first)
    const app = await start(await plant.env(), { clock: () => Date.now() + difference })
    const { status, body } = await report(app, 'press', await svid('press'))
    expect([status, body.detail]).toEqual([401, expect.stringContaining(text)])
    expect(body.detail).toContain('the clock of this server says')
    expect(await refusals(app, 'mtls', 'expired')).toBe(1)
    await app.stop()
  })

  it('ends what was verified before', async () => {
    plant.publish(1, plant.first)
    let difference = 0
    const app = await start(await plant.env(), { clock: () => Date.now() + difference })
    const [press, agent] = [await svid('press'), new Agent({ keepAlive: true })]
    expect((await report(app, 'press', press, { agent })).status).toBe(201)
    difference = 3.5 * 86_400_000
    expect((await report(app, 'press', press, { agent })).status).toBe(401)
    agent.destroy()
    await app.stop()
  })
})
