/** Desired state as the real Git client sees it. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/app.ts'
import { temporaryFolder } from '../support/folder.ts'
import { git, gitFails, hasGit, whyNoGit } from '../support/git-client.ts'

describe.skipIf(!hasGit)(hasGit ? 'a repository of desired state' : `a repository: skipped, ${whyNoGit}`, () => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp()
  })
  afterAll(() => server.stop())

  it('can be cloned before anything is desired', async () => {
    const folder = temporaryFolder()
    for (const version of ['0', '1', '2']) {
      await git(folder, '-c', `protocol.version=${version}`, 'clone', '-q', `${server.url}/git/new.git`, version)
      const clone = join(folder, version)
      expect(await git(clone, 'branch', '--show-current')).toBe('main')
      expect(await git(clone, 'log', '--format=%an %s%n%(trailers:key=Manifest-Version,valueonly)')).toBe(
        'Rollcall Begin with nothing\n1',
      )
      expect(JSON.parse(await git(clone, 'show', 'HEAD:manifest.json'))).toEqual({
        manifestVersion: 1,
        deployments: [],
      })
      expect(await git(clone, 'fsck', '--strict')).toBe('')
    }
  })

  it('cannot be pushed to, and says why', async () => {
    const folder = temporaryFolder()
    await git(folder, 'clone', '-q', `${server.url}/git/new.git`, 'clone')
    expect(await gitFails(join(folder, 'clone'), 'push', 'origin', 'main')).toContain('read only')
  })
})
