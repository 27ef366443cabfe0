/** What `npm pack` makes, installed by npm in an empty folder: the command `rollcall`, with nothing of the checkout beside it. */
import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../support/documentation.ts'
import { isDeep } from '../support/runner/depth.ts'
import { copyDependencies } from '../support/servers/package.ts'

const run = promisify(execFile)
const { PATH = '', HOME = '' } = process.env
const nodeFolder = dirname(process.execPath)
/** npm's own settings of this machine may print warnings of their own. */
const env = { PATH: `${nodeFolder}:${PATH}`, HOME, npm_config_userconfig: '/dev/null', LOG_LEVEL: 'warn' }

// npm needs its cache and the packages of the checkout: .ci/run leaves that to the deep suite.
describe.runIf(isDeep)('the package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-package-'))
  const rollcall = join(folder, 'node_modules/.bin/rollcall')
  const command = (...args: string[]) => run(rollcall, args, { cwd: folder, env })
  let server: ChildProcessByStdio<null, Readable, null>
  let url = ''

  beforeAll(async () => {
    const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root, env })
    const [{ filename }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('[')))
    copyDependencies(folder)
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    const installed = await run('npm', ['install', '--offline', '--no-audit', '--no-fund', filename], {
      cwd: folder,
      env,
    })
    expect(installed.stdout).toMatch(/added 1 package\b/)
    server = spawn(rollcall, ['serve'], {
      cwd: folder,
      env: { ...env, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    for await (const line of createInterface({ input: server.stdout })) {
      url = /http:\S+/.exec(line)?.[0] ?? ''
      if (url !== '') break
    }
  })
  afterAll(async () => {
    const ended = once(server, 'close')
    server.stdout.resume()
    server.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    rmSync(folder, { recursive: true, force: true })
  })

  it('has a database that is ready, so that a first start makes none', () => {
    const made = join('dist/database', readdirSync(join(root, 'dist/database'))[0] ?? '')
    const installed = join(folder, 'node_modules/rollcall')
    expect(readdirSync(join(installed, 'dist/database'))).toHaveLength(1)
    expect(readFileSync(join(installed, made)).equals(readFileSync(join(root, made)))).toBe(true)
    expect(existsSync(join(installed, 'node_modules/.cache/rollcall'))).toBe(false)
  })

  it('serves, and answers the terminal client', async () => {
    const report = await fetch(`${url}/device/edge-1/deployment/hello/status`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ deploymentId: 'hello', status: { state: 'installing' }, components: [] }),
    })
    expect(report.status).toBe(201)
    expect((await command('counts', '--url', url)).stdout).toMatch(/1 deployment/)
    expect(existsSync(join(folder, 'data'))).toBe(true)
  })

  it('has the page, without the libraries that it is made of', async () => {
    const page = await (await fetch(url, { headers: { accept: 'text/html' } })).text()
    const [script = ''] = /assets\/main-\w+\.js/.exec(page) ?? []
    const answer = await fetch(`${url}/${script}`)
    expect([answer.status, (await answer.text()).length > 50_000]).toEqual([200, true])
    for (const name of ['esbuild', 'preact', 'typescript'])
      expect([name, existsSync(join(folder, 'node_modules', name))]).toEqual([name, false])
  })

  it('has the client for frontends, with types that need no other library', async () => {
    const program = `import { connect } from 'rollcall/client'
      import { webSocket } from 'rollcall/client/websocket'
      const client = connect({ url: '${url}', transport: webSocket() })
      const { revision } = await client.query<{ readonly revision: string }>('{ revision }')
      console.log(Number(revision) >= 0)
      const counts = 'subscription { deploymentCounts { cursor } }'
      for await (const { data } of client.watch<{ readonly deploymentCounts: object }>(counts)) {
        console.log(Object.keys(data.deploymentCounts).join())
        break
      }`
    writeFileSync(join(folder, 'client.mts'), program)
    const options = [
      '--strict',
      '--module',
      'nodenext',
      '--lib',
      'esnext,dom',
      '--skipLibCheck',
      '--noEmit',
      'client.mts',
    ]
    await run(join(root, 'node_modules/.bin/tsc'), options, { cwd: folder, env })
    const { stdout } = await run(process.execPath, ['client.mts'], { cwd: folder, env })
    expect(stdout).toBe('true\ncursor\n')
  })

  it('has every program, each with its help', async () => {
    for (const name of ['serve', 'demo', 'simulate', 'new-epoch'])
      expect((await command(name, '--help')).stdout).toContain(`Usage: rollcall ${name} [options]`)
    expect((await command('export', '--help')).stdout).toMatch(/^Usage: rollcall export changes/)
    expect((await command('--help')).stdout).toMatch(/^Usage: rollcall <command>.*get deployments/s)
    const { scripts } = JSON.parse(readFileSync(join(folder, 'node_modules/rollcall/package.json'), 'utf8'))
    expect(Object.keys(scripts).filter((name) => /install/.test(name))).toEqual([])
  })

  it('contains JavaScript, types and SQL, and nothing that only the checkout needs', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--ignore-scripts', '--json'], { cwd: root, env })
    const [{ files }] = JSON.parse(stdout)
    const paths: string[] = files.map(({ path }: { path: string }) => path)
    const other = paths.filter(
      (path) => !/^dist\/.*\.m?js$|^dist\/(client|device)\/\w+\.d\.ts$|^drizzle\/\w[\w-]*\.sql$/.test(path),
    )
    expect(other.toSorted()).toEqual(
      [
        'LICENSE',
        'README.md',
        'dist/contracts.json',
        'dist/docs.json',
        'dist/page.json',
        'drizzle/meta/_journal.json',
        'package.json',
      ].toSorted(),
    )
  })
})

describe.runIf(isDeep)('npm ci', () => {
  // With the Node of devDependencies. Warnings about an older Node are hidden by .npmrc, because that Node runs nothing.
  it('has nothing to warn of', async () => {
    const { stdout, stderr } = await run('npm', ['ci', '--dry-run', '--offline', '--loglevel=warn'], { cwd: root, env })
    expect({ stderr, warnings: stdout.match(/warn/i) }).toEqual({ stderr: '', warnings: null })
  })
})
