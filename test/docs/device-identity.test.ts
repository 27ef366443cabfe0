/** docs/device-identity.md is executed in an empty folder against a server on https: OpenSSL, curl, and a signer in each language. */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../support/databases/stores.ts'
import { blocksOf, execute, hasCurl, readPage } from '../support/documentation.ts'
import { hasCompiler } from '../support/runner/programs.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const run = promisify(execFile)
const page = readPage('docs/device-identity.md')
const shownUrl = 'https://localhost:4000'
const succeeds = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0
const hasTools = hasCurl && succeeds('openssl', 'version')
const hasPython = succeeds('python3', '-c', 'import cryptography')

// curl and OpenSSL are required in .ci/run; Python and C where they are installed.
describe.skipIf(!hasTools).each(stores)('docs/device-identity.md on $name', (store) => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-identity-'))
  let adminKey = ''
  let server: RunningApp
  let text = ''
  const blocks = () => blocksOf(text).filter(({ language }) => ['sh', 'json'].includes(language))
  const program = (language: string): string => blocksOf(text).find((block) => block.language === language)?.text ?? ''
  const runIn = async (command: string, ...args: string[]) =>
    (
      await run(command, args, {
        cwd: folder,
        env: { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, 'server.pem') },
      })
    ).stdout

  beforeAll(async () => {
    text = page
    const [certificates] = blocks()
    await execute(certificates ? [certificates] : [], { url: '', cwd: folder })
    const path = (name: string): string => join(folder, name)
    adminKey = readFileSync(path('admin.key'), 'utf8').trim()
    server = await startApp({
      store,
      env: {
        ...{ TLS_CERT: path('server.pem'), TLS_KEY: path('server.key'), TLS_CLIENT_CA: path('devices.pem') },
        ...{ DEVICE_AUTH: 'token,mtls,signature', API_AUTH: 'key', API_ADMIN_KEY: adminKey },
      },
    })
    text = page.replaceAll(shownUrl, `https://localhost:${server.port}`)
    await execute(blocks().slice(1), { url: '', cwd: folder })
  })
  afterAll(async () => {
    await server.stop()
    rmSync(folder, { recursive: true })
  })

  const reportersOf = async (deploymentId: string): Promise<string[]> => {
    const query = `{ deployments(filter: { deploymentIds: ["${deploymentId}"] }) { nodes { device { deviceId } } } }`
    const answer = await runIn(
      ...(['curl', '-s', '--cacert', 'server.pem', `https://localhost:${server.port}/graphql`] as const),
      ...[
        '-H',
        `Authorization: Bearer ${adminKey}`,
        '-H',
        'Content-Type: application/json',
        '-d',
        JSON.stringify({ query }),
      ],
    )
    const { nodes } = JSON.parse(answer).data.deployments as { nodes: { device: { deviceId: string } }[] }
    return nodes.map(({ device }) => device.deviceId).toSorted()
  }

  it('lets a token, a certificate and a signature report', async () => {
    expect(JSON.parse(readFileSync(join(folder, 'answer.json'), 'utf8'))).toMatchObject({ verdict: 'APPLIED' })
    expect(await reportersOf('pump')).toEqual(['press-7', 'press-8', 'press-9'])
  })

  it('signs in Node', async () => {
    writeFileSync(join(folder, 'report.mjs'), program('js'))
    expect(JSON.parse(await runIn(process.execPath, 'report.mjs'))).toMatchObject({ verdict: 'APPLIED' })
  })

  it.skipIf(!hasPython)('signs in Python', async () => {
    writeFileSync(join(folder, 'report.py'), program('python'))
    expect(JSON.parse(await runIn('python3', 'report.py'))).toMatchObject({ verdict: 'APPLIED' })
  })

  it.skipIf(!hasCompiler())('signs in C', async () => {
    writeFileSync(join(folder, 'report.c'), program('c'))
    await runIn('cc', '-Wall', '-Werror', 'report.c', '-o', 'report', '-lcurl', '-lcrypto')
    expect(JSON.parse(await runIn('./report'))).toMatchObject({ verdict: 'APPLIED' })
  })

  it('gets an error that says what is wrong', async () => {
    const report = async (...args: string[]) => {
      const body = '{"deploymentId":"pump","status":{"state":"installed"},"components":[]}'
      const url = `https://localhost:${server.port}/device/press-8/deployment/pump/status`
      const sent = ['-H', 'Content-Type: application/json', '-d', body, url]
      return JSON.parse(await runIn('curl', '-s', '--cacert', 'server.pem', ...args, ...sent))
    }
    const asAuthority = await report('--cert', 'devices.pem', '--key', 'devices.key')
    expect(asAuthority).toMatchObject({ status: 401, detail: expect.stringMatching(/CA:TRUE/) })
    const made = await runIn(
      ...(['curl', '-s', '--cacert', 'server.pem', `https://localhost:${server.port}/graphql`] as const),
      ...['-H', `Authorization: Bearer ${adminKey}`, '-H', 'Content-Type: application/json'],
      ...[
        '-d',
        '{"query":"mutation { createApiKey(input: { name: \\"k\\", roles: [VIEWER] }) { ... on CreateApiKeySuccess { key } } }"}',
      ],
    )
    const { key } = JSON.parse(made).data.createApiKey
    const withKey = await report('-H', `Authorization: Bearer ${key}`)
    expect(withKey).toMatchObject({
      status: 401,
      detail: expect.stringMatching(/a key of the API, not a device's token/),
    })
    const plain = await fetch(`http://localhost:${server.port}/readyz`)
    expect([plain.status, await plain.json()]).toMatchObject([400, { detail: expect.stringMatching(/https:\/\//) }])
  })
})
