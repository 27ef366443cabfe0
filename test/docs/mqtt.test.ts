/** docs/mqtt.md: its commands are executed with a real broker, and its topic rules keep devices apart. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectDevice, receiving } from '../support/clients/mqtt-device.ts'
import { blocksOf, execute, readPage } from '../support/documentation.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { findMosquitto, type Mosquitto, startMosquitto } from '../support/systems/mosquitto.ts'

const isMissing = findMosquitto() === null
const blocks = blocksOf(readPage('docs/mqtt.md'))

describe.skipIf(isMissing)('docs/mqtt.md', () => {
  let broker: Mosquitto
  let server: RunningApp
  beforeAll(async () => {
    const rules = blocks.find(({ text }) => text.startsWith('pattern'))?.text.split('\n') ?? []
    // The commands of the page have no user. Rules before the first user are those of such clients.
    broker = await startMosquitto({
      rules: ['topic readwrite rollcall/edge-1/#', 'topic read rollcall/present/#', ...rules],
    })
    server = await startApp({
      env: { MQTT_URL: broker.url, MQTT_USER: 'rollcall-server', MQTT_PASSWORD: 'secret', MQTT_PUBLISH: 'all' },
    })
    await receiving(server)
  })
  afterAll(async () => {
    await server?.stop()
    await broker?.dispose()
  })

  it('answers what it says', async () => {
    const here = blocks.map(({ language, text }) => ({
      language: ['text', 'env'].includes(language) ? 'rules' : language,
      text: text.replaceAll(/mosquitto_\w+ -V 5/g, `$& -p ${broker.port}`),
    }))
    const observer = await connectDevice(broker.url, 'edge-1')
    let present = ''
    // It gets the answers to the reports of edge-1 too.
    observer.client.on('message', (topic, payload) => {
      if (topic.startsWith('rollcall/present/')) present = payload.toString()
    })
    await observer.client.subscribeAsync('rollcall/present/deployments/hello/+', { qos: 1 })
    await execute(here, {
      url: server.url,
      async skip(command) {
        // What is published follows the report.
        if (command.startsWith('mosquitto_sub')) await expect.poll(() => present).toContain('INSTALLED')
        return /npm (start|run)/.test(command)
      },
    })
    await observer.close()
    const document = '{ deployment(deploymentId: "hello") { state reporter } }'
    await expect
      .poll(async () => (await server.query(document)).deployment)
      .toEqual({ state: 'INSTALLED', reporter: 'edge-1' })
  })

  it('has topic rules by which a device reports only as itself', async () => {
    const device = await connectDevice(broker.url, 'edge-2', { username: 'edge-2' })
    expect((await device.report('own', 'installed')).body.verdict).toBe('APPLIED')
    await device.client
      .publishAsync('rollcall/edge-3/deployments/other/status', '{}', { qos: 1 })
      .catch((error: unknown) => expect(String(error)).toMatch(/not authorized/i))
    // Mosquitto answers PUBLISH in order, so that a report after it shows that the other was not taken.
    expect((await device.report('own', 'installed')).body.verdict).toBe('UNCHANGED')
    expect((await server.query('{ deployment(deploymentId: "other") { state } }')).deployment).toBeNull()
    await device.close()
  })
})
