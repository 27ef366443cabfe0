/** A broker that accepts small messages only: it ends the connection of a client that sends a larger one. */
import { connectAsync } from 'mqtt'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bodyOf, connectDevice, receiving } from '../support/clients/mqtt-device.ts'
import { startApp } from '../support/servers/app.ts'
import { findMosquitto, startMosquitto } from '../support/systems/mosquitto.ts'

const isMissing = findMosquitto() === null

async function startBoth(env: Record<string, string> = {}) {
  const broker = await startMosquitto({ largestMessage: 5_000 })
  onTestFinished(() => broker.dispose())
  const server = await startApp({ env: { MQTT_URL: broker.url, ...env } })
  onTestFinished(() => server.stop())
  await receiving(server)
  const warnings = () =>
    server.logged.filter(({ level }) => level === 'warn' || level === 'error').map(({ msg }) => msg)
  return { broker, server, warnings }
}

describe.skipIf(isMissing)('a message that is larger than the broker accepts', () => {
  it('is sent without its list of errors where it is an answer, and other devices get theirs', async () => {
    const { broker, warnings } = await startBoth()
    const device = await connectDevice(broker.url, 'edge-1')
    onTestFinished(() => device.close())
    const components = Array.from({ length: 100 }, () => ({}))
    const taken = await device.report('d-0', 'installing', { body: { components } })
    expect(taken.body).toMatchObject({ verdict: 'APPLIED', warnings: [] })
    const refused = await device.report('d-1', 'broken', { body: { components } })
    expect(refused).toMatchObject({
      contentType: 'application/problem+json',
      body: { status: 422, code: 'SEMANTIC_ERROR', retryable: false, errors: [] },
    })
    expect((await device.report('d-1', 'installing')).body.verdict).toBe('APPLIED')
    expect(warnings()).toEqual([])
  })

  it('is published without content where it is about the fleet, and what follows is published', async () => {
    const { broker, server, warnings } = await startBoth({ MQTT_PUBLISH: 'all' })
    const observer = await connectAsync(broker.url, { protocolVersion: 5 })
    onTestFinished(() => observer.endAsync(true))
    const lengths = new Map<string, number>()
    observer.on('message', (topic, payload) => {
      const [, deployment] = /present\/deployments\/([^/]+)/.exec(topic) ?? []
      if (deployment !== undefined) lengths.set(deployment, payload.length)
    })
    await observer.subscribeAsync('rollcall/present/#', { qos: 1 })
    const report = (id: string, components: object[]) =>
      server.post(`/device/edge-1/deployment/${id}/status`, bodyOf(id, 'installing', { components }))
    await report('large', [{ name: 'one', state: 'installing' }])
    await expect.poll(() => lengths.get('large')).toBeGreaterThan(0)
    await report(
      'large',
      Array.from({ length: 200 }, (_, index) => ({ name: `part-${index}`, state: 'installing' })),
    )
    await report('small', [])
    await expect.poll(() => lengths.get('small')).toBeGreaterThan(0)
    expect(lengths.get('large')).toBe(0)
    expect(warnings()).toEqual(['a message is too large for the MQTT broker'])
    expect(await server.app.metrics.print()).toMatch(/rollcall_mqtt_publications_too_large_total [1-9]/)
  })
})
