/** Desired state as the real Git client sees it. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createRandom } from '../../src/simulate/random.ts'
import { documentsAt, entriesAt } from '../../src/store/read/desired.ts'
import { findTips } from '../../src/store/read/manifest-tips.ts'
import { registerAll, revoke } from '../auth/devices/devices.ts'
import { contentsAt, hashesOf } from '../git/harness.ts'
import { type RunningApp, startApp } from '../support/app.ts'
import { declare, remove } from '../support/desired.ts'
import { temporaryFolder } from '../support/folder.ts'
import { clone, git, gitFails, hasGit, startGit, whyNoGit } from '../support/git-client.ts'
import { postgresStores, stores } from '../support/stores.ts'

interface Listed {
  readonly deploymentId: string
  readonly digest: string
}

/** The least that is a document, and something that tells one from another. */
function documentOf(value: string, more = ''): string {
  const components = [{ name: 'main', properties: { revision: value } }]
  return `${JSON.stringify({ spec: { deploymentProfile: { type: 'helm', components } } })}\n${more}`
}

/** Git's processes that this one has started and that still run. */
async function processes(): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'ppid=,args='])
  return stdout
    .split('\n')
    .filter((line) => /^\s*(\d+)/.exec(line)?.[1] === String(process.pid) && /upload-pack|fast-import/.test(line))
}

describe.skipIf(!hasGit)(hasGit ? 'a repository of desired state' : `a repository: skipped, ${whyNoGit}`, () => {
  let server: RunningApp
  let folder = ''
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rollcall-test-'))
    server = await startApp({ env: { GIT_DIRECTORY: folder } })
    await registerAll(server, [{ deviceId: 'new' }])
  })
  afterAll(async () => {
    await server.stop()
    expect(readdirSync(folder)).toEqual([])
    rmSync(folder, { recursive: true })
  })
  const at = (device: string): string => `${server.url}/git/${encodeURIComponent(device)}.git`

  it('can be cloned before anything is desired', async () => {
    for (const version of ['0', '1', '2']) {
      const cloned = await clone(at('new'), '-c', `protocol.version=${version}`)
      expect(await git(cloned, 'branch', '--show-current')).toBe('main')
      expect(await git(cloned, 'log', '--format=%an: %s (%(trailers:key=Manifest-Version,valueonly,separator=))')).toBe(
        'Rollcall: Begin with nothing (1)',
      )
      expect(await contentsAt(cloned)).toEqual({})
      expect(await git(cloned, 'fsck', '--strict')).toBe('')
    }
  })

  it('is there for no device that nobody knows, nor for one that was revoked', async () => {
    await registerAll(server, [{ deviceId: 'gone' }])
    await revoke(server, 'gone')
    expect(await gitFails(temporaryFolder(), 'clone', at('nobody'))).toContain('there is no device nobody')
    expect(await gitFails(temporaryFolder(), 'clone', at('gone'))).toContain('device gone has been revoked')
  })

  it('follows what is desired: each change is a commit that says who and why', async () => {
    const [first, second] = [documentOf('1'), documentOf('2')]
    const [id = ''] = await declare(server, [{ deviceId: 'edge', deploymentId: 'a', document: first }], 'Line 1 opens')
    const cloned = await clone(at('edge'))
    expect(readFileSync(join(cloned, 'deployments/a.yaml'), 'utf8')).toBe(first)
    await declare(
      server,
      ['a', 'b'].map((deploymentId) => ({ deviceId: 'edge', deploymentId, document: second })),
      'A new release',
    )
    await git(cloned, 'pull', '-q', '--ff-only')
    expect(readFileSync(join(cloned, 'deployments/a.yaml'), 'utf8')).toBe(second)
    await remove(server, [id])
    await git(cloned, 'pull', '-q', '--ff-only')
    expect(existsSync(join(cloned, 'deployments/a.yaml'))).toBe(false)
    expect(await contentsAt(cloned)).toEqual({ b: second })
    const log = await git(cloned, 'log', '--format=%an: %s (%(trailers:key=Manifest-Version,valueonly,separator=))')
    expect(log.split('\n')).toEqual([
      'everyone: Remove a (4)',
      'everyone: A new release (3)',
      'everyone: Line 1 opens (2)',
      'Rollcall: Begin with nothing (1)',
    ])
    const { device } = await server.query(
      '{ device(deviceId: "edge") { manifestVersion repository manifests { version } } }',
    )
    expect(device.manifestVersion).toBe('4')
    expect(`${server.url}${device.repository}`).toBe(at('edge'))
    // Nothing was changed: nothing is made.
    await declare(server, [{ deviceId: 'edge', deploymentId: 'b', document: second }])
    const head = await git(cloned, 'rev-parse', 'HEAD')
    await git(cloned, 'pull', '-q', '--ff-only')
    expect(await git(cloned, 'rev-parse', 'HEAD')).toBe(head)
  })

  it('is as good as new when it is fetched shallow, and deepened', async () => {
    for (let release = 0; release < 6; release++)
      await declare(server, [{ deviceId: 'deep', deploymentId: 'a', document: documentOf(String(release)) }])
    for (const version of ['0', '2']) {
      const cloned = await clone(at('deep'), '-c', `protocol.version=${version}`, '--depth', '1')
      expect(await hashesOf(cloned)).toHaveLength(1)
      expect(await contentsAt(cloned)).toEqual({ a: documentOf('5') })
      await git(cloned, 'fetch', '-q', '--deepen', '2')
      expect(await hashesOf(cloned)).toHaveLength(3)
      await git(cloned, 'fetch', '-q', '--unshallow')
      expect(await hashesOf(cloned)).toHaveLength(7)
      expect(await git(cloned, 'fsck', '--strict')).toBe('')
    }
    const shallow = await clone(at('deep'), '--depth', '1')
    await declare(server, [{ deviceId: 'deep', deploymentId: 'a', document: documentOf('6') }])
    await git(shallow, 'pull', '-q', '--ff-only')
    expect(await contentsAt(shallow)).toEqual({ a: documentOf('6') })
    await declare(server, [{ deviceId: 'deep', deploymentId: 'a', document: documentOf('7') }])
    await git(shallow, 'fetch', '-q', '--depth', '1')
    await git(shallow, 'reset', '-q', '--hard', 'origin/main')
    expect(await hashesOf(shallow)).toHaveLength(1)
    expect(await contentsAt(shallow)).toEqual({ a: documentOf('7') })
  })

  it('has what is behind a gateway in the one of the gateway', async () => {
    const document = documentOf('1')
    await declare(server, [{ deviceId: 'gate/child', deploymentId: 'behind', document }])
    expect(await contentsAt(await clone(at('gate')))).toEqual({ behind: document })
    const { device } = await server.query('{ device(deviceId: "gate/child") { repository } }')
    expect(device.repository).toBe('/git/gate.git')
    const said = await gitFails(temporaryFolder(), 'clone', at('gate/child'))
    expect(said).toContain('what gate/child should run is in the manifest of gate')
  })

  it('has a file for each, whatever it is called, and every byte of it', async () => {
    const names = [
      '.git',
      'con',
      'Line 1/Press',
      '../../etc/passwd',
      'ü'.repeat(256),
      '"quoted"\n',
      'a~1',
      '-rf',
      '😀',
      'A',
      'a',
    ]
    const document = documentOf('x', '# \u00fc\t \r\n# no newline at the end \ufeff')
    await declare(
      server,
      names.map((deploymentId) => ({ deviceId: 'strange ümlaut', deploymentId, document })),
    )
    const cloned = await clone(at('strange ümlaut'), '-c', 'core.autocrlf=true')
    expect(Object.keys(await contentsAt(cloned)).toSorted()).toEqual(names.toSorted())
    for (const file of readdirSync(join(cloned, 'deployments')))
      expect(readFileSync(join(cloned, 'deployments', file), 'utf8')).toBe(document)
  })

  it('cannot be pushed to, and says why', async () => {
    const cloned = await clone(at('new'))
    expect(await gitFails(cloned, 'push', 'origin', 'main')).toContain('this repository is read only')
    const pushed = await fetch(`${at('new')}/git-receive-pack`, { method: 'POST', body: '0000' })
    expect([pushed.status, ((await pushed.json()) as { detail: string }).detail]).toEqual([
      403,
      expect.stringContaining('read only'),
    ])
  })

  it('is told in no other way', async () => {
    const get = async (path: string) => {
      const response = await fetch(`${at('new')}${path}`)
      return [response.status, response.headers.get('content-type'), (await response.json()).detail]
    }
    for (const path of ['', '/', '/HEAD', '/info/refs', '/info/refs?service=x', '/objects/info/packs', '/config'])
      expect(await get(path)).toEqual([404, 'application/problem+json', expect.stringContaining('git clone it')])
    const wrong = await fetch(`${server.url}/git/%ff.git/info/refs?service=git-upload-pack`)
    expect(wrong.status).toBe(422)
  })

  describe('when somebody sends what no client of Git does', () => {
    const ask = (body: Uint8Array | string, headers: Record<string, string> = {}) =>
      fetch(`${at('new')}/git-upload-pack`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-git-upload-pack-request', 'git-protocol': 'version=2', ...headers },
        body: body as BodyInit,
      })
    const listing = '0014command=ls-refs\n00010014ref-prefix HEAD\n0000'

    it('takes what is packed, as clients do', async () => {
      for (const body of [listing, gzipSync(listing)]) {
        const response = await ask(body, typeof body === 'string' ? {} : { 'content-encoding': 'gzip' })
        expect(response.headers.get('content-type')).toBe('application/x-git-upload-pack-result')
        expect(await response.text()).toMatch(/^[0-9a-f]{44} HEAD/)
      }
    })

    it('is not unpacked to more than is taken', async () => {
      const response = await ask(gzipSync(Buffer.alloc(64 << 20)), { 'content-encoding': 'gzip' })
      expect(response.status).toBe(413)
      expect((await ask('x', { 'content-encoding': 'gzip' })).status).toBe(400)
      expect((await ask('x', { 'content-encoding': 'br' })).status).toBe(415)
      expect((await ask('x', { 'content-type': 'application/json' })).status).toBe(415)
    })

    it('says nothing of the machine, and goes on', async () => {
      const bodies = ['', 'zzzz', '0014command=ls-refs', randomBytes(1_000), '0011command=fetch0001000fno-progress0000']
      for (const body of bodies)
        for (const protocol of ['version=0', 'version=2', 'version=9:\u00e9', 'version=2;rm -rf /']) {
          const response = await ask(body, { 'git-protocol': protocol })
          const said = await response.text().catch(() => '')
          expect([200, 400]).toContain(response.status)
          expect(said).not.toMatch(/rollcall-git|tmp|usage|objects/)
        }
      expect(await contentsAt(await clone(at('new')))).toEqual({})
    })
  })

  describe('when a transfer breaks off', () => {
    beforeAll(async () => {
      // More than what is read ahead of a slow client, and than sockets hold.
      const random = (deploymentId: string) => ({
        deviceId: 'large',
        deploymentId,
        document: documentOf(randomBytes(180_000).toString('base64')),
      })
      for (const part of 'abcdefghij')
        await declare(
          server,
          Array.from({ length: 10 }, (_, n) => random(part + n)),
        )
    })

    it('is whole the next time, and nothing is left here', async () => {
      const broken = temporaryFolder()
      const child = startGit(broken, 'clone', '--progress', at('large'), 'clone')
      const packs = join(broken, 'clone/.git/objects/pack')
      await expect
        .poll(() => existsSync(packs) && readdirSync(packs).some((name) => name.startsWith('tmp_pack')))
        .toBe(true)
      if (child.pid) process.kill(-child.pid, 'SIGKILL')
      await once(child, 'close')
      await expect.poll(processes).toEqual([])
      const cloned = join(broken, 'clone')
      await git(cloned, 'pull', '-q', 'origin', 'main')
      expect(readdirSync(join(cloned, 'deployments'))).toHaveLength(100)
      expect(await git(cloned, 'fsck', '--strict')).toBe('')
    })

    it('ends the process of a client that has gone without reading', async () => {
      const refs = await fetch(`${at('large')}/info/refs?service=git-upload-pack`)
      const [, head = ''] = /([0-9a-f]{40}) HEAD/.exec(await refs.text()) ?? []
      const socket = connect(server.port, '127.0.0.1')
      onTestFinished(() => void socket.destroy())
      const body = `0032want ${head}\n00000009done\n`
      socket.pause()
      socket.write(
        `POST /git/large.git/git-upload-pack HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-git-upload-pack-request\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
      await once(socket, 'readable')
      expect(String(socket.read(12))).toBe('HTTP/1.1 200')
      expect(await processes()).toHaveLength(1)
      socket.destroy()
      await expect.poll(processes).toEqual([])
    })
  })
})

describe.skipIf(!hasGit)('a repository of a server', () => {
  it('with room for one process serves whoever comes, and no device more often than it may', async () => {
    const server = await startApp({ env: { GIT_PROCESSES: '1', DEVICE_RATE: '1' } })
    onTestFinished(() => server.stop())
    const devices = ['a', 'b', 'c']
    await registerAll(
      server,
      devices.map((deviceId) => ({ deviceId })),
    )
    const clones = await Promise.all(devices.map((device) => clone(`${server.url}/git/${device}.git`)))
    for (const cloned of clones) expect(await contentsAt(cloned)).toEqual({})
    const ask = () => fetch(`${server.url}/git/a.git/info/refs?service=git-upload-pack`)
    const answers = await Promise.all(Array.from({ length: 20 }, ask))
    await Promise.all(answers.map((response) => response.arrayBuffer()))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]))
  })

  it('that has no git, or should not use it, is not there, and says so', async () => {
    for (const [program, why] of [
      ['off', 'it is switched off'],
      ['/nonexistent/git', 'git is not installed'],
    ] as const) {
      const server = await startApp({ env: { GIT: program } })
      onTestFinished(() => server.stop())
      expect(await gitFails(temporaryFolder(), 'clone', `${server.url}/git/a.git`)).toContain(why)
      await server.query('mutation { registerDevices(input: { devices: [{ deviceId: "a" }] }) { __typename } }')
      expect((await server.query('{ device(deviceId: "a") { repository } }')).device.repository).toBeNull()
      const warnings = server.logged.filter(({ msg }) => String(msg).startsWith('git is not installed'))
      expect(warnings).toHaveLength(program === 'off' ? 0 : 1)
    }
  })
})

describe.each(stores)('a history on $name', (store) => {
  it.skipIf(!hasGit)('is what every version listed, whatever was declared and removed', async () => {
    const server = await startApp({ store })
    onTestFinished(() => server.stop())
    const random = createRandom('a history')
    const ids = new Map<string, string>()
    const places = ['gate', 'gate/left', 'gate/right'].flatMap((deviceId) =>
      ['a', 'B', 'c/d'].map((name) => ({ deviceId, deploymentId: `${deviceId} ${name}` })),
    )
    const folder = temporaryFolder()
    for (let step = 0; step < 25; step++) {
      const some = places.filter(() => random.chance(0.3))
      const there = some.filter(({ deploymentId }) => ids.has(deploymentId))
      if (random.chance(0.3)) {
        await remove(
          server,
          there.map(({ deploymentId }) => ids.get(deploymentId) ?? ''),
        )
        for (const { deploymentId } of there) ids.delete(deploymentId)
      } else if (some.length > 0) {
        const declared = await declare(
          server,
          some.map((place) => ({ ...place, document: documentOf(String(random.pick([1, 2, 3]))) })),
        )
        for (const [index, { deploymentId }] of some.entries()) ids.set(deploymentId, declared[index] ?? '')
      }
      // Made at some time, and added to at others.
      if (step === 10) await git(folder, 'clone', '-q', `${server.url}/git/gate.git`, 'clone')
      if (step > 10 && random.chance(0.3)) await git(join(folder, 'clone'), 'pull', '-q', '--ff-only')
    }
    const cloned = join(folder, 'clone')
    await git(cloned, 'pull', '-q', '--ff-only')
    const { session } = server.app.database
    const { key = 0, version = 0 } = (await findTips(session, ['gate'])).get('gate') ?? {}
    const commits = (await git(cloned, 'log', '--reverse', '--format=%H')).split('\n')
    expect(commits).toHaveLength(version)
    for (const [index, commit] of commits.entries()) {
      const listed = JSON.parse(await git(cloned, 'show', `${commit}:manifest.json`))
      const entries = (await entriesAt(session, key, index + 1)).map(({ deploymentId, digest }) => [
        deploymentId,
        digest,
      ])
      expect([listed.manifestVersion, listed.deployments.map((one: Listed) => [one.deploymentId, one.digest])]).toEqual(
        [index + 1, entries],
      )
    }
    const documents = await documentsAt(session, key, version)
    expect(await contentsAt(cloned)).toEqual(
      Object.fromEntries(documents.map(({ deploymentId, content }) => [deploymentId, content])),
    )
  })
})

describe.each(postgresStores)('replicas on $name', (store) => {
  it.skipIf(!hasGit)('have the same commits, and so has one that begins anew', async () => {
    const on = await store.create()
    onTestFinished(() => on.drop())
    const [one, other] = [await startApp({ on }), await startApp({ on })]
    onTestFinished(() => other.stop())
    const want = (value: string) => [{ deviceId: 'edge', deploymentId: 'a', document: documentOf(value) }]
    await declare(one, want('1'), 'Why not')
    const cloned = await clone(`${one.url}/git/edge.git`)
    await declare(one, want('2'))
    expect(await hashesOf(await clone(`${other.url}/git/edge.git`))).toHaveLength(3)
    await declare(other, want('3'))
    // A load balancer sends him here and there.
    for (const { url } of [other, one, other]) {
      await git(cloned, 'remote', 'set-url', 'origin', `${url}/git/edge.git`)
      await git(cloned, 'pull', '-q', '--ff-only')
      expect(await contentsAt(cloned)).toEqual({ a: documentOf('3') })
    }
    await one.stop()
    const next = await startApp({ on })
    onTestFinished(() => next.stop())
    await git(cloned, 'remote', 'set-url', 'origin', `${next.url}/git/edge.git`)
    expect(await git(cloned, 'fetch', 'origin')).toBe('')
    expect(await hashesOf(cloned)).toEqual(await hashesOf(await clone(`${next.url}/git/edge.git`)))
    await declare(next, want('4'))
    await git(cloned, 'pull', '-q', '--ff-only')
    expect(await hashesOf(cloned)).toHaveLength(5)
  })
})
