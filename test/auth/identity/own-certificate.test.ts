/** The X.509-SVID of a server with an identity service, over real TLS: it names the server, and is replaced while it runs. */
import { copyFileSync } from 'node:fs'
import { Agent } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { defaultTimeouts } from '../../../src/api/rest/guard.ts'
import type { RunningApp } from '../../support/servers/app.ts'
import { report, serverId, start, usePlant } from './plant.ts'
import { bundleOf, chainOf, idOf, issueSvid, signs } from './svids.ts'

const plant = usePlant()
const svid = (client: string, by = plant.first) => issueSvid(by, idOf(client), { days: 3 })
const shown = ({ socket }: { socket: unknown }) => (socket as TLSSocket).getPeerX509Certificate()?.fingerprint256

describe("the server's own certificate", () => {
  async function renewed(env: Record<string, string>, app: RunningApp, names: string, by = plant.first): Promise<void> {
    const next = await by.issue('', { names: `${names},IP:127.0.0.1`, usage: signs, days: 4 })
    copyFileSync(next.files.cert, env.TLS_CERT ?? '')
    copyFileSync(next.files.key, env.TLS_KEY ?? '')
    await app.app.reload()
    expect(shown(await report(app, 'press', await svid('press')))).toBe(chainOf(next)[0]?.fingerprint256)
  }

  it('may be an X.509-SVID that is replaced while it runs', async () => {
    plant.publish(1, plant.first)
    const env = await plant.env()
    const app = await start(env)
    const [press, agent] = [await svid('press'), new Agent({ keepAlive: true, maxSockets: 1 })]
    const { socket } = await report(app, 'press', press, { agent })
    await renewed(env, app, `URI:${serverId}`)
    const again = await report(app, 'press', press, { agent })
    expect([again.status, again.socket]).toEqual([201, socket])
    // Its name says whose clients they are.
    await renewed(env, app, 'URI:spiffe://factory.example/margo/wfm/other')
    expect((await report(app, 'press', press, { agent })).status).toBe(401)
    await renewed(env, app, 'DNS:plant.example')
    expect(app.logged.map(({ msg }) => msg)).toContainEqual(expect.stringContaining('TLS_CERT has no SPIFFE id'))
    await renewed(env, app, `URI:${serverId}`, plant.second)
    expect(app.logged.at(-1)).toMatchObject({ msg: 'the certificates of TLS were replaced' })
    const said = app.logged.map(({ msg }) => String(msg)).filter((msg) => msg.startsWith('TLS_CERT is no valid'))
    expect(said).toEqual([expect.stringMatching(/no authority of its trust domain issued it.*\. Clients refuse it$/)])
    agent.destroy()
    await app.stop()
  })

  it('may be replaced by one of another trust domain, whose authorities are asked for at once', async () => {
    const { service, first, second } = plant
    const domains = { 'factory.example': bundleOf(1, first), 'mine.example': bundleOf(1, second) }
    service.publish({ '/map.json': { trust_domains: domains } })
    const env = await plant.env({ IDENTITY_SERVICE: `${service.url}/map.json` })
    const app = await start(env, { timeouts: { ...defaultTimeouts, tlsFiles: 20 } })
    const next = await second.issue('', { names: 'URI:spiffe://mine.example/margo/wfm/pit', usage: signs })
    copyFileSync(next.files.cert, env.TLS_CERT ?? '')
    copyFileSync(next.files.key, env.TLS_KEY ?? '')
    const drill = await issueSvid(second, idOf('drill', 'mine.example', 'pit'))
    await expect.poll(async () => (await report(app, 'drill', drill)).status, { timeout: 10_000 }).toBe(201)
    await app.stop()
    const unserved = { ...env, IDENTITY_SERVICE: `factory.example=${service.url}/map.json` }
    await expect(start(unserved)).rejects.toThrow('IDENTITY_SERVICE names no service for the trust domain mine.example')
  })

  it('must name the server, unless SPIFFE_ID does', async () => {
    plant.publish(1, plant.first)
    const plain = await plant.web.issue('plant', { names: 'IP:127.0.0.1' })
    const env = await plant.env({ TLS_CERT: plain.files.cert, TLS_KEY: plain.files.key })
    await expect(start(env)).rejects.toThrow('TLS_CERT has no SPIFFE id')
    const app = await start({ ...env, SPIFFE_ID: serverId })
    expect((await report(app, 'press', await svid('press'))).status).toBe(201)
    await app.stop()
  })
})
