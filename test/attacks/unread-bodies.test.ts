/** A caller with a bad credential is refused by its headers alone: the server does not wait for a byte of the body. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newKey, signed } from '../auth/devices/signing.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const group = '/v2/projects/p/composite-apps/a/v1/deployment-intent-groups/g'
const ofDevices = [
  'POST /reports',
  'POST /device/press/deployment/pump/status',
  'POST /api/v1/deployments/pump/status',
  'POST /onboarding',
  'POST /api/v1/capabilities',
  'POST /git/press.git/git-upload-pack',
]
const ofTheApi = [
  'POST /graphql',
  `POST ${group}/actions`,
  `POST ${group}/instances/c/resources`,
  `PUT ${group}/resource-bundle-states/p+c`,
  'PUT /v2/cluster-providers/p/clusters/c/connectivity',
  'PUT /v1/instance/i',
  'PUT /v1/instance/i/status',
  'POST /v1/instance/i/status/subscription',
  'POST /api/cnf-adapter/v1/aai-update',
]

let server: RunningApp
beforeAll(async () => {
  server = await startApp({
    env: { GIT: 'git', API_AUTH: 'key', API_ADMIN_KEY: 'x'.repeat(32), DEVICE_AUTH: 'token,signature' },
  })
})
afterAll(() => server.stop())

/** The status of the answer to a request that announces a body and sends nothing of it. */
async function statusOf(line: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const socket = connect(server.port, '127.0.0.1')
  const type = line.includes('upload-pack') ? 'application/x-git-upload-pack-request' : 'application/json'
  const fields = { host: `127.0.0.1:${server.port}`, 'content-type': type, 'content-length': '4000000', ...headers }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`${line} HTTP/1.1\r\n${lines.join('')}\r\n`)
  const [answer] = await once(socket.setEncoding('utf8'), 'data')
  socket.destroy()
  return Number(/^HTTP\/1\.1 (\d+)/.exec(String(answer))?.[1])
}

describe('a body that is not sent', () => {
  const small = { 'content-length': '200000' }
  it.each(ofDevices)('is not waited for without a credential: %s', async (line) => {
    expect(await statusOf(line, small)).toBe(401)
    expect(await statusOf(line, { ...small, authorization: 'Bearer rollcall_guessed' })).toBe(401)
  })

  it.each(ofDevices)('is not waited for with the signature of a key that is not registered: %s', async (line) => {
    const [method = '', path = ''] = line.split(' ')
    const headers = signed(newKey.ed25519(), { method, url: `${server.url}${path}`, body: 'x' })
    expect(await statusOf(line, { ...small, ...headers })).toBe(403)
  })

  it.each(ofTheApi)('is not waited for without a key: %s', async (line) => {
    expect(await statusOf(line)).toBe(401)
  })
})
