/** Clients behind a proxy, which forwards their certificates: they are verified as on a connection of their own. */
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunningApp } from '../../support/servers/app.ts'
import { type Certificate, clientCert } from '../devices/certificates.ts'
import { bodyOf, statusOf } from '../devices/devices.ts'
import { serverId, start, usePlant } from './plant.ts'
import { idOf, issueSvid } from './svids.ts'

const plant = usePlant()
let app: RunningApp
beforeAll(async () => {
  plant.publish(1, plant.first)
  const { TLS_CERT: _, TLS_KEY: __, ...env } = await plant.env()
  app = await start({
    ...env,
    ...{ SPIFFE_ID: serverId, TRUSTED_PROXIES: '127.0.0.1', CLIENT_CERT_HEADER: 'overwritten' },
  })
})
afterAll(() => app.stop())

const inList = (...certificates: readonly Pick<Certificate, 'cert'>[]) =>
  certificates.map(({ cert }) => `:${new X509Certificate(cert).raw.toString('base64')}:`).join(', ')
async function report(headers: Record<string, string>) {
  const response = await app.post(statusOf('press'), bodyOf(), headers)
  return [response.status, ((await response.json()) as { detail?: string }).detail]
}
const is = (text: string) => [401, expect.stringContaining(text)]

describe('a certificate that a proxy forwards', () => {
  it('needs a path to an authority of the identity service, over those that the proxy forwards with it', async () => {
    const press = await issueSvid(plant.first, idOf('press'))
    expect(await report(clientCert(press))).toEqual([201, undefined])
    expect(await report({ 'client-cert': encodeURIComponent(press.cert) })).toEqual([201, undefined])
    expect(await report(clientCert(await issueSvid(plant.second, idOf('press'))))).toEqual(is('no authority'))
    const upper = await plant.first.subordinate('upper')
    const lower = await upper.subordinate('lower')
    const below = clientCert(await issueSvid(lower, idOf('press')))
    expect(await report(below)).toEqual(is('the certificates between them were not sent'))
    expect(await report({ ...below, 'client-cert-chain': inList(upper, lower) })).toEqual([201, undefined])
    expect(await report({ ...below, 'client-cert-chain': inList(upper) })).toEqual(is('were not sent'))
    for (const text of [':AAAA:', 'x', '"x"', '(', ';'])
      expect(await report({ ...below, 'client-cert-chain': text })).toEqual(is('Client-Cert-Chain must be'))
  })

  it('is that of a client of this server', async () => {
    const other = await issueSvid(plant.first, idOf('press', 'factory.example', 'other'))
    expect(await report(clientCert(other))).toEqual(is('no client of this server'))
  })

  it('is refused from the next request on when its authority is removed', async () => {
    const [old, renewed] = [await issueSvid(plant.first, idOf('press')), await issueSvid(plant.second, idOf('press'))]
    expect(await report(clientCert(old))).toEqual([201, undefined])
    plant.publish(2, plant.second)
    await app.app.reload()
    expect(await report(clientCert(old))).toEqual(is('no authority'))
    expect(await report(clientCert(renewed))).toEqual([201, undefined])
  })
})
