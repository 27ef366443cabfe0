/** A server that copies to an archive, whether its directory answers, hangs or is not there. */
import { execFileSync } from 'node:child_process'
import { constants, mkdir, mkdtemp, open as openFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { defaultTimeouts, type Timeouts } from '../../src/api/rest/guard.ts'
import { startApp } from '../support/servers/app.ts'
import { startChild, startNode } from '../support/servers/child.ts'

const day = 86_400_000

describe('a server with ARCHIVE', () => {
  async function start(directory: string, more: Partial<Timeouts> = {}) {
    let ahead = 0
    const server = await startApp({
      env: { HISTORY_DAYS: '1', ARCHIVE: directory },
      clock: () => Date.now() + ahead,
      timeouts: { ...defaultTimeouts, duties: 50, ...more },
    })
    const body = { deploymentId: 'd', status: { state: 'installing' }, components: [] }
    await server.post('/device/edge-1/deployment/d/status', body)
    ahead = 30 * day
    const duty = async () => {
      const { duties } = (await (await fetch(`${server.url}/readyz?verbose`)).json()) as {
        duties: { name: string; failures: number; lastSuccess: string | null }[]
      }
      return duties.find(({ name }) => name === 'archive')
    }
    return {
      server,
      duty,
      post: () => server.post('/device/edge-2/deployment/e/status', { ...body, deploymentId: 'e' }),
    }
  }

  it('copies what expires', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'archive-'))
    const { server, duty } = await start(folder)
    const files = () => readdir(folder, { recursive: true })
    await expect.poll(files).toContainEqual(expect.stringMatching(/^changes\/.*\.parquet$/))
    await expect.poll(async () => (await duty())?.lastSuccess).toBeTruthy()
    await server.stop()
    await rm(folder, { recursive: true })
  })

  it('ends while the directory does not answer', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'archive-'))
    await mkdir(join(folder, 'changes'))
    // Who opens a pipe waits until its other end is open.
    const pipe = join(folder, 'changes', 'archived.json')
    execFileSync('mkfifo', [pipe])
    const child = startChild(`
      const { createDirectory } = await import('./src/api/export/archive/directory.ts')
      const { endAtOnce } = await import('./src/server/process/process-end.ts')
      const { createLog } = await import('./src/platform/log/log.ts')
      const log = createLog({ level: 'info' })
      void createDirectory(${JSON.stringify(folder)}).get('changes/archived.json', 1e9)
      setTimeout(() => {
        log.info('shut down')
        setTimeout(endAtOnce, 100, 0)
      }, 100)
    `)
    expect(await child.ended).toBe(0)
    expect(child.lines.map((line) => JSON.parse(line).msg)).toEqual(['shut down'])

    const { server } = await start(folder, { closing: 300 })
    // Possible as soon as the server has opened the other end. It then reads until this end is closed.
    const opened = () => openFile(pipe, constants.O_WRONLY | constants.O_NONBLOCK).catch(() => null)
    const writing = await vi.waitUntil(opened, { timeout: 60_000 })
    expect(await server.app.close()).toBe(false)
    await server.stop()
    await writing.close()
    await rm(folder, { recursive: true })
  })

  it('ends at a second signal, while the directory does not answer', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'archive-'))
    await mkdir(join(folder, 'changes'))
    const pipe = join(folder, 'changes', 'archived.json')
    execFileSync('mkfifo', [pipe])
    const env = { PORT: '0', GIT: 'off', DATA_DIR: 'memory', HISTORY_DAYS: '1', ARCHIVE: folder }
    const program = startNode(['src/main.ts'], env)
    const opened = () => openFile(pipe, constants.O_WRONLY | constants.O_NONBLOCK).catch(() => null)
    const writing = await vi.waitUntil(opened, { timeout: 60_000, interval: 100 })
    program.process.kill('SIGTERM')
    await program.said(/shutting down/)
    program.process.kill('SIGTERM')
    expect(await program.ended).toBe('SIGTERM')
    await writing.close()
    await rm(folder, { recursive: true })
  })

  it('says that it cannot copy, and accepts reports', async () => {
    const { server, duty, post } = await start(join(tmpdir(), 'no-such-folder', 'archive'))
    await expect.poll(async () => (await duty())?.failures).toBeGreaterThan(0)
    expect(await (await fetch(`${server.url}/metrics`)).text()).toMatch(
      /rollcall_duty_failures\{duty="archive"\} [1-9]/,
    )
    const said = server.logged.map(({ msg }) => String(msg))
    expect(said).toContainEqual(expect.stringContaining('the background duty archive failed'))
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
    expect((await post()).status).toBe(201)
    expect((await server.query('{ changes { nodes { revision } } }')).changes.nodes).toHaveLength(2)
    await server.stop()
  })
})
