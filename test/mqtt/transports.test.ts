/** A real broker with TLS and WebSockets: the addresses, authorities and certificates that docs/mqtt.md configures. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/server/config/config.ts'
import {
  type Authority,
  type Certificate,
  type Certificates,
  createCertificates,
} from '../auth/devices/certificates.ts'
import { connectDevice, receiving } from '../support/clients/mqtt-device.ts'
import { blocksOf, readPage } from '../support/documentation.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { findMosquitto, type Mosquitto, startMosquitto } from '../support/systems/mosquitto.ts'

const isMissing = findMosquitto() === null
const blocks = blocksOf(readPage('docs/mqtt.md'))

describe.skipIf(isMissing)('a broker with TLS and WebSockets', () => {
  let certificates: Certificates
  let authority: Authority
  let other: Authority
  let own: Certificate
  let broker: Mosquitto

  beforeAll(async () => {
    certificates = await createCertificates()
    ;[authority, other] = await Promise.all([certificates.authority('plant'), certificates.authority('other')])
    const named = await authority.issue('localhost', { names: 'DNS:localhost' })
    own = await authority.issue('rollcall-server')
    const rules = blocks.find(({ text }) => text.startsWith('pattern'))?.text.split('\n') ?? []
    broker = await startMosquitto({ rules, tls: { authority: authority.files.cert, ...named.files } })
  })
  afterAll(async () => {
    await broker?.dispose()
    await certificates?.remove()
  })

  const withFiles = (): Record<string, string> => ({
    MQTT_CA: authority.files.cert,
    MQTT_CERT: own.files.cert,
    MQTT_KEY: own.files.key,
  })
  const user = { MQTT_USER: 'rollcall-server', MQTT_PASSWORD: 'secret' }
  const start = (protocol: 'mqtts' | 'ws' | 'wss', env: Record<string, string>): Promise<RunningApp> =>
    startApp({ env: { MQTT_URL: broker.others?.[protocol] ?? '', MQTT_PUBLISH: 'all', ...env } })

  it.each([
    // The rules admit the name of the certificate.
    ['mqtts', () => withFiles()],
    ['ws', () => user],
    ['wss', () => ({ ...user, MQTT_CA: authority.files.cert })],
  ] as const)('takes reports and publishes over %s://', async (protocol, env) => {
    const server = await start(protocol, env())
    await receiving(server)
    const device = await connectDevice(broker.url, 'edge-1', { username: 'edge-1' })
    const observer = await connectDevice(broker.url, 'observer', { username: 'rollcall-server' })
    const published = new Promise<string>((resolve) =>
      observer.client.on('message', (topic) => topic.includes(`/${protocol}/`) && resolve(topic)),
    )
    await observer.client.subscribeAsync('rollcall/present/deployments/#', { qos: 1 })
    expect((await device.report(protocol, 'installed')).body.verdict).toBe('APPLIED')
    expect(await published).toContain('rollcall/present/deployments/')
    await Promise.all([device.close(), observer.close(), server.stop()])
  })

  it.each([
    ['a broker of another authority', 'mqtts', () => ({ ...withFiles(), MQTT_CA: other.files.cert })],
    ['a broker of another authority', 'wss', () => ({ ...user, MQTT_CA: other.files.cert })],
    ['a broker of an authority that the system does not know', 'wss', () => user],
    ['a broker that wants a certificate, without one', 'mqtts', () => ({ ...user, MQTT_CA: authority.files.cert })],
  ] as const)('does not connect to %s over %s://, and says so', async (_, protocol, env) => {
    const server = await start(protocol, env())
    const lines = (): readonly unknown[] => server.logged.map(({ msg }) => msg)
    await expect
      .poll(lines)
      .toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^the (MQTT broker cannot be reached|connection to the MQTT broker was lost)/),
        ]),
      )
    expect(lines()).not.toContain('connected to the MQTT broker')
    await server.stop()
  })

  it('is configured as the page says', () => {
    const text = blocks.find(({ language }) => language === 'env')?.text.trim() ?? ''
    const given = Object.fromEntries(text.split('\n').map((line) => line.split('=', 2)))
    expect(parseConfig(given).mqtt).toMatchObject({
      url: 'mqtts://broker.example:8883',
      files: { ca: expect.any(String), cert: expect.any(String), key: expect.any(String) },
    })
    const listener = blocks.find(({ text: lines }) => lines.startsWith('listener'))?.text ?? ''
    for (const line of ['cafile', 'certfile', 'keyfile', 'require_certificate true', 'use_identity_as_username true'])
      expect(listener).toContain(line)
  })
})
