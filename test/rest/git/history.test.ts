import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRandom } from '../../../src/apps/simulate/random.ts'
import { documentsAt, entriesAt } from '../../../src/store/read/desired/desired.ts'
import { findTips } from '../../../src/store/read/desired/manifest-tips.ts'
import { contentsAt, hashesOf } from '../../git/harness.ts'
import { declare, remove } from '../../support/clients/desired.ts'
import { clone, git, hasGit } from '../../support/clients/git-client.ts'
import { postgresStores, stores } from '../../support/databases/stores.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { startApp } from '../../support/servers/app.ts'
import { documentOf } from './repositories.ts'

interface Listed {
  readonly deploymentId: string
  readonly digest: string
}

describe.each(stores)('a history on $name', (store) => {
  it.skipIf(!hasGit)('has what each version listed, after any declarations and removals', async () => {
    const server = await startApp({ store, env: { GIT: 'git' } })
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
      // Cloned at one time, pulled at others.
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

describe.runIf(isWhole).each(postgresStores)('replicas on $name', (store) => {
  it.skipIf(!hasGit)('have the same commits, and so has one that starts later', async () => {
    const on = await store.create()
    onTestFinished(() => on.drop())
    const [one, other] = [await startApp({ on, env: { GIT: 'git' } }), await startApp({ on, env: { GIT: 'git' } })]
    onTestFinished(() => other.stop())
    const want = (value: string) => [{ deviceId: 'edge', deploymentId: 'a', document: documentOf(value) }]
    await declare(one, want('1'), 'Why not')
    const cloned = await clone(`${one.url}/git/edge.git`)
    await declare(one, want('2'))
    expect(await hashesOf(await clone(`${other.url}/git/edge.git`))).toHaveLength(3)
    await declare(other, want('3'))
    // A load balancer sends the client to either.
    for (const { url } of [other, one, other]) {
      await git(cloned, 'remote', 'set-url', 'origin', `${url}/git/edge.git`)
      await git(cloned, 'pull', '-q', '--ff-only')
      expect(await contentsAt(cloned)).toEqual({ a: documentOf('3') })
    }
    await one.stop()
    const next = await startApp({ on, env: { GIT: 'git' } })
    onTestFinished(() => next.stop())
    await git(cloned, 'remote', 'set-url', 'origin', `${next.url}/git/edge.git`)
    expect(await git(cloned, 'fetch', 'origin')).toBe('')
    expect(await hashesOf(cloned)).toEqual(await hashesOf(await clone(`${next.url}/git/edge.git`)))
    await declare(next, want('4'))
    await git(cloned, 'pull', '-q', '--ff-only')
    expect(await hashesOf(cloned)).toHaveLength(5)
  })
})
