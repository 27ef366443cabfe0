/**
 * What the agent of Margo's sandbox sends, byte for byte as Go writes it: of September 2026, by mutual TLS with an X.509-SVID, and of the year before.
 * It reads status codes strictly: another one than the expected ends its start.
 */
import { createHash, X509Certificate } from 'node:crypto'
import { connect as connectPlain } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { Certificate } from '../../auth/devices/certificates.ts'
import { registerAll } from '../../auth/devices/devices.ts'
import { asCaller, start, usePlant } from '../../auth/identity/plant.ts'
import { idOf, issueSvid } from '../../auth/identity/svids.ts'
import { declare, documentOf } from '../../support/clients/desired.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const plant = usePlant()
const client = 'northstar.xtapro.edge'
const deployment = 'a3e2f5dc-912e-494f-8395-52cf3769bc06'
const sha256 = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

interface Answer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** The agent keeps no connection alive, so that the server's certificate is verified each time. */
function exchange(app: RunningApp, request: string, client: Certificate | null): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const to = { host: '127.0.0.1', port: app.port }
    const socket = client
      ? connect({
          ...to,
          cert: client.cert,
          key: client.key,
          rejectUnauthorized: false,
          ALPNProtocols: ['h2', 'http/1.1'],
        })
      : connectPlain(to)
    const chunks: Buffer[] = []
    socket.on('error', reject).on('data', (chunk: Buffer) => void chunks.push(chunk))
    socket.on('end', () => resolve(read(Buffer.concat(chunks))))
    socket.once(client ? 'secureConnect' : 'connect', () => (socket as TLSSocket).write(request))
  })
}

function read(bytes: Buffer): Answer {
  const end = bytes.indexOf('\r\n\r\n')
  const [first = '', ...lines] = bytes.subarray(0, end).toString().split('\r\n')
  const headers = new Map(
    lines.map((line) => [line.split(': ')[0]?.toLowerCase() ?? '', line.slice(line.indexOf(': ') + 2)]),
  )
  const body = bytes.subarray(end + 4)
  // Go asks for gzip by itself, and unpacks what it asked for.
  return {
    status: Number(first.split(' ')[1]),
    headers,
    body: headers.get('content-encoding') === 'gzip' ? gunzipSync(body) : body,
  }
}

const get = (app: RunningApp, path: string, headers = '') =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${app.port}\r\nUser-Agent: Go-http-client/1.1\r\n${headers}Accept-Encoding: gzip\r\nConnection: close\r\n\r\n`
const send = (app: RunningApp, method: string, path: string, body: string) =>
  `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${app.port}\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: ${Buffer.byteLength(body)}\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n${body}`

const manifestType = 'application/vnd.margo.manifest.v1+json'
/** The agent writes its labels and quantities as its file has them. */
const capabilities = `{"labels":{"example.com/formats":[".wasm",".aot"],"example.com/os":"zephyr"},"properties":{"cpus":[{"architecture":"amd64","cores":24}],"id":"${client}","interfaces":[{"type":"ethernet"},{"type":"wifi"}],"memory":"59 Gi","modelNumber":"332ANZE1-N1","otelCollector":true,"peripherals":[{"manufacturer":"NVIDIA","type":"gpu"}],"serialNumber":"PF45343-AA","storage":"1862 Gi","supportedDeploymentTypes":["compose"],"supportedRuntimes":["oci"],"vendor":"Northstar Industrial Devices"}}`

const stateOf = `query ($id: String!) { deployment(deploymentId: $id) {
  state reporter adoptedManifestVersion error { code message } components { name state } device { deviations { kind } }
} }`
const stateIn = async (app: RunningApp) => (await app.query(stateOf, { id: deployment })).deployment

describe("the sandbox's agent", () => {
  it('of September 2026 reports its capabilities, fetches what it should run, and reports how that goes', async () => {
    plant.publish(1, plant.first)
    const app = await start(await plant.env({ DEVICE_PROVISION: 'false' }))
    const caller = asCaller(app)
    // Its device has a name of its own, in a file, which is another than that of the client in its certificate.
    const spiffeId = idOf('line-3-client')
    await registerAll(caller, [{ deviceId: client, spiffeIds: [spiffeId] }])
    const agent = await issueSvid(plant.first, spiffeId)
    const ask = (request: string) => exchange(app, request, agent)
    const describe = send(app, 'PUT', `/api/v1/capabilities/${client}`, capabilities)
    expect([(await ask(describe)).status, (await ask(describe)).status]).toEqual([201, 200])

    const document = documentOf(deployment)
    await declare(caller, [{ deviceId: client, deploymentId: deployment, document }])
    const manifest = await ask(get(app, '/api/v1/deployments', `Accept: ${manifestType}\r\n`))
    expect([manifest.status, manifest.headers.get('content-type')]).toEqual([200, manifestType])
    const { manifestVersion, bundle, deployments } = JSON.parse(String(manifest.body))
    expect([manifestVersion > 0, deployments.length, deployments[0].deploymentId]).toEqual([true, 1, deployment])
    const etag = `Accept: ${manifestType}\r\nIf-None-Match: ${manifest.headers.get('etag')}\r\n`
    expect((await ask(get(app, '/api/v1/deployments', etag))).status).toBe(304)
    const archive = await ask(get(app, `/api/v1/bundles/${bundle.digest}`))
    expect([archive.status, sha256(archive.body)]).toEqual([200, bundle.digest])
    // It looks for this name.
    expect(gunzipSync(archive.body).toString('latin1', 0, 100).replaceAll('\0', '')).toBe(`${deployment}.yaml`)
    const single = await ask(get(app, `/api/v1/deployments/${deployment}/${deployments[0].digest}`))
    expect([single.status, sha256(single.body), String(single.body)]).toEqual([200, deployments[0].digest, document])

    const tell = async (version: string, status: string, components = '[]') => {
      const body = `{${version}"components":${components},"deploymentId":"${deployment}","deviceId":"${client}","status":${status}}`
      return (await ask(send(app, 'POST', `/api/v1/deployments/${deployment}/status`, body))).status
    }
    // While its database has no version, it sends 0; an earlier one of the same month sent none.
    expect(await tell('"adoptedManifestVersion":0,', '{"state":"pending"}')).toBe(200)
    expect(await tell('', '{"state":"installing"}', '[{"name":"web","state":"installing"}]')).toBe(200)
    expect(await stateIn(caller)).toMatchObject({ state: 'INSTALLING', reporter: client, adoptedManifestVersion: null })
    const failed = `{"error":{"code":"DEPLOYMENT_ERROR","message":"failed to pull \\u003cimage\\u003e: exit status 1\\n"},"state":"failed"}`
    const version = `"adoptedManifestVersion":${manifestVersion},`
    expect(await tell(version, failed, '[{"error":{"code":"E","message":"m"},"name":"web","state":"failed"}]')).toBe(
      200,
    )
    const found = await stateIn(caller)
    expect(found).toMatchObject({ state: 'FAILED', adoptedManifestVersion: String(manifestVersion) })
    expect(found.error).toEqual({ code: 'DEPLOYMENT_ERROR', message: 'failed to pull <image>: exit status 1\n' })
    expect(found.device.deviations.map(({ kind }: { kind: string }) => kind)).toContain('PART_NOT_UNDERSTOOD')
    await app.stop()
  })

  it('of the year before onboards itself, and has its client in each path', async () => {
    const app = await startApp()
    const ask = (request: string) => exchange(app, request, null)
    const { cert } = await plant.first.issue('device', { names: `URI:${idOf(client)}` })
    // Base64 of the PEM, not of what it contains.
    const certificate = Buffer.from(cert).toString('base64')
    expect(new X509Certificate(Buffer.from(certificate, 'base64')).subject).toBe('CN=device')
    for (const field of ['certificate', 'public_certificate']) {
      const body = `{"apiVersion":"onboarding.margo.org/v1alpha1","${field}":"${certificate}","kind":"OnboardingRequest"}`
      const answer = await ask(send(app, 'POST', '/api/v1/onboarding', body))
      expect([answer.status, JSON.parse(String(answer.body)).clientId]).toEqual([201, client])
    }
    const older = `{"apiVersion":"device.margo/v1","kind":"DeviceCapabilitiesManifest","properties":{"cpu":[{"architecture":"amd64","cores":24}],"id":"${client}","memory":"59 Gi","modelNumber":"332ANZE1-N1","otelCollector":true,"serialNumber":"PF45343-AA","storage":"1862 Gi","supportedDeploymentTypes":["helm"],"supportedRuntimes":["oci"],"vendor":"Northstar"}}`
    const path = `/api/v1/clients/${client}`
    for (let time = 0; time < 2; time += 1)
      expect((await ask(send(app, 'POST', `${path}/capabilities`, older))).status).toBe(201)
    await declare(app, [{ deviceId: client, deploymentId: deployment, document: documentOf(deployment) }])
    const manifest = await ask(get(app, `${path}/deployments`, `Accept: ${manifestType}\r\n`))
    const { bundle, deployments } = JSON.parse(String(manifest.body))
    const archive = await ask(get(app, `${path}/bundles/${bundle.digest}`))
    expect(sha256(archive.body)).toBe(bundle.digest)
    const single = await ask(get(app, `${path}/deployments/${deployment}/${deployments[0].digest}`))
    expect(sha256(single.body)).toBe(deployments[0].digest)
    const body = `{"apiVersion":"deployment.margo.org/v1alpha1","components":[{"name":"web","state":"installed"}],"deploymentId":"${deployment}","kind":"DeploymentStatusManifest","status":{"state":"installed"}}`
    expect((await ask(send(app, 'POST', `${path}/deployments/${deployment}/status`, body))).status).toBe(200)
    expect(await stateIn(app)).toMatchObject({ state: 'INSTALLED', reporter: client })
    await app.stop()
  })
})
