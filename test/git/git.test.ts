/** What it may use, and what it leaves behind. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createGit, type Git } from '../../src/git/git.ts'
import { createRefuse, type GitLimits } from '../../src/limits/limits.ts'
import { temporaryFolder } from '../support/folder.ts'
import { hasGit, whyNoGit } from '../support/git-client.ts'
import { type PlayedHistory, playHistory } from './harness.ts'

interface Played {
  readonly git: Git
  readonly history: PlayedHistory
  readonly folder: string
  readonly warned: string[]
}

async function play(limits: Partial<GitLimits> = {}, folder = temporaryFolder()): Promise<Played> {
  const history = playHistory()
  const warned: string[] = []
  const git = await createGit({
    config: { program: 'git', path: process.env.PATH ?? '', directory: folder },
    history,
    limits: { processes: 4, time: 60_000, waiting: 60_000, ...limits },
    refuse: createRefuse(),
    log: { warn: (_: unknown, message?: string) => void warned.push(message ?? '') },
  })
  onTestFinished(() => git.close())
  return { git, history, folder, warned }
}

const never = new AbortController().signal

async function refs({ git }: Played, device = 'd', signal = never): Promise<string> {
  let said = ''
  await git.uploadPack(device, { protocol: 0, body: null, signal }, async (output) => {
    said = await text(output)
  })
  return said
}

/** One that has begun to be told, and goes on when `go` is called. */
function hold({ git }: Played, device: string, signal = never) {
  const { promise: let_, resolve: go } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const told = git.uploadPack(device, { protocol: 0, body: null, signal }, async (output: Readable) => {
    begin()
    await let_
    await text(output)
  })
  told.catch(() => undefined)
  return { told, begun, go }
}

describe.skipIf(!hasGit)(hasGit ? 'git' : `git: skipped, ${whyNoGit}`, () => {
  it('gives who reads slowly what it has, and its place to the next', async () => {
    const played = await play({ processes: 1 })
    const slow = hold(played, 'slow')
    await slow.begun
    expect(await refs(played)).toContain('refs/heads/main')
    slow.go()
    await slow.told
  })

  it('has two at once for one device, and as many others as there is room for', async () => {
    const played = await play({ waiting: 50 })
    const first = [hold(played, 'd'), hold(played, 'd')]
    await Promise.all(first.map(({ begun }) => begun))
    await expect(refs(played)).rejects.toMatchObject({ code: 'TOO_MANY', facts: { limit: 'gitProcesses' } })
    expect(await refs(played, 'other')).toContain('refs/heads/main')
    for (const { go } of first) go()
    await Promise.all(first.map(({ told }) => told))
    expect(await refs(played)).toContain('refs/heads/main')
  })

  it('does not wait for who has gone', async () => {
    const played = await play()
    const controller = new AbortController()
    const going = [hold(played, 'd', controller.signal), hold(played, 'd', controller.signal)]
    await Promise.all(going.map(({ begun }) => begun))
    const waiting = refs(played, 'd', controller.signal)
    controller.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    for (const { go, told } of going) {
      go()
      await told.catch(() => undefined)
    }
    expect(await refs(played)).toContain('refs/heads/main')
  })

  it('ends what lasts too long', async () => {
    const played = await play({ time: 500 })
    const { history } = played
    history.newest = async () => ({ version: 2, at: 0 })
    history.after = async function* () {
      await new Promise(() => undefined)
    }
    await expect(refs(played)).rejects.toMatchObject({ code: 'TIMED_OUT' })
  })

  it('leaves nothing when it ends, also of what was under way', async () => {
    const played = await play()
    const { git, history, folder } = played
    expect(readdirSync(folder)).toEqual([])
    await refs(played)
    expect(readdirSync(folder)).toHaveLength(1)
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    history.newest = async () => ({ version: 2, at: 0 })
    history.after = async function* () {
      ask()
      await new Promise(() => undefined)
    }
    const stuck = refs(played, 'stuck')
    stuck.catch(() => undefined)
    await asked
    await git.close()
    await expect(stuck).rejects.toThrow()
    expect(readdirSync(folder)).toEqual([])
  })

  it('makes a repository anew that somebody has spoiled, before its client notices', async () => {
    const played = await play()
    const before = await refs(played)
    const [own = ''] = readdirSync(played.folder)
    spawnSync('rm', ['-rf', join(played.folder, own, '1', 'objects')])
    expect(await refs(played)).toBe(before)
    expect(played.warned).toEqual(['git could not read a repository: it is made anew'])
  })

  it('takes away what a killed process has left, and nothing else', async () => {
    const folder = temporaryFolder()
    const { pid: ended } = spawnSync('true')
    const mine = `rollcall-git-${hostname()}`
    const left = [`${mine}-${ended}-1-abc`, `${mine}-${process.pid}-1-abc`]
    const others = [`${mine}-${process.ppid}-1-abc`, `rollcall-git-elsewhere-${ended}-1-abc`, `${mine}-x`, 'precious']
    for (const name of [...left, ...others]) mkdirSync(join(folder, name, 'objects'), { recursive: true })
    const played = await play({}, folder)
    await refs(played)
    await played.git.close()
    expect(readdirSync(folder).toSorted()).toEqual(others.toSorted())
  })
})
