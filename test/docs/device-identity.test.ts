/** docs/device-identity.md is executed in an empty folder against a server on https: OpenSSL, curl, and a signer in each language. */
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { programs } from '../device/programs.ts'
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

  const queues = {
    js: {
      ends: 'const url =',
      program: `import { openDevice } from 'rollcall/device'
        const ca = readFileSync('server.pem')
        const [cert, privateKey] = [readFileSync('press-8.pem'), readFileSync('press-8.key')]
        const authorization = 'Bearer ' + readFileSync('press-7.token', 'utf8').trim()
        for (const [deviceId, more] of [
          ['press-7', { tls: { ca }, headers: () => ({ authorization }) }],
          ['press-8', { tls: { ca, cert, key: privateKey } }],
          ['press-9', { tls: { ca }, headers: sign }],
        ]) {
          const device = openDevice({ url: 'URL', deviceId, folder: 'js-' + deviceId, interrupted: console.error, ...more })
          for (const state of ['pending', 'installing', 'installed'])
            device.report({ deploymentId: 'queued-js', status: { state }, components: [] })
          await device.idle()
          await device.close()
        }`,
    },
    python: {
      ends: 'url = "https',
      program: `
from rollcall_device import Device
plain, certified = ssl.create_default_context(cafile="server.pem"), ssl.create_default_context(cafile="server.pem")
certified.load_cert_chain("press-8.pem", "press-8.key")
token = {"Authorization": "Bearer " + open("press-7.token").read().strip()}
for device_id, tls, headers in [("press-7", plain, lambda *_: token), ("press-8", certified, None), ("press-9", plain, sign)]:
    device = Device("URL", device_id, "python-" + device_id, tls=tls, headers=headers, interrupted=print)
    for state in ["pending", "installing", "installed"]:
        device.report({"deploymentId": "queued-python", "status": {"state": state}, "components": []})
    device.idle()
    device.close()
`,
    },
    c: {
      ends: 'int main(',
      program: `
#include "rollcall_device.h"
struct curl_slist *bear(const char *url, const char *body, struct curl_slist *headers, void *token) {
  (void)url, (void)body;
  return curl_slist_append(headers, token);
}
int main(void) {
  char token[256] = "Authorization: Bearer ";
  FILE *file = fopen("press-7.token", "r");
  if (!file || !fgets(token + strlen(token), 200, file)) return 1;
  token[strcspn(token, "\\n")] = 0;
  struct rollcall_options all[3] = {
    {.url = "URL", .device_id = "press-7", .folder = "c-press-7", .ca = "server.pem", .headers = bear, .context = token},
    {.url = "URL", .device_id = "press-8", .folder = "c-press-8", .ca = "server.pem", .cert = "press-8.pem", .key = "press-8.key"},
    {.url = "URL", .device_id = "press-9", .folder = "c-press-9", .ca = "server.pem", .headers = sign},
  };
  all[2].context = PEM_read_PrivateKey(fopen("press-9.key", "r"), NULL, NULL, NULL);
  const char *states[] = {"pending", "installing", "installed"};
  for (int n = 0; n < 3; n++) {
    struct rollcall *device = rollcall_open(&all[n]);
    if (!device) return 1;
    char body[200];
    for (int step = 0; step < 3; step++) {
      snprintf(body, sizeof body, "{\\"status\\":{\\"state\\":\\"%s\\"},\\"components\\":[]}", states[step]);
      if (rollcall_report(device, "queued-c", body) < 0) return 1;
    }
    rollcall_idle(device);
    rollcall_close(device);
  }
}
`,
    },
  }

  it.each(programs.filter(({ name }) => name !== 'python' || hasPython))(
    'lets a device with a queue in $name report with each credential, alone and as a backlog',
    async ({ name, run }) => {
      const { ends, program: own } = queues[name]
      const [signer = ''] = program(name).split(ends)
      await run(folder, signer + own.replaceAll('URL', `https://localhost:${server.port}`))
      expect(await reportersOf(`queued-${name}`)).toEqual(['press-7', 'press-8', 'press-9'])
      const rows = await server.database.session.run(
        `select 1 from reports r join deployments d on d.key = r.deployment_key where deployment_id = $1 and verdict = 'APPLIED'`,
        [`queued-${name}`],
      )
      expect(rows).toHaveLength(9)
    },
  )

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
