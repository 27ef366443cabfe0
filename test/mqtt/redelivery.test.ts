/** What the broker has of a device is committed once, whatever ends between its receipt and COMMIT: the server, the broker, the connection. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bodyOf, connectDevice, type MqttDevice, receiving } from '../support/clients/mqtt-device.ts'
import { lastingStores } from '../support/databases/lasting-stores.ts'
import { type EmptyStore, postgresStores } from '../support/databases/stores.ts'
import { isWhole } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Program, startProgram } from '../support/servers/program.ts'
import { findMosquitto, type Mosquitto, startMosquitto } from '../support/systems/mosquitto.ts'

const isMissing = findMosquitto() === null

/** Resolves when the program has subscribed. */
async function subscribed(program: Program): Promise<void> {
  await program.listening
  await expect.poll(() => program.stderr()).toMatch(/reports are received by MQTT/)
}

async function deploymentsOf(server: RunningApp): Promise<number> {
  const { deploymentCounts } = await server.query('{ deploymentCounts { total } }')
  return deploymentCounts.total
}

const statusOf = (deploymentId: string): string => `rollcall/edge-1/deployments/${deploymentId}/status`

describe.skipIf(isMissing).each(lastingStores)('a message of the broker, on $name', (store) => {
  let broker: Mosquitto
  let device: MqttDevice
  beforeAll(async () => {
    broker = await startMosquitto()
    device = await connectDevice(broker.url, 'edge-1')
  })
  afterAll(async () => {
    await device?.close()
    await broker?.dispose()
  })

  it('is delivered again after the server was killed, and changes nothing that was answered before', async () => {
    const { env, on } = await store.create()
    const program = startProgram({ ...env, GIT: 'off', MQTT_URL: broker.url })
    await subscribed(program)
    const count = 400
    const answers = Array.from({ length: count }, (_, n) => device.report(`d-${n}`, 'installed'))
    await answers[0]
    program.child.kill('SIGKILL')
    await program.ended
    // The lease of a killed server ends by time. PGlite ends it when its folder is opened.
    const database = await on.open()
    await database.session.run("update leases set until = now() - interval '1 second'")
    await database.close()
    const server = await startApp({ on, env: { MQTT_URL: broker.url } })
    // Those that the killed server answered, and those that it only received.
    const all = await Promise.all(answers)
    expect(
      all.map(({ body }) => body.verdict).filter((verdict) => !['APPLIED', 'UNCHANGED'].includes(verdict)),
    ).toEqual([])
    expect(await deploymentsOf(server)).toBe(count)
    const { changes } = await server.query(
      '{ changes(filter: { kinds: [DEPLOYMENT_STATE_CHANGED] }, last: 1) { totalCount } }',
    )
    expect(changes.totalCount).toBe(count)
    await server.stop()
    await on.drop()
  })
})

describe.skipIf(isMissing || postgresStores.length === 0)('a message of the broker on PostgreSQL', () => {
  const [store] = postgresStores
  let broker: Mosquitto
  let device: MqttDevice
  let on: EmptyStore
  beforeAll(async () => {
    broker = await startMosquitto({ isPersistent: true })
    if (store) on = await store.create()
    device = await connectDevice(broker.url, 'edge-1')
  })
  afterAll(async () => {
    await device?.close()
    await broker?.dispose()
    await on?.drop()
  })

  it('is not acknowledged before COMMIT: if the server is killed in between, the next server gets it', async () => {
    const program = startProgram({ DATABASE_URL: on.config.url ?? '', GIT: 'off', MQTT_URL: broker.url })
    await subscribed(program)
    const database = await on.open()
    const lock = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const holding = database.transaction(async (session) => {
      await session.run('select 1 from log_head for update')
      locked.resolve()
      await lock.promise
    })
    await locked.promise
    const answer = device.report('locked', 'installed')
    const address = await program.listening
    const unacknowledged = async (): Promise<string | undefined> =>
      (await (await fetch(`${address}/metrics`)).text()).match(/^rollcall_mqtt_unacknowledged (\d+)/m)?.[1]
    await expect.poll(unacknowledged).toBe('1')
    program.child.kill('SIGKILL')
    await program.ended
    lock.resolve()
    await holding
    await database.session.run("update leases set until = now() - interval '1 second'")
    await database.close()
    const server = await startApp({ on, env: { MQTT_URL: broker.url } })
    expect((await answer).body.verdict).toBe('APPLIED')
    await server.stop()
  })

  it('waits while the database is unavailable, and is not executed twice when it is delivered again', async () => {
    const server = await startApp({ on, env: { MQTT_URL: broker.url } })
    await receiving(server)
    const { database } = server.app
    const lock = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const holding = database.transaction(async (session) => {
      await session.run('select 1 from log_head for update')
      locked.resolve()
      await lock.promise
    })
    await locked.promise
    const answers = [device.report('again', 'installing'), device.report('again', 'installed')]
    await expect.poll(() => server.app.metrics.print()).toMatch(/^rollcall_mqtt_unacknowledged 2$/m)
    // The broker keeps its sessions, and delivers both again (DUP) on new connections.
    await broker.stop()
    await broker.start()
    await receiving(server, 2)
    lock.resolve()
    await holding
    expect((await Promise.all(answers)).map(({ body }) => body.verdict)).toEqual(['APPLIED', 'APPLIED'])
    const { changes } = await server.query(
      '{ changes(filter: { deploymentIds: ["again"], kinds: [DEPLOYMENT_STATE_CHANGED] }, last: 9) { nodes { ... on DeploymentStateChanged { to } } } }',
    )
    expect(changes.nodes.map(({ to }: { to: string }) => to)).toEqual(['INSTALLING', 'INSTALLED'])
    await expect.poll(() => server.app.metrics.print()).toMatch(/^rollcall_mqtt_unacknowledged 0$/m)
    await server.stop()
  })

  it('is shared by servers: each holds its share of the sessions, and takes over those of another', async () => {
    const env = { MQTT_URL: broker.url, MQTT_SESSIONS: '4', MQTT_GROUP: 'shared', MQTT_CLIENT_ID: 'shared' }
    const held = (server: RunningApp): Promise<string> => server.app.metrics.print()
    const first = await startApp({ on, env })
    await expect.poll(() => held(first)).toMatch(/^rollcall_mqtt_sessions{state="connected"} 4$/m)
    const second = await startApp({ on, env })
    for (const server of [first, second])
      await expect.poll(() => held(server)).toMatch(/^rollcall_mqtt_sessions{state="connected"} 2$/m)
    const send = (from: number) =>
      Promise.all(Array.from({ length: 40 }, (_, n) => device.report(`shared-${from + n}`, 'installed')))
    for (const { body } of await send(0)) expect(body.verdict).toBe('APPLIED')
    for (const server of [first, second])
      expect(await held(server)).toMatch(/^rollcall_mqtt_messages_total{kind="report",outcome="taken"} [1-9]/m)
    await first.stop()
    await expect.poll(() => held(second)).toMatch(/^rollcall_mqtt_sessions{state="connected"} 4$/m)
    for (const { body } of await send(100)) expect(body.verdict).toBe('APPLIED')
    await second.stop()
  })

  it.runIf(isWhole)('is kept while no server runs, and delivered to the next one', async () => {
    device.client.publish(statusOf('later'), JSON.stringify(bodyOf('later', 'installed')), { qos: 1 })
    const server = await startApp({ on, env: { MQTT_URL: broker.url } })
    const document = '{ deployment(deploymentId: "later") { state } }'
    await expect.poll(async () => (await server.query(document)).deployment?.state).toBe('INSTALLED')
    await server.stop()
  })
})
