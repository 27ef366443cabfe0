/** What it may use, and what it leaves behind. */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Duplex, Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createGit, type Git, mostAhead, mostAheadAtOnce } from '../../src/api/git/git.ts'
import { createRefuse, type GitLimits } from '../../src/platform/limits/limits.ts'
import { hasGit, whyNoGit } from '../support/clients/git-client.ts'
import { temporaryFolder } from '../support/folder.ts'
import { isWhole } from '../support/runner/depth.ts'
import { type PlayedHistory, playHistory } from './harness.ts'

interface Played {
  readonly git: Git
  readonly history: PlayedHistory
  readonly folder: string
  readonly warned: string[]
  /** Milliseconds. */
  now: number
}

async function play(limits: Partial<GitLimits> = {}, folder = temporaryFolder()): Promise<Played> {
  const history = playHistory()
  const warned: string[] = []
  const played = { history, folder, warned, now: Date.now() }
  const git = await createGit({
    config: { program: 'git', path: process.env.PATH ?? '', directory: folder },
    history,
    limits: { processes: 4, time: 60_000, waiting: 60_000, ...limits },
    refuse: createRefuse(),
    clock: () => played.now,
    log: { warn: (_: unknown, message?: string) => void warned.push(message ?? '') },
  })
  onTestFinished(() => git.close())
  return Object.assign(played, { git })
}

const never = new AbortController().signal

async function refs({ git }: Played, device = 'd', signal = never): Promise<string> {
  let said = ''
  await git.uploadPack(device, { protocol: 0, body: null, signal }, async (output) => {
    said = await text(output)
  })
  return said
}

/** What a clone asks for: everything up to the first commit of all. */
const clone = Buffer.from('0032want 3a118af6f1396f76be725463381ebeadbc16dabd\n00000009done\n')

/** How its answer begins. */
const packed = '0008NAK\nPACK'

async function pack({ git }: Played, device = 'd', signal = never): Promise<string> {
  let said = ''
  await git.uploadPack(device, { protocol: 0, body: clone, signal }, async (output) => {
    said = (await buffer(output)).toString('latin1')
  })
  return said.slice(0, packed.length)
}

/** One that has begun, and continues when `go` is called. */
function hold({ git }: Played, device: string, signal = never) {
  const { promise: going, resolve: go } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const told = git.uploadPack(device, { protocol: 0, body: clone, signal }, async (output: Readable) => {
    begin()
    await going
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
    expect(await pack(played)).toBe(packed)
    slow.go()
    await slow.told
  })

  it.runIf(isWhole)(
    'holds for clients that do not read as much as one limit allows, and no more for very many of them',
    async () => {
      const played = await play({ processes: 2 * mostAheadAtOnce })
      const devices = Array.from({ length: mostAheadAtOnce + 2 }, (_, n) => `slow-${n}`)
      // Random text: what compresses well is no large answer.
      const large = randomBytes(1.2 * mostAhead).toString('base64')
      for (const device of devices) played.history.declare(device, { large })
      const held: Readable[] = []
      const { promise: going, resolve: go } = Promise.withResolvers<void>()
      const told: Promise<void>[] = []
      for (const device of devices) {
        const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
        const [, id] = /([0-9a-f]{40}) HEAD/.exec(await refs(played, device)) ?? []
        const body = Buffer.from(`0032want ${id}\n00000009done\n`)
        const send = async (output: Readable) => {
          held.push(output)
          begin()
          await going
          await buffer(output)
        }
        told.push(played.git.uploadPack(device, { protocol: 0, body, signal: never }, send))
        await begun
      }
      // Bytes of both sides of the stream. A chunk of the pipe may be beyond the mark.
      const sizes = () => held.map((one) => one.readableLength + (one as unknown as Duplex).writableLength)
      await expect.poll(() => sizes().filter((size) => size >= mostAhead).length).toBe(mostAheadAtOnce)
      const chunk = 256 << 10
      expect(Math.max(...sizes())).toBeLessThan(mostAhead + chunk)
      expect(sizes().reduce((sum, size) => sum + size)).toBeLessThan(
        mostAheadAtOnce * mostAhead + devices.length * chunk,
      )
      go()
      await Promise.all(told)
      // The next one has what they had.
      const next = hold(played, 'next')
      await next.begun
      next.go()
      await next.told
    },
  )

  it('has two at once for one device, and as many others as there is room for', async () => {
    const played = await play({ waiting: 50 })
    const first = [hold(played, 'd'), hold(played, 'd')]
    await Promise.all(first.map(({ begun }) => begun))
    await expect(pack(played)).rejects.toMatchObject({ code: 'TOO_MANY', facts: { limit: 'gitProcesses' } })
    expect(await pack(played, 'other')).toBe(packed)
    for (const { go } of first) go()
    await Promise.all(first.map(({ told }) => told))
    expect(await pack(played)).toBe(packed)
  })

  it('does not wait for who has gone', async () => {
    const played = await play()
    const controller = new AbortController()
    const going = [hold(played, 'd', controller.signal), hold(played, 'd', controller.signal)]
    await Promise.all(going.map(({ begun }) => begun))
    const waiting = pack(played, 'd', controller.signal)
    controller.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    for (const { go, told } of going) {
      go()
      await told.catch(() => undefined)
    }
    expect(await pack(played)).toBe(packed)
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

  it.runIf(isWhole)('begins nothing anew while it ends', async () => {
    const played = await play()
    const { git, history, folder } = played
    await refs(played)
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    let reads = 0
    history.newest = async () => ({ version: 2, at: 0 })
    history.after = async function* () {
      reads += 1
      ask()
      await new Promise(() => undefined)
    }
    const adding = refs(played)
    adding.catch(() => undefined)
    await asked
    await git.close()
    await expect(adding).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await expect(pack(played, 'another')).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(reads).toBe(1)
    expect(readdirSync(folder)).toEqual([])
  })

  it.runIf(isWhole)('makes nothing anew because there was no room to add to it', async () => {
    const played = await play({ processes: 1, waiting: 50 })
    const { history } = played
    await refs(played)
    const { promise: going, resolve: go } = Promise.withResolvers<void>()
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const { after } = history
    history.after = async function* (device, version) {
      if (device === 'slow') {
        ask()
        await going
      }
      yield* after(device, version)
    }
    const slow = refs(played, 'slow')
    await asked
    history.declare('d', { a: 'one' })
    await expect(refs(played)).rejects.toMatchObject({ code: 'TOO_MANY' })
    go()
    await slow
    expect(await refs(played)).not.toBe(await refs(played, 'slow'))
    expect(played.warned).toEqual([])
  })

  it('is not asked again which the newest commit is while nothing new is desired', async () => {
    const played = await play()
    const first = await refs(played)
    rmSync(played.folder, { recursive: true })
    expect(await refs(played)).toBe(first)
    expect(existsSync(played.folder)).toBe(false)
    played.history.declare('d', { a: 'one' })
    const second = await refs(played)
    expect(second).not.toBe(first)
    // As after a backup was restored.
    played.history.restore('d', 0)
    expect(await refs(played)).toBe(first)
    played.history.declare('d', { a: 'other' })
    expect(new Set([first, second, await refs(played)]).size).toBe(3)
  })

  it('makes a damaged repository again, before its client notices', async () => {
    const played = await play()
    expect(await pack(played)).toBe(packed)
    const [own = ''] = readdirSync(played.folder)
    rmSync(join(played.folder, own, '1', 'objects'), { recursive: true })
    expect(await pack(played)).toBe(packed)
    expect(played.warned).toEqual(['a repository could not be used: it is recreated'])
    rmSync(join(played.folder, own, '2'), { recursive: true })
    played.now += 60_000
    expect(await pack(played)).toBe(packed)
  })

  it.runIf(isWhole)('makes a repository again once a minute at most for requests that Git refuses', async () => {
    const played = await play()
    expect(await pack(played)).toBe(packed)
    const body = Buffer.from('zzzz')
    const ask = () =>
      played.git.uploadPack('d', { protocol: 0, body, signal: never }, async (output) => void (await buffer(output)))
    for (let i = 0; i < 5; i++) await expect(ask()).rejects.toThrow('git cannot answer the request')
    expect(played.warned).toHaveLength(1)
    played.now += 60_000
    await expect(ask()).rejects.toThrow('git cannot answer the request')
    expect(played.warned).toHaveLength(2)
    expect(await pack(played)).toBe(packed)
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
