/** A simulated fleet that reports through a broker, while the broker is restarted, killed and cut off: the ledger agrees with the server. */
import { connectAsync } from 'mqtt'
import { describe, expect, it, onTestFinished } from 'vitest'
import { simulate } from '../simulate/check/checked.ts'
import { receiving } from '../support/clients/mqtt-device.ts'
import { stores } from '../support/databases/stores.ts'
import { startApp } from '../support/servers/app.ts'
import { findMosquitto, startMosquitto } from '../support/systems/mosquitto.ts'

const isMissing = findMosquitto() === null

describe.skipIf(isMissing).each(stores)('a simulation by MQTT on $name', (store) => {
  it('finds that the server knows all that it has answered, while the broker is restarted, cut off and killed', async () => {
    const broker = await startMosquitto({ isPersistent: true })
    onTestFinished(() => broker.dispose())
    const server = await startApp({ store, env: { MQTT_URL: broker.url, MQTT_PUBLISH: 'all' } })
    onTestFinished(() => server.stop())
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    await receiving(server)
    const size = { devices: 30, rollouts: 2, clusters: 0, agents: 0, seed: 7, run: 'by-mqtt' }
    const options = { url: server.url, mqtt: broker.url, ...size, speed: 120, duration: null }
    let answered = (): number => 0
    const playing = simulate(options, stop.signal, ({ ledger }) => {
      answered = () => ledger.verdicts.APPLIED + ledger.verdicts.UNCHANGED + ledger.verdicts.STALE
    })
    const more = (): Promise<void> => {
      const before = answered()
      return expect.poll(() => answered()).toBeGreaterThan(before + 50)
    }
    await more()
    await broker.stop('SIGTERM')
    await broker.start()
    await more()
    // Another client with its ID ends the server's connection, and acknowledges nothing.
    const impostor = await connectAsync(broker.url, {
      ...{ protocolVersion: 5, clientId: 'rollcall-in-0', clean: false, reconnectPeriod: 0 },
      properties: { sessionExpiryInterval: 3_600 },
    })
    impostor.handleMessage = () => {}
    await impostor.endAsync(true)
    await more()
    // A broker that returned with an old state would deliver reports again that were followed by others. One that lost it asks for repeats.
    await broker.stop('SIGKILL')
    broker.forget()
    await broker.start()
    await more()
    stop.abort()
    const findings = await playing
    expect(findings.differences).toEqual([])
    expect(findings.reports).toBeGreaterThan(100)
  })
})
