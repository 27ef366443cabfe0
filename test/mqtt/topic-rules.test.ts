/** Mosquitto with rules that do not let the server subscribe, read or publish, and what the server does when they are changed. */
import { connectAsync } from 'mqtt'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bodyOf, connectDevice, type MqttDevice, receiving } from '../support/clients/mqtt-device.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { findMosquitto, type Mosquitto, type MosquittoOptions, startMosquitto } from '../support/systems/mosquitto.ts'

const isMissing = findMosquitto() === null
/** Clients without a user are devices. */
const ofDevices = ['topic readwrite rollcall/+/#', 'user server']
const [mayRead, mayWrite] = ['topic read $share/rollcall/rollcall/#', 'topic write rollcall/#']
const mayAll = ['topic readwrite rollcall/#', mayRead]

interface Started {
  readonly broker: Mosquitto
  readonly server: RunningApp
  readonly device: MqttDevice
}

async function start(options: MosquittoOptions): Promise<Started> {
  const broker = await startMosquitto(options)
  onTestFinished(() => broker.dispose())
  const server = await startApp({ env: { MQTT_URL: broker.url, MQTT_USER: 'server', MQTT_PUBLISH: 'all' } })
  onTestFinished(() => server.stop())
  const device = await connectDevice(broker.url, 'edge-1')
  onTestFinished(() => device.close())
  return { broker, server, device }
}

const count = ({ logged }: RunningApp, begin: string): number =>
  logged.filter(({ msg }) => String(msg).startsWith(begin)).length
const stateOf = async (server: RunningApp, id: string): Promise<unknown> =>
  (await server.query('query ($id: String!) { deployment(deploymentId: $id) { state } }', { id })).deployment?.state
const sessionsOf = async ({ url }: RunningApp): Promise<unknown> =>
  (await (await fetch(`${url}/readyz?verbose`)).json()).mqtt.sessions

describe.skipIf(isMissing)('a Mosquitto', () => {
  it('that refuses the subscription is asked again, on the same connection', async () => {
    const broker = await startMosquitto({ refusesSubscriptions: true })
    onTestFinished(() => broker.dispose())
    const server = await startApp({ env: { MQTT_URL: broker.url } })
    onTestFinished(() => server.stop())
    await expect.poll(() => sessionsOf(server)).toEqual({ connected: 0, refused: 1, disconnected: 0 })
    expect(await server.app.metrics.print()).toMatch(/^rollcall_mqtt_subscriptions_refused_total [1-9]/m)
    expect(count(server, 'the MQTT broker refused the subscription')).toBe(1)
    const operator = await connectAsync(broker.url, { protocolVersion: 5 })
    const commands = [{ command: 'setDefaultACLAccess', acls: [{ acltype: 'subscribe', allow: true }] }]
    await operator.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }), { qos: 1 })
    await operator.endAsync()
    await receiving(server)
    const device = await connectDevice(broker.url, 'edge-1')
    expect((await device.report('d', 'installed')).body.verdict).toBe('APPLIED')
    expect(count(server, 'connected to the MQTT broker')).toBe(1)
    await device.close()
  })

  it('whose rules do not let the server read drops reports, and delivers them when the rules are loaded again', async () => {
    const { broker, server, device } = await start({ rules: [...ofDevices, mayWrite] })
    await receiving(server)
    const topic = 'rollcall/edge-1/deployments/dropped/status'
    await device.client.publishAsync(topic, JSON.stringify(bodyOf('dropped', 'installed')), { qos: 1 })
    expect(await sessionsOf(server)).toMatchObject({ connected: 1 })
    broker.setRules([...ofDevices, ...mayAll])
    const reported = (): Promise<unknown> => {
      void device.report('delivered', 'installed')
      return stateOf(server, 'delivered')
    }
    await expect.poll(reported).toBe('INSTALLED')
    expect(await stateOf(server, 'dropped')).toBeUndefined()
  })

  // This version, where it keeps any number of messages, also ends the connection.
  it('whose rules do not let the server publish has its reports taken, and the rest when the rules are loaded again', async () => {
    const { broker, server, device } = await start({ rules: [...ofDevices, mayRead, 'topic read rollcall/#'] })
    await receiving(server)
    for (const state of ['installing', 'installed']) {
      void device.report('d', state)
      await expect.poll(() => stateOf(server, 'd')).toBe(state.toUpperCase())
    }
    const refused = async () =>
      /^rollcall_mqtt_answers_refused_total (\d+)$/m.exec(await server.app.metrics.print())?.[1]
    await expect.poll(refused).toBe('2')
    await expect.poll(() => count(server, 'the fleet was not published by MQTT')).toBe(1)
    expect(count(server, 'the MQTT broker refuses answers')).toBeGreaterThan(0)

    broker.setRules([...ofDevices, ...mayAll])
    await expect.poll(() => count(server, 'the fleet is published by MQTT again')).toBe(1)
    expect((await device.report('d', 'installed')).body.verdict).toBe('UNCHANGED')
    const retained = new Map<string, string>()
    device.client.on('message', (at, payload) => retained.set(at, String(payload)))
    await device.client.subscribeAsync('rollcall/present/deployments/d/+', { qos: 1 })
    await expect.poll(() => [...retained.values()].join()).toContain('"state":"INSTALLED"')
    expect([await refused(), count(server, 'the fleet was not published by MQTT')]).toEqual(['2', 1])
  })
})
