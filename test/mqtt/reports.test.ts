/** Reports by MQTT through a real broker, on both stores. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refusals, registerAll } from '../auth/devices/devices.ts'
import { newKey, signed } from '../auth/devices/signing.ts'
import { bodyOf, connectDevice, type MqttDevice, receiving } from '../support/clients/mqtt-device.ts'
import { everyStore, stores } from '../support/databases/stores.ts'
import { someOf } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { findMosquitto, type Mosquitto, startMosquitto } from '../support/systems/mosquitto.ts'

const isMissing = findMosquitto() === null

async function stateOf(server: RunningApp, deploymentId: string): Promise<string | undefined> {
  const document = 'query ($id: String!) { deployment(deploymentId: $id) { state } }'
  return (await server.query(document, { id: deploymentId })).deployment?.state
}

async function metricOf(server: RunningApp, name: string): Promise<number> {
  const line = (await server.app.metrics.print()).split('\n').find((row) => row.startsWith(`${name} `))
  return Number(line?.split(' ').at(-1) ?? Number.NaN)
}

describe.skipIf(isMissing).each(everyStore)('reports by MQTT on $name', (store) => {
  let broker: Mosquitto
  let server: RunningApp
  let device: MqttDevice
  beforeAll(async () => {
    broker = await startMosquitto()
    server = await startApp({ store, env: { MQTT_URL: broker.url } })
    await receiving(server)
    device = await connectDevice(broker.url, 'edge-1')
  })
  afterAll(async () => {
    await device?.close()
    await server?.stop()
    await broker?.dispose()
  })

  it('need the files of the configuration when the server starts', async () => {
    const env = { MQTT_URL: broker.url, MQTT_CA: '/no/such/authority.pem' }
    await expect(startApp({ store, env })).rejects.toThrow(/authority\.pem/)
  })

  it('are answered on the response topic with the verdict, as over HTTP', async () => {
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    expect(await device.report('d-1', 'installing', { userProperties: { traceparent } })).toEqual({
      contentType: 'application/json',
      body: { acknowledgement: 'received', verdict: 'APPLIED', revision: expect.any(String) },
    })
    expect((await device.report('d-1', 'installing')).body.verdict).toBe('UNCHANGED')
    const yaml = 'deploymentId: d-1\nstatus: { state: installed }\ncomponents: []\n'
    const topic = 'rollcall/edge-1/deployments/d-1/status'
    expect((await device.send(topic, yaml, { contentType: 'application/yaml' })).body.verdict).toBe('APPLIED')
    expect(await stateOf(server, 'd-1')).toBe('INSTALLED')
    const error = { code: 'E7', message: 'kühl' }
    const sent = JSON.stringify({ ...bodyOf('d-latin', 'failed'), status: { state: 'failed', error } })
    const latinTopic = 'rollcall/edge-1/deployments/d-latin/status'
    expect((await device.send(latinTopic, Buffer.from(sent, 'latin1'))).body).toMatchObject({
      ...{ verdict: 'APPLIED', warnings: [{ field: 'status.error.message' }] },
    })
    const document = '{ deployment(deploymentId: "d-1") { history(first: 2) { nodes { traceparent } } } }'
    const [first, second] = (await server.query(document)).deployment.history.nodes
    expect([first, second]).toEqual([{ traceparent }, { traceparent: null }])
  })

  it('get the same problem as over HTTP, and are not delivered again', async () => {
    const topic = 'rollcall/edge-1/deployments/d-2/status'
    const bodies: readonly (readonly [unknown, string?])[] = [
      ['{"deploymentId":'],
      [Buffer.from([0x7b, 0xff, 0xfe, 0x7d])],
      ['[]'],
      [bodyOf('other', 'installed')],
      [bodyOf('d-2', 'flying')],
      [bodyOf('d-2', 'installed'), 'text/plain'],
      ['{'.repeat(100_000)],
    ]
    for (const [body, contentType = 'application/json'] of bodies) {
      const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
      const response = await server.post('/device/edge-1/deployment/d-2/status', text, { 'content-type': contentType })
      const { body: problem, ...answer } = await device.send(topic, body, { contentType })
      expect(answer.contentType).toBe('application/problem+json')
      expect(problem).toEqual(await response.json())
    }
    const large = await device.send(topic, Buffer.alloc((1 << 20) + 1, ' '))
    expect(large.body).toMatchObject({ status: 413, code: 'TOO_LARGE' })
    // The broker drops what is larger than the server accepts, and other topics have no subscriber.
    for (const other of ['rollcall/edge-1/deployments/a/b/status', 'rollcall/edge-1/status', 'rollcall//status'])
      await device.client.publishAsync(other, JSON.stringify(bodyOf('d-2', 'installed')), { qos: 1 })
    await device.client.publishAsync(topic, Buffer.alloc((2 << 20) + 1, ' '), { qos: 1 })
    expect((await device.report('d-0', 'installed')).body.verdict).toBe('APPLIED')
    await expect.poll(() => metricOf(server, 'rollcall_mqtt_unacknowledged')).toBe(0)
    expect(await stateOf(server, 'd-2')).toBeUndefined()
  })

  it('name their device and deployment in one form only', async () => {
    const gateway = await connectDevice(broker.url, 'press%2Fcamera')
    expect((await gateway.report('a b%2Bc', 'installed', { body: { deploymentId: 'a b+c' } })).body.verdict).toBe(
      'APPLIED',
    )
    const { deployment } = await server.query('{ deployment(deploymentId: "a b+c") { reporter } }')
    expect(deployment.reporter).toBe('press/camera')
    await gateway.close()
    // Another form of edge-1, NUL, a space at the end, a name that is not UTF-8, and levels of the server.
    for (const level of ['edge%2D1', 'edge%2d1', '%00', 'edge-1 ', '%FF', 'present', 'changes', 'x'.repeat(257), '']) {
      const stranger = await connectDevice(broker.url, level)
      const { body } = await stranger.report('d-3', 'installed')
      expect([level, body.status, body.errors?.[0]?.field]).toEqual([level, 422, 'deviceId'])
      await stranger.close()
    }
    expect(await stateOf(server, 'd-3')).toBeUndefined()
  })

  it('are answered only below the level of responses of their device', async () => {
    const [topic, body] = ['rollcall/edge-1/deployments/d-4/status', JSON.stringify(bodyOf('d-4', 'installed'))]
    const seen: string[] = []
    const observer = await connectDevice(broker.url, 'observer')
    observer.client.on('message', (at) => void seen.push(at))
    await observer.client.subscribeAsync(['rollcall/#', 'elsewhere/#'], { qos: 1 })
    const before = await metricOf(server, 'rollcall_mqtt_answers_dropped_total')
    const wrong = ['rollcall/edge-2/responses', 'rollcall/edge-1/deployments/d-9/status', 'rollcall/edge-1/connection']
    wrong.push('rollcall/edge-1/responses2', 'rollcall/present/deployments', 'elsewhere/edge-1/responses', topic)
    // Mosquitto accepts it as the topic of an answer, and ends the connection of the server that publishes to it.
    wrong.push(`rollcall/edge-1/responses${'/'.repeat(300)}`, `rollcall/edge-1/responses${'/a'.repeat(9)}`)
    for (const responseTopic of wrong)
      await device.client.publishAsync(topic, body, { qos: 1, properties: { responseTopic } })
    const [own, deep] = ['rollcall/edge-1/responses', `rollcall/edge-1/responses${'/a'.repeat(8)}`]
    for (const responseTopic of [own, deep])
      await device.client.publishAsync(topic, body, { qos: 1, properties: { responseTopic } })
    await expect.poll(() => seen.filter((at) => at !== topic)).toEqual([own, deep])
    expect((await metricOf(server, 'rollcall_mqtt_answers_dropped_total')) - before).toBe(wrong.length)
    await observer.close()
  })

  it('of one device keep their order, also without an ordering key', async () => {
    const topic = 'rollcall/edge-1/deployments/d-5/status'
    const filler = 'x'.repeat(200_000)
    for (let n = 0; n < 30; n += 1) {
      // A large body takes longer to parse than the small one after it.
      const large = bodyOf('d-5', 'installing', { filler })
      device.client.publish(topic, JSON.stringify(large), { qos: 1 })
      device.client.publish(topic, JSON.stringify(bodyOf('d-5', 'failed')), { qos: 1 })
    }
    await device.report('d-5', 'installed')
    const { changes } = await server.query(
      '{ changes(filter: { deploymentIds: ["d-5"], kinds: [DEPLOYMENT_STATE_CHANGED] }, last: 100) { nodes { ... on DeploymentStateChanged { to } } } }',
    )
    const states = changes.nodes.map(({ to }: { to: string }) => to)
    expect(states).toEqual([...Array.from({ length: 30 }, () => ['INSTALLING', 'FAILED']).flat(), 'INSTALLED'])
  })

  it("stand beside the broker's word: a birth makes a device ONLINE, a last will OFFLINE", async () => {
    const connectivities = async (deviceId: string): Promise<unknown> => {
      const { device, changes } = await server.query(
        `query ($id: String!) { device(deviceId: $id) { connectivity }
          changes(filter: { deviceIds: [$id], kinds: [CONNECTIVITY_CHANGED] }, last: 9) {
            nodes { ... on ConnectivityChanged { toConnectivity connectivitySource } } } }`,
        { id: deviceId },
      )
      const told = changes.nodes.map((node: Record<string, string>) => Object.values(node).join(' '))
      return [device?.connectivity, ...told]
    }
    const topic = 'rollcall/edge-9/connection'
    const will = { topic, payload: Buffer.from('offline'), qos: 1 } as const
    expect((await device.send('rollcall/edge-1/connection', 'away')).body).toMatchObject({ status: 422 })
    const first = await connectDevice(broker.url, 'edge-9', { will, reconnectPeriod: 0 })
    expect((await first.send(topic, 'offline')).body.verdict).toBe('UNCHANGED')
    expect(await connectivities('edge-9')).toEqual([undefined])
    expect((await first.send(topic, 'online')).body.verdict).toBe('APPLIED')
    expect((await first.send(topic, 'online')).body.verdict).toBe('UNCHANGED')
    first.client.stream.destroy()
    const gone = ['OFFLINE', 'ONLINE BROKER', 'OFFLINE BROKER']
    await expect.poll(() => connectivities('edge-9')).toEqual(gone)
    const second = await connectDevice(broker.url, 'edge-9')
    await second.report('d-9', 'installed')
    expect(await connectivities('edge-9')).toEqual(['ONLINE', ...gone.slice(1), 'ONLINE REPORT'])
    await Promise.all([first.close(), second.close()])
  })

  it('set the connectivity of a device by its newest connection, in whatever order births and wills arrive', async () => {
    const topic = 'rollcall/edge-10/connection'
    const device = await connectDevice(broker.url, 'edge-10')
    const connectivity = async (): Promise<string> =>
      (await server.query('{ device(deviceId: "edge-10") { connectivity } }')).device.connectivity
    const begun = Date.now() - 60_000
    const say = async (word: string, connection: number, more: object = {}): Promise<unknown> => {
      const observedAt = new Date(begun + connection).toISOString()
      const { body } = await device.send(topic, word, { userProperties: { observedAt, ...more } })
      return [body.verdict, body.staleBy].filter(Boolean).join(' ')
    }
    expect(await say('online', 1)).toBe('APPLIED')
    // The birth of the second connection overtakes the will of the first.
    expect(await say('online', 2)).toBe('UNCHANGED')
    expect(await say('offline', 1)).toBe('STALE observedAt')
    expect(await connectivity()).toBe('ONLINE')
    expect(await say('offline', 2)).toBe('APPLIED')
    // So does the will of a connection its own birth.
    expect(await say('offline', 3)).toBe('UNCHANGED')
    expect(await say('online', 3)).toBe('STALE observedAt')
    expect(await connectivity()).toBe('OFFLINE')
    expect(await say('online', 4)).toBe('APPLIED')
    // A clock that is far ahead decides nothing, and no later message is older than it.
    expect(await say('offline', 3_600_000)).toBe('APPLIED')
    expect(await say('online', 4)).toBe('APPLIED')
    expect((await device.send(topic, 'offline')).body.verdict).toBe('APPLIED')
    for (const observedAt of ['yesterday', ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z']])
      expect((await device.send(topic, 'online', { userProperties: { observedAt } })).body).toMatchObject({
        status: 422,
        errors: [{ field: 'observedAt' }],
      })
    await device.close()
  })

  it('make a device ONLINE whose clock was reset before it connected again', async () => {
    const device = await connectDevice(broker.url, 'edge-11')
    const say = async (word: string, observedAt: string): Promise<unknown> => {
      const { body } = await device.send('rollcall/edge-11/connection', word, { userProperties: { observedAt } })
      const { device: now } = await server.query('{ device(deviceId: "edge-11") { connectivity } }')
      return [body.verdict, now.connectivity]
    }
    const right = new Date(Date.now() - 3_600_000).toISOString()
    const reset = '1970-01-01T00:00:07.000Z'
    expect(await say('online', right)).toEqual(['APPLIED', 'ONLINE'])
    expect(await say('offline', right)).toEqual(['APPLIED', 'OFFLINE'])
    expect(await say('online', reset)).toEqual(['APPLIED', 'ONLINE'])
    expect(await say('offline', reset)).toEqual(['APPLIED', 'OFFLINE'])
    expect(await say('online', right)).toEqual(['APPLIED', 'ONLINE'])
    // A will may be late, because a broker notices the end of a connection late.
    expect(await say('offline', reset)).toEqual(['STALE', 'ONLINE'])
    await device.close()
  })

  it('without an acknowledgement (QoS 0) are accepted too, and a flood of them is bounded', async () => {
    const count = someOf(1_000, 3_000)
    for (let n = 0; n < count; n += 1)
      device.client.publish('rollcall/edge-1/deployments/d-6/status', JSON.stringify(bodyOf('d-6', 'installed')))
    expect((await device.report('d-7', 'installed')).body.verdict).toBe('APPLIED')
    expect(await stateOf(server, 'd-6')).toBe('INSTALLED')
    expect(await metricOf(server, 'rollcall_mqtt_messages_total{kind="report",outcome="dropped"}')).toBeLessThan(count)
  })
})

describe.skipIf(isMissing).each(stores)('credentials by MQTT on $name', (store) => {
  let broker: Mosquitto
  beforeAll(async () => {
    broker = await startMosquitto()
  })
  afterAll(() => broker?.dispose())

  it('are tokens and signatures in user properties, checked as over HTTP', async () => {
    const server = await startApp({
      store,
      env: { MQTT_URL: broker.url, DEVICE_AUTH: 'token,signature', DEVICE_RATE: '1' },
    })
    await receiving(server)
    const key = newKey.ed25519()
    const [token] = await registerAll(server, [
      { deviceId: 'with-token' },
      { deviceId: 'with-key', publicKeys: [key.publicKey] },
    ])
    const [device, signer] = [
      await connectDevice(broker.url, 'with-token'),
      await connectDevice(broker.url, 'with-key'),
    ]
    const authorization = `Bearer ${token}`
    const missing = (await device.report('d', 'installed')).body
    expect(missing).toMatchObject({ status: 401, detail: expect.stringContaining('Authorization: Bearer') })
    expect((await device.report('d', 'installed', { userProperties: { authorization } })).body.verdict).toBe('APPLIED')
    // A body that is wrong comes before a credential that is missing, as over HTTP.
    expect((await device.report('d', 'flying')).body.status).toBe(422)
    const other = 'rollcall/with-key/deployments/d/status'
    const sent = { userProperties: { Authorization: authorization } }
    const pending = device.send(other, bodyOf('d', 'installed'), sent)
    // Its response topic is not that of the device in the topic, so it gets no answer.
    pending.catch(() => undefined)
    await expect.poll(() => refusals(server, 'token', 'not-its-own')).toBe(1)

    const [topic, body] = ['rollcall/with-key/deployments/pump/status', JSON.stringify(bodyOf('pump', 'installed'))]
    const userProperties = signed(key, { url: `mqtt://${topic}`, method: 'PUBLISH', body })
    expect((await signer.send(topic, body, { userProperties })).body.verdict).toBe('APPLIED')
    expect((await signer.send(topic, body, { userProperties })).body).toMatchObject({ status: 401 })
    expect(await refusals(server, 'signature', 'replayed')).toBe(1)
    const forHttp = signed(key, { url: `${server.url}/device/with-key/deployment/pump/status`, body })
    expect((await signer.send(topic, body, { userProperties: forHttp })).body).toMatchObject({ status: 401 })
    const elsewhere = signed(key, { url: `mqtt://rollcall/with-key/deployments/x/status`, method: 'PUBLISH', body })
    expect((await signer.send(topic, body, { userProperties: elsewhere })).body).toMatchObject({ status: 401 })
    const many = { note: Array.from({ length: 200 }, () => 'x'.repeat(100)) }
    const short = { note: Array.from({ length: 2_000 }, () => 'x') }
    for (const userProperties of [many, short])
      expect((await signer.send(topic, body, { userProperties })).body).toMatchObject({ code: 'LIMIT_EXCEEDED' })
    const ofEveryObject = Object.fromEntries(['__proto__', 'constructor', 'toString'].map((name) => [name, 'x']))
    const more = { userProperties: { ...ofEveryObject, authorization } }
    expect((await device.report('named', 'installed', more)).body).toMatchObject({ verdict: 'APPLIED' })

    const answers = await Promise.all(
      Array.from({ length: 30 }, () => device.report('d', 'installed', { userProperties: { authorization } })),
    )
    expect(answers.filter(({ body: { status } }) => status === 429).length).toBeGreaterThan(0)
    await Promise.all([device.close(), signer.close(), server.stop()])
  })
})
