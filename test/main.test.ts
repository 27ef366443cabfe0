import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { variables } from '../src/server/config/config.ts'
import { postgresStores } from './support/databases/stores.ts'
import { casesOf, isWhole } from './support/runner/depth.ts'
import { startNode } from './support/servers/child.ts'
import { endDatabase } from './support/servers/end-database.ts'
import { type Program, startProgram } from './support/servers/program.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-main-'))
const running = new Set<Program>()

function start(env: Record<string, string>): Program {
  const program = startProgram(env)
  running.add(program)
  return program
}

afterEach(async () => {
  await Promise.all([...running].map((program) => program.dispose()))
  running.clear()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function report(url: string, state: string): Promise<string> {
  const response = await fetch(`${url}/device/edge-1/deployment/hello/status`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ deploymentId: 'hello', status: { state }, components: [] }),
  })
  expect(response.status).toBe(201)
  return ((await response.json()) as { revision: string }).revision
}

async function stateAt(url: string): Promise<unknown> {
  const query = encodeURIComponent('{ deployment(deploymentId: "hello") { state } revision }')
  return ((await (await fetch(`${url}/graphql?query=${query}`)).json()) as { data: unknown }).data
}

describe('the program', () => {
  it.each(casesOf(1, ['memory', 'folder']))('whose database fails ends if nothing of it is left: %s', async (place) => {
    const dataDir = place === 'memory' ? place : join(folder, 'fails')
    const args = ['--import', endDatabase, 'src/main.ts']
    const { process, lines, said, ended } = startNode(args, { DATA_DIR: dataDir, PORT: '0' })
    const url = (await said(/listens on/)).split(' ').at(-1) ?? ''
    await report(url, 'installing')
    process.kill('SIGUSR2')
    if (place === 'memory') {
      expect(await ended).toBe(1)
      expect(lines.join()).toContain('the database in memory has failed and its data is lost')
    } else await expect.poll(() => stateAt(url)).toMatchObject({ deployment: { state: 'INSTALLING' } })
  })

  it('says at once what it opens, then where it listens and where its data is; what to try, to terminals only', async () => {
    const dataDir = join(folder, 'says')
    const program = start({ DATA_DIR: dataDir })
    const url = await program.listening
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    await expect.poll(program.stdout).toContain('embedded')
    expect(program.stdout().split('\n')).toEqual([
      `Opening ${dataDir} …`,
      `Rollcall listens on ${url}`,
      `Data: ${dataDir} (embedded, one server)`,
      '',
    ])
  })

  it('names the other address that clients use, and variables that look like its own', async () => {
    const env = { PUBLIC_URL: 'https://rollcall.example', DATABASE_ULR: 'postgres://127.0.0.1/x', HOME: '/tmp' }
    const program = start({ DATA_DIR: 'memory', ...env })
    const url = await program.listening
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    await expect.poll(program.stdout).toMatch(/^PUBLIC_URL: https:\/\/rollcall\.example$/m)
    program.child.kill('SIGTERM')
    expect(await program.ended).toBe(0)
    const lines = program
      .stderr()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).msg)
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(lines).toEqual([
      `Rollcall ${version} starts`,
      'unknown environment variable DATABASE_ULR: did you mean DATABASE_URL?',
      'listening',
      'shutting down',
      'shut down',
    ])
  })

  it('goes in order when it is asked to, and finds everything again', async () => {
    const dataDir = join(folder, 'again')
    const first = start({ DATA_DIR: dataDir })
    const revision = await report(await first.listening, 'installing')
    first.child.kill('SIGTERM')
    expect(await first.ended).toBe(0)
    const second = start({ DATA_DIR: dataDir })
    expect(await stateAt(await second.listening)).toEqual({ deployment: { state: 'INSTALLING' }, revision })
  })

  it.runIf(isWhole)('loses nothing that it acknowledged when it is killed', async () => {
    const dataDir = join(folder, 'killed')
    const first = start({ DATA_DIR: dataDir })
    const url = await first.listening
    for (const state of ['pending', 'installing']) await report(url, state)
    const revision = await report(url, 'installed')
    first.child.kill('SIGKILL')
    expect(await first.ended).toBe('SIGKILL')
    const second = start({ DATA_DIR: dataDir })
    expect(await stateAt(await second.listening)).toEqual({ deployment: { state: 'INSTALLED' }, revision })
  })

  it.runIf(isWhole)('logs in lines of JSON, without the content of reports', async () => {
    const program = start({ DATA_DIR: 'memory', LOG_LEVEL: 'debug' })
    await report(await program.listening, 'installed')
    program.child.kill('SIGINT')
    expect(await program.ended).toBe(0)
    const lines = program
      .stderr()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ msg }) => msg)).toContain('listening')
    expect(program.stderr()).not.toContain('hello')
  })

  it.runIf(isWhole)(
    'lives on when a promise was rejected that nothing waited for, with an id in its log and a count; an exception ends it',
    async () => {
      const faults = `process.on('SIGUSR2', () => { Promise.reject(new Error('lost')) }); process.on('SIGHUP', () => { throw new Error('broken off') })`
      const program = start({
        DATA_DIR: 'memory',
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(faults)}`,
      })
      const url = await program.listening
      for (let times = 1; times <= 2; times += 1) {
        program.child.kill('SIGUSR2')
        const metrics = async (): Promise<string> => (await fetch(`${url}/metrics`)).text()
        await expect.poll(metrics).toContain(`rollcall_unhandled_rejections_total ${times}\n`)
      }
      await report(url, 'installed')
      const logged = (program.stderr().match(/^.*nothing waited for it.*$/gm) ?? []).map((line) => JSON.parse(line))
      expect(logged).toMatchObject([1, 2].map(() => ({ errorId: expect.any(String), error: { message: 'lost' } })))
      program.child.kill('SIGHUP')
      expect(await program.ended).toBe(1)
    },
  )
})

describe.each(postgresStores)('on $name', (store) => {
  it('goes at once when it is asked twice, whatever it is still waiting for', async () => {
    const on = await store.create()
    const program = start({ DATABASE_URL: on.config.url ?? '' })
    const url = await program.listening
    const sql = postgres(on.config.url ?? '', { max: 1, onnotice: () => {} })
    const holder = await sql.reserve()
    await holder`begin`
    await holder`select 1 from log_head for update`
    const answer = report(url, 'installed').catch(() => 'nothing')
    const waiting = async (): Promise<number> =>
      (await holder`select count(*)::int as count from pg_locks where not granted`)[0]?.count
    await expect.poll(waiting).toBe(1)
    program.child.kill('SIGTERM')
    await expect.poll(program.stderr).toContain('shutting down')
    program.child.kill('SIGTERM')
    expect(await program.ended).toBe('SIGTERM')
    expect(await answer).toBe('nothing')
    await holder`rollback`
    holder.release()
    await sql.end()
    await on.drop()
  })
})

describe('the program ends with one sentence when', () => {
  const sentence = async (program: Program): Promise<string> => {
    expect(await program.ended).toBe(1)
    const text = program
      .stderr()
      .replace(/^\{.* starts"\}\n/, '')
      .trim()
    expect(text).not.toMatch(/\n|^\s+at /)
    return text
  }

  it.each([
    ['--help', /^Usage: rollcall serve/, 0],
    ['--port=80', /^unknown option --port$/m, 64],
  ] as const)('the command line says %s: nothing is opened', async (argument, said, code) => {
    const dataDir = join(folder, `asked${argument}`)
    const command = startNode(['src/main.ts', argument], { DATA_DIR: dataDir, PORT: '0' })
    await command.said(said)
    expect(await command.ended).toBe(code)
    expect(existsSync(dataDir)).toBe(false)
  })

  it.runIf(isWhole)('the port is taken', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const address = other.address()
    const port = String(typeof address === 'object' && address ? address.port : 0)
    expect(await sentence(start({ DATA_DIR: 'memory', PORT: port }))).toMatch(
      new RegExp(`cannot listen on port ${port} of 127.0.0.1 .*EADDRINUSE.*: set PORT`),
    )
    await new Promise((resolve) => other.close(resolve))
  })

  it('another process has the data directory', async () => {
    const dataDir = join(folder, 'locked')
    const first = start({ DATA_DIR: dataDir })
    await first.listening
    expect(await sentence(start({ DATA_DIR: dataDir }))).toMatch(`in use by process ${first.child.pid}`)
    expect((await fetch(`${await first.listening}/readyz`)).status).toBe(200)
  })

  it('the data directory cannot be one', async () => {
    const file = join(folder, 'a-file')
    writeFileSync(file, '')
    expect(await sentence(start({ DATA_DIR: join(file, 'data') }))).toMatch(/data directory.*DATA_DIR/)
  })

  it('there is no database where DATABASE_URL says', async () => {
    const text = await sentence(start({ DATABASE_URL: 'postgres://rollcall:s3cret@127.0.0.1:1/rollcall' }))
    expect(text).toMatch(/^the database cannot be used: 127\.0\.0\.1:1: it refuses connections .*DATABASE_URL/)
    expect(text).not.toContain('s3cret')
  })

  it('the network would have access that no variable grants, and names every other problem', async () => {
    const program = start({ HOST: '0.0.0.0', PORT: 'high', DATA_DIR: 'memory' })
    expect(await program.ended).toBe(1)
    const named = program
      .stderr()
      .split('\n')
      .map((line) => line.trim().split(' ')[0] ?? '')
    expect(named.filter((name) => variables.includes(name))).toEqual(['PORT', 'DEVICE_AUTH', 'API_AUTH'])
  })
})
