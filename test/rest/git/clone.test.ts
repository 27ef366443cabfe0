import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { registerAll, revoke } from '../../auth/devices/devices.ts'
import { contentsAt, hashesOf } from '../../git/harness.ts'
import { declare, remove } from '../../support/clients/desired.ts'
import { clone, git, gitFails, hasGit, whyNoGit } from '../../support/clients/git-client.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { startApp } from '../../support/servers/app.ts'
import { documentOf, useRepositories } from './repositories.ts'

describe.skipIf(!hasGit)(hasGit ? 'a repository of desired state' : `a repository: skipped, ${whyNoGit}`, () => {
  const { server, at } = useRepositories()

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

  it('does not exist for unknown and revoked devices', async () => {
    await registerAll(server(), [{ deviceId: 'gone' }])
    await revoke(server(), 'gone')
    expect(await gitFails(temporaryFolder(), 'clone', at('unknown'))).toContain('there is no device unknown')
    expect(await gitFails(temporaryFolder(), 'clone', at('gone'))).toContain('device gone has been revoked')
  })

  it('has a commit with author and reason for each change', async () => {
    const [first, second] = [documentOf('1'), documentOf('2')]
    const [id = ''] = await declare(
      server(),
      [{ deviceId: 'edge', deploymentId: 'a', document: first }],
      'Line 1 opens',
    )
    const cloned = await clone(at('edge'))
    expect(readFileSync(join(cloned, 'deployments/a.yaml'), 'utf8')).toBe(first)
    await declare(
      server(),
      ['a', 'b'].map((deploymentId) => ({ deviceId: 'edge', deploymentId, document: second })),
      'A new release',
    )
    await git(cloned, 'pull', '-q', '--ff-only')
    expect(readFileSync(join(cloned, 'deployments/a.yaml'), 'utf8')).toBe(second)
    await remove(server(), [id])
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
    const { device } = await server().query(
      '{ device(deviceId: "edge") { manifestVersion repository manifestHistory { nodes { version } } } }',
    )
    expect(device.manifestVersion).toBe('4')
    expect(`${server().url}${device.repository}`).toBe(at('edge'))
    // Nothing changed, so there is no commit.
    await declare(server(), [{ deviceId: 'edge', deploymentId: 'b', document: second }])
    const head = await git(cloned, 'rev-parse', 'HEAD')
    await git(cloned, 'pull', '-q', '--ff-only')
    expect(await git(cloned, 'rev-parse', 'HEAD')).toBe(head)
  })

  it.runIf(isWhole)('can be fetched shallow, and deepened', async () => {
    for (let release = 0; release < 6; release++)
      await declare(server(), [{ deviceId: 'deep', deploymentId: 'a', document: documentOf(String(release)) }])
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
    await declare(server(), [{ deviceId: 'deep', deploymentId: 'a', document: documentOf('6') }])
    await git(shallow, 'pull', '-q', '--ff-only')
    expect(await contentsAt(shallow)).toEqual({ a: documentOf('6') })
    await declare(server(), [{ deviceId: 'deep', deploymentId: 'a', document: documentOf('7') }])
    await git(shallow, 'fetch', '-q', '--depth', '1')
    await git(shallow, 'reset', '-q', '--hard', 'origin/main')
    expect(await hashesOf(shallow)).toHaveLength(1)
    expect(await contentsAt(shallow)).toEqual({ a: documentOf('7') })
  })

  it('of a gateway has the deployments of its children', async () => {
    const document = documentOf('1')
    await declare(server(), [{ deviceId: 'gate/child', deploymentId: 'behind', document }])
    expect(await contentsAt(await clone(at('gate')))).toEqual({ behind: document })
    const { device } = await server().query('{ device(deviceId: "gate/child") { repository } }')
    expect(device.repository).toBe('/git/gate.git')
    const said = await gitFails(temporaryFolder(), 'clone', at('gate/child'))
    expect(said).toContain('what gate/child should run is in the manifest of gate')
  })

  it('has a file for each deployment, whatever its name, byte for byte', async () => {
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
      server(),
      names.map((deploymentId) => ({ deviceId: 'strange ümlaut', deploymentId, document })),
    )
    const cloned = await clone(at('strange ümlaut'), '-c', 'core.autocrlf=true')
    expect(Object.keys(await contentsAt(cloned)).toSorted()).toEqual(names.toSorted())
    for (const file of readdirSync(join(cloned, 'deployments')))
      expect(readFileSync(join(cloned, 'deployments', file), 'utf8')).toBe(document)
  })

  it('refuses a push, and gives the reason', async () => {
    const cloned = await clone(at('new'))
    expect(await gitFails(cloned, 'push', 'origin', 'main')).toContain('this repository is read only')
    const pushed = await fetch(`${at('new')}/git-receive-pack`, { method: 'POST', body: '0000' })
    expect([pushed.status, ((await pushed.json()) as { detail: string }).detail]).toEqual([
      403,
      expect.stringContaining('read only'),
    ])
  })

  it('has no other routes', async () => {
    const get = async (path: string) => {
      const response = await fetch(`${at('new')}${path}`)
      return [response.status, response.headers.get('content-type'), (await response.json()).detail]
    }
    for (const path of ['', '/', '/HEAD', '/info/refs', '/info/refs?service=x', '/objects/info/packs', '/config'])
      expect(await get(path)).toEqual([404, 'application/problem+json', expect.stringContaining('git clone it')])
    const wrong = await fetch(`${server().url}/git/%ff.git/info/refs?service=git-upload-pack`)
    expect(wrong.status).toBe(422)
  })
})

describe.skipIf(!hasGit)('a repository of a server', () => {
  it('with room for one process serves every device, within its rate', async () => {
    const server = await startApp({ env: { GIT: 'git', GIT_PROCESSES: '1', DEVICE_RATE: '1' } })
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

  it('is missing without git, and the error gives the reason', async () => {
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
