/** The cache against a history that is played: git is the real one. */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findGit } from '../../src/api/git/program.ts'
import {
  createRepositories,
  type Repositories,
  type RepositoriesDeps,
  Spoiled,
} from '../../src/api/git/repositories.ts'
import { createDeadline } from '../../src/platform/limits/deadline.ts'
import { createRefuse } from '../../src/platform/limits/limits.ts'
import { git, hasGit, whyNoGit } from '../support/clients/git-client.ts'
import { temporaryFolder } from '../support/folder.ts'
import { casesOf, isWhole } from '../support/runner/depth.ts'
import { contentsAt, hashesOf, type PlayedHistory, playHistory } from './harness.ts'

interface Played {
  readonly history: PlayedHistory
  readonly repositories: Repositories
  readonly folder: string
  /** Git's processes so far. */
  runs: number
  now: number
}

async function play(history = playHistory(), more: Partial<RepositoriesDeps> = {}): Promise<Played> {
  const program = await findGit({ program: 'git', path: process.env.PATH ?? '' })
  if (!program) throw new Error(whyNoGit)
  const folder = temporaryFolder()
  const repositories = createRepositories({
    history,
    folder: async () => folder,
    deadline: () => createDeadline(60_000, createRefuse()),
    most: 100,
    clock: () => played.now,
    log: { warn: () => undefined },
    async run(command, options, work) {
      played.runs += 1
      await work(program.run(command, options))
    },
    ...more,
  })
  const played: Played = { history, folder, repositories, runs: 0, now: 0 }
  return played
}

const hashes = ({ repositories }: Played, device = 'd') =>
  repositories.use(device, ({ directory }) => hashesOf(directory))
const contents = ({ repositories }: Played, commit = 'HEAD') =>
  repositories.use('d', ({ directory }) => contentsAt(directory, commit))

describe.skipIf(!hasGit)(hasGit ? 'repositories' : `repositories: skipped, ${whyNoGit}`, () => {
  it('have a commit a version, with who, why and when', async () => {
    const played = await play()
    played.history.declare('d', { a: 'one' }, 'First')
    played.history.declare('d', { a: 'two', b: 'three' }, 'Second\r\n\r\nAnd why.\n\nManifest-Version: 99')
    played.history.declare('d', { a: null })
    const format = '%an|%at|%s|%(trailers:key=Manifest-Version,valueonly,separator=%x2C)'
    const log = await played.repositories.use('d', ({ directory }) =>
      git(directory, 'log', `--format=${format}`, 'main'),
    )
    expect(log.split('\n')).toEqual([
      'ann|1783663320|Remove a|4',
      'ann|1783663260|Second|3',
      'ann|1783663200|First|2',
      'Rollcall|0|Begin with nothing|1',
    ])
    expect(await contents(played)).toEqual({ b: 'three' })
    expect(await contents(played, 'HEAD~1')).toEqual({ a: 'two', b: 'three' })
    expect(await contents(played, 'HEAD~3')).toEqual({})
    expect(await played.repositories.use('d', ({ directory }) => git(directory, 'fsck', '--strict'))).toBe('')
  })

  it.runIf(isWhole)('are the same wherever and however they are made', async () => {
    const step = await play()
    const seen: string[][] = []
    for (let version = 0; version < 5; version++) {
      seen.push(await hashes(step))
      step.history.declare('d', {
        [`Strange id ${version % 2}`]: `content ${version}`,
        fixed: version % 3 ? 'x' : null,
      })
    }
    const atOnce = await play(step.history)
    const all = await hashes(atOnce)
    expect(await hashes(step)).toEqual(all)
    // Each is a continuation of those before.
    for (const before of seen) expect(all.slice(-before.length)).toEqual(before)
    expect(await contents(step)).toEqual(await contents(atOnce))
  })

  it('never change: a change of what a commit is made of would make every clone diverge', async () => {
    const played = await play()
    played.history.declare('d', { a: 'one', 'Line 1': 'two\r\n' }, 'First')
    played.history.declare('d', { a: null })
    expect(await hashes(played)).toEqual([
      '2fbb499083e63209a7ce41dc8500aa4b1c0fbbea',
      'f8e69a5bec184f1cffd232d0809a3542ca088495',
      '3a118af6f1396f76be725463381ebeadbc16dabd',
    ])
  })

  it('are used as they are while nothing changes, and are not made twice for those who come together', async () => {
    const played = await play()
    played.history.declare('d', { a: 'one' })
    const together = await Promise.all(Array.from({ length: 20 }, () => hashes(played)))
    expect(new Set(together.map(String)).size).toBe(1)
    expect(played.runs).toBe(1)
    // The one who came first, and all others.
    expect(played.history.reads).toEqual({ newest: 2, after: 1 })
  })

  it('have what was written before the request, also while they are maintained', async () => {
    const played = await play()
    played.history.declare('d', { a: 'one' })
    const first = hashes(played)
    played.history.declare('d', { a: 'two' })
    const second = hashes(played)
    await first
    expect(await second).toHaveLength(3)
  })

  it.each(
    casesOf(1, [
      ['nothing', 0],
      ['less', 1],
      ['as much', 2],
      ['more', 3],
    ]),
  )('are of the history that there is: after a backup was restored, with %s declared since', async (_, since) => {
    const played = await play()
    for (const a of ['one', 'two', 'three']) played.history.declare('d', { a })
    const before = await hashes(played)
    played.history.restore('d', 1)
    for (let version = 0; version < since; version++) played.history.declare('d', { a: `other ${version}` })
    const after = await hashes(played)
    expect(after).toHaveLength(2 + since)
    expect(after.slice(-2)).toEqual(before.slice(-2))
    expect(await contents(played)).toEqual({ a: since === 0 ? 'one' : `other ${since - 1}` })
    expect(await hashes(await play(played.history))).toEqual(after)
    await expect.poll(() => readdirSync(played.folder).length).toBe(1)
  })

  it.runIf(isWhole)('are not there when the history broke off, and are when it does not', async () => {
    const played = await play()
    for (const a of ['one', 'two', 'three']) played.history.declare('d', { a })
    played.history.breakAfter = 2
    await expect(hashes(played)).rejects.toThrow('the database has gone')
    expect(await hashes(played)).toHaveLength(4)
    played.history.declare('d', { a: 'four' })
    played.history.breakAfter = 1
    // What could not be added to is made anew.
    expect(await hashes(played)).toHaveLength(5)
    await expect.poll(() => readdirSync(played.folder).length).toBe(1)
  })

  it('are made anew when something has happened to them', async () => {
    const played = await play()
    played.history.declare('d', { a: 'one' })
    const before = await hashes(played)
    const [name = ''] = readdirSync(played.folder)
    rmSync(join(played.folder, name, 'objects'), { recursive: true })
    played.history.declare('d', { a: 'two' })
    expect((await hashes(played)).slice(1)).toEqual(before)
    const { runs } = played
    const spoiled = played.repositories.use('d', () => Promise.reject(new Spoiled('it could not be read')))
    await expect(spoiled).rejects.toThrow(Spoiled)
    expect(await hashes(played)).toHaveLength(3)
    expect(played.runs).toBe(runs + 1)
  })

  it.runIf(isWhole)('are made anew when they are old or in too many pieces', async () => {
    const played = await play()
    await hashes(played)
    played.now += 25 * 3_600_000
    await hashes(played)
    expect(played.runs).toBe(2)
    for (let version = 0; version < 55; version++) {
      played.history.declare('d', { a: String(version) })
      await played.repositories.use('d', async () => undefined)
    }
    const pieces = await played.repositories.use('d', async ({ directory }) =>
      readdirSync(join(directory, 'objects/pack')),
    )
    expect(pieces.length).toBeLessThan(20)
    expect(await hashes(played)).toHaveLength(56)
  })

  it('are dropped when they are unused for the longest time, but not while they are in use', async () => {
    const played = await play(playHistory(), { most: 1 })
    await played.repositories.use('a', async ({ directory }) => {
      await hashes(played, 'b')
      expect(await hashesOf(directory)).toHaveLength(1)
      writeFileSync(join(directory, 'mark'), '')
    })
    await expect.poll(() => readdirSync(played.folder).length).toBe(1)
    await played.repositories.use('a', async ({ directory }) => expect(existsSync(join(directory, 'mark'))).toBe(false))
  })
})
