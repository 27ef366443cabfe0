/** `rollcall export` against a server of its own: files, manifests, and continuing after a lost connection and a kill. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { kindNames } from '../../src/api/export/kinds/kind.ts'
import { casesOf, isWhole } from '../support/runner/depth.ts'
import { type Child, startNode } from '../support/servers/child.ts'
import { report, useServer } from './harness.ts'

const server = useServer()
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'export-'))
  for (let count = 0; count < 20; count += 1)
    await report('exported', count % 2 ? 'failed' : 'installing', {
      code: '"',
      message: `line 1\r\nline ${count}, "=x"`,
    })
})
afterAll(() => rm(folder, { recursive: true }))

const run = (url: string, ...args: string[]): Child => startNode(['src/bin.ts', 'export', ...args, '--url', url])

/** Passes a number of bytes of each export and of the second manifest, and then breaks the connection, or stays silent. It is busy before the first. */
async function cutAfter(bytes: number, isSilent: boolean) {
  const seen = { answers: 0, manifests: 0, afters: [] as string[] }
  const middle: Server = createServer(async (incoming, outgoing) => {
    const path = incoming.url ?? ''
    const isManifest = path.includes('/manifest')
    if (isManifest) seen.manifests += 1
    if (isManifest && seen.manifests === 1) return outgoing.writeHead(503).end()
    const answer = await fetch(`${server().url}${path}`, { method: incoming.method ?? 'GET' })
    const body = Buffer.from(await answer.arrayBuffer())
    const location = answer.headers.get('content-location')
    outgoing.writeHead(answer.status, { ...(location && { 'content-location': location }) })
    if (isManifest && seen.manifests === 2) return outgoing.write(body.subarray(0, 20), () => outgoing.destroy())
    if (incoming.method === 'HEAD' || isManifest) return outgoing.end(body)
    seen.answers += 1
    seen.afters.push(new URL(path, 'http://here').searchParams.get('after') ?? '')
    if (body.length <= bytes) return outgoing.end(body)
    outgoing.write(body.subarray(0, bytes), () => isSilent || outgoing.destroy())
  })
  await new Promise<void>((resolve) => middle.listen(0, '127.0.0.1', resolve))
  const { port } = middle.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    close() {
      middle.close()
      middle.closeAllConnections()
    },
  }
}

async function listen(listener: RequestListener): Promise<string> {
  const listening = createServer(listener).listen(0, '127.0.0.1')
  await once(listening, 'listening')
  onTestFinished(() => {
    listening.close()
    listening.closeAllConnections()
  })
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}

async function expectWhole(file: string, kind: string): Promise<void> {
  const manifest = JSON.parse(await readFile(`${file}.manifest.json`, 'utf8'))
  const bytes = await readFile(file)
  const { sha256, location } = manifest
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256)
  expect(bytes).toEqual(Buffer.from(await (await fetch(`${server().url}${location}`)).arrayBuffer()))
  expect(manifest).toMatchObject({ kind, bytes: bytes.length })
  expect((await readdir(folder)).filter((name) => name.includes('.part'))).toEqual([])
}

describe('rollcall export', () => {
  it.each(casesOf(1, ['ndjson', 'csv', 'parquet']))('writes a file and its manifest: %s', async (format) => {
    const file = join(folder, `whole.${format}`)
    const child = run(
      server().url,
      'changes',
      '--format',
      format,
      '-o',
      file,
      '--where',
      '{"deploymentIds":["exported"]}',
    )
    expect(await child.ended).toBe(0)
    await expectWhole(file, 'changes')
  })

  it('prints without a file', async () => {
    const child = run(server().url, 'devices', '--selector', '!site')
    expect(await child.ended).toBe(0)
    expect(child.lines.map((line) => JSON.parse(line).deviceId)).toEqual(['edge-exported'])
  })

  it.each(casesOf(1, ['ndjson', 'csv']))(
    'continues after the last complete row when the connection breaks: %s',
    async (format) => {
      const middle = await cutAfter(3_000, false)
      const file = join(folder, `cut.${format}`)
      expect(await run(middle.url, 'changes', '--format', format, '-o', file).ended).toBe(0)
      middle.close()
      expect(middle.seen.answers).toBeGreaterThan(2)
      expect(new Set(middle.seen.afters).size).toBe(middle.seen.answers)
      expect(middle.seen.manifests).toBe(3)
      await expectWhole(file, 'changes')
    },
  )

  it.runIf(isWhole)('continues after a kill, with the revision that it had begun with', async () => {
    const middle = await cutAfter(5_000, true)
    const file = join(folder, 'killed.csv')
    const first = run(middle.url, 'changes', '--format', 'csv', '-o', file)
    const written = () =>
      readFile(`${file}.part`).then(
        ({ length }) => length,
        () => 0,
      )
    await expect.poll(written).toBeGreaterThan(0)
    first.process.kill('SIGKILL')
    await first.ended
    middle.close()
    await report('later', 'installing')
    expect(await run(server().url, 'changes', '--format', 'csv', '-o', file).ended).toBe(0)
    expect(await readFile(file, 'utf8')).not.toContain('edge-later')
    await expectWhole(file, 'changes')
  })

  it.each([
    ['an answer', ''],
    ['the next row', '{"cursor":"1"}'],
  ])('waits an hour for %s', async (_, first) => {
    const { promise: passed, resolve: pass } = Promise.withResolvers<void>()
    const url = await listen(async (_request, outgoing) => {
      if (first !== '') outgoing.write(`${first}\n`)
      await passed
      outgoing.end('{"cursor":"2"}\n')
    })
    const NODE_OPTIONS = `--import=${new URL('../support/short-hours.mjs', import.meta.url)}`
    const child = startNode(['src/bin.ts', 'export', 'changes', '--url', url], { NODE_OPTIONS })
    await child.said(/an hour has passed/)
    pass()
    expect(await child.ended).toBe(0)
    expect(child.lines.toSorted()).toEqual(['an hour has passed', ...(first && [first]), '{"cursor":"2"}'])
  })

  it.runIf(isWhole)('says which file it cannot write, and why', async () => {
    const absent = run(server().url, 'changes', '-o', join(folder, 'absent', 'file'))
    expect([await absent.ended, absent.lines]).toEqual([1, [expect.stringMatching(/^cannot write .*file: ENOENT/)]])
    // A folder stands for all that is not a file: this test must not risk a device.
    const isFolder = run(server().url, 'changes', '-o', folder)
    expect([await isFolder.ended, isFolder.lines[0]]).toEqual([
      64,
      expect.stringMatching(/^--output must be a file, but .* is not/),
    ])
  })

  it('has the kinds of the server', () => {
    const { stdout } = spawnSync(process.execPath, ['src/bin.ts', 'export', '--help'], { encoding: 'utf8' })
    expect(stdout).toContain(`export ${kindNames.join('|')} [options]`)
  })

  it('says what is wrong, with an exit code', async () => {
    const refused = run(server().url, 'changes', '--where', '{', '-o', join(folder, 'none'))
    expect([await refused.ended, refused.lines[0]]).toEqual([1, expect.stringContaining('where must be JSON')])
    const unknown = run(server().url, 'change')
    expect([await unknown.ended, unknown.lines[0]]).toEqual([
      64,
      'export needs one kind: changes, reports, deployments, devices, audit, but has "change"',
    ])
    expect(await run(server().url).ended).toBe(64)
    expect(await run(server().url, 'changes', '--limit', '1').ended).toBe(64)
    expect(await run('http://127.0.0.1:1', 'changes').ended).toBe(69)
    expect(await run('here', 'changes').ended).toBe(64)
    const unsent = run(server().url, 'changes', '--token', 'two\nlines')
    expect([await unsent.ended, unsent.lines.join('\n')]).toEqual([64, expect.not.stringContaining('two')])
  })
})
