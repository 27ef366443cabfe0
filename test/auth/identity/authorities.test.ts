/** The authorities of trust domains: asked for as the service says, kept on disk, replaced as a whole, and never lost by a failure. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAuthorities } from '../../../src/api/auth/identity/authorities.ts'
import { type Bundle, readBundle } from '../../../src/api/auth/identity/bundle.ts'
import { createKeptBundles } from '../../../src/api/auth/identity/kept-bundles.ts'
import { AnswerError } from '../../../src/platform/outbound/request.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { type Authority, type Certificates, createCertificates } from '../devices/certificates.ts'
import { bundleOf } from './svids.ts'

let certificates: Certificates
let first: Authority
let second: Authority
beforeAll(async () => {
  certificates = await createCertificates()
  first = await certificates.authority('first')
  second = await certificates.authority('second')
})
afterAll(() => certificates.remove())

const bundle = (sequence: number | null, ...authorities: Authority[]): Bundle =>
  readBundle(bundleOf(sequence, ...authorities))
const failing = (message: string) => () => {
  throw new AnswerError(message)
}

/** A service that answers as a test says, in time that passes as a test says. */
function create(
  directory = temporaryFolder(),
  domains: readonly string[] = ['factory.example'],
  kept = createKeptBundles(directory),
) {
  const logged: string[] = []
  const log = (...said: readonly unknown[]) => void logged.push(String(said.at(-1)))
  let answer: () => ReadonlyMap<string, Bundle> = () => new Map([['factory.example', bundle(1, first)]])
  let refresh: number | null = null
  let waiting = Promise.withResolvers<number>()
  let go: () => void = () => {}
  let changes = 0
  const authorities = createAuthorities({
    sources: [{ trustDomain: null, url: 'https://mis.example' }],
    domains: () => domains,
    ask: async () => ({ bundles: answer(), refresh }),
    kept,
    // biome-ignore lint/suspicious/noExplicitAny: only three of its methods are used.
    log: { info: log, warn: log, error: log } as any,
    changed: () => (changes += 1),
    pause: (time, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        waiting.resolve(time)
        go = () => resolve(undefined)
      }),
  })
  return {
    ...{ authorities, directory, logged },
    changes: () => changes,
    answers(next: typeof answer, hint: number | null = null) {
      answer = next
      refresh = hint
    },
    /** Seconds until the next look, once the present one has ended. */
    async pause(): Promise<number> {
      return (await waiting.promise) / 1_000
    },
    /** The pause that begins next. */
    nextPause(): Promise<number> {
      waiting = Promise.withResolvers()
      return this.pause()
    },
    /** The present one passes. */
    async pass(): Promise<number> {
      const next = this.nextPause()
      go()
      return next
    },
    held: (domain = 'factory.example') => authorities.of(domain)?.authorities.map(({ subject }) => subject.slice(3)),
  }
}

describe('the authorities of a trust domain', () => {
  it('are asked for at the start, and again as the hint says, within bounds', async () => {
    const one = create()
    one.answers(() => new Map([['factory.example', bundle(1, first)]]), 3_600)
    await one.authorities.start()
    expect([one.held(), await one.pause()]).toEqual([['first'], 3_600])
    for (const [hint, seconds] of [
      [null, 300],
      [0, 300],
      [1, 10],
      [2_419_200, 86_400],
    ] as const) {
      one.answers(() => new Map([['factory.example', bundle(1, first)]]), hint)
      expect(await one.pass()).toBe(seconds)
    }
    await one.authorities.stop()
  })

  it('are asked for when that is asked, and again in the time that this answer says', async () => {
    const one = create()
    one.answers(() => new Map([['factory.example', bundle(1, first)]]), 3_600)
    await one.authorities.start()
    expect(await one.pause()).toBe(3_600)
    const next = one.nextPause()
    one.answers(() => new Map([['factory.example', bundle(2, second)]]), 60)
    await one.authorities.refresh()
    expect([one.held(), await next]).toEqual([['second'], 60])
    await one.authorities.stop()
  })

  it('are replaced as a whole: one is added, and one is removed', async () => {
    const one = create()
    await one.authorities.start()
    one.answers(() => new Map([['factory.example', bundle(2, first, second)]]))
    await one.authorities.refresh()
    expect(one.held()).toEqual(['first', 'second'])
    one.answers(() => new Map([['factory.example', bundle(3, second)]]))
    await one.authorities.refresh()
    expect(one.held()).toEqual(['second'])
    const before = one.changes()
    await one.authorities.refresh()
    expect(one.changes()).toBe(before)
    expect(one.logged.filter((line) => line.includes('have changed'))).toHaveLength(3)
    await one.authorities.stop()
  })

  it('stay in use while the service fails, is said once to fail, and once to be back', async () => {
    const one = create()
    await one.authorities.start()
    for (const message of ['it answers with the status 500', 'it answers with a bundle without authorities', 'x']) {
      one.answers(failing(message))
      expect(await one.pass()).toBeLessThanOrEqual(60)
      expect(one.held()).toEqual(['first'])
    }
    const said =
      'the identity service cannot be used: it answers with the status 500. The former authorities stay in use'
    expect(one.logged.slice(1)).toEqual([said])
    one.answers(() => new Map([['factory.example', bundle(2, second)]]))
    expect([await one.pass(), one.held()]).toEqual([300, ['second']])
    expect(one.logged.at(-1)).toBe('the identity service can be used again')
    await one.authorities.stop()
  })

  it('do not go back to those of a lower sequence, in no trust domain if in one', async () => {
    const one = create(undefined, ['a', 'b'])
    one.answers(
      () =>
        new Map([
          ['a', bundle(5, first)],
          ['b', bundle(5, first)],
        ]),
    )
    await one.authorities.start()
    one.answers(
      () =>
        new Map([
          ['a', bundle(6, second)],
          ['b', bundle(4, second)],
        ]),
    )
    await one.authorities.refresh()
    expect([one.held('a'), one.held('b')]).toEqual([['first'], ['first']])
    expect(one.logged.at(-1)).toContain('the bundle 4 of b after the bundle 5. If it was restored, remove ')
    // A service that does not count, or counts no change.
    one.answers(
      () =>
        new Map([
          ['a', bundle(5, second)],
          ['b', bundle(null, second)],
        ]),
    )
    await one.authorities.refresh()
    expect([one.held('a'), one.held('b')]).toEqual([['second'], ['second']])
    await one.authorities.stop()
  })

  it('are kept on disk for a start without the service, with their sequence, for that service only', async () => {
    const one = create()
    one.answers(() => new Map([['factory.example', bundle(5, first, second)]]))
    await one.authorities.start()
    await one.authorities.stop()
    const files = readdirSync(one.directory)
    expect(files).toEqual(['factory.example.json'])
    const file = join(one.directory, 'factory.example.json')
    expect(statSync(file).mode & 0o777).toBe(0o600)

    const two = create(one.directory)
    two.answers(failing('it answers with the status 500'))
    await two.authorities.start()
    await two.pause()
    expect([two.held(), two.changes()]).toEqual([['first', 'second'], 1])
    two.answers(() => new Map([['factory.example', bundle(4, first)]]))
    await two.authorities.refresh()
    expect(two.held()).toEqual(['first', 'second'])
    await two.authorities.stop()

    writeFileSync(file, readFileSync(file, 'utf8').replace('mis.example', 'another.example'))
    const three = create(one.directory)
    three.answers(failing('it answers with the status 500'))
    await three.authorities.start()
    expect(three.held()).toBeUndefined()
    await three.authorities.stop()
  })

  it.each(['', '{', '{"service":"https://mis.example/.well-known/margo","keys":[]}'])(
    'are asked for if what is on disk cannot be used: %s',
    async (text) => {
      const directory = temporaryFolder()
      writeFileSync(join(directory, 'factory.example.json'), text)
      const one = create(directory)
      await one.authorities.start()
      expect(one.held()).toEqual(['first'])
      expect(one.logged[0]).toBe('a kept bundle of authorities cannot be used')
      await one.authorities.stop()
    },
  )

  it('are used also if they cannot be kept', async () => {
    const file = join(temporaryFolder(), 'a-file')
    writeFileSync(file, '')
    const one = create(file)
    await one.authorities.start()
    expect(one.held()).toEqual(['first'])
    expect(one.logged.at(-1)).toContain('was not kept')
    await one.authorities.stop()
  })
  it('are in use before they are kept, however long the disk takes', async () => {
    const [writing, disk] = [Promise.withResolvers<unknown>(), Promise.withResolvers<void>()]
    const one = create(undefined, ['a', 'b'], {
      read: async () => null,
      pathOf: String,
      write() {
        writing.resolve([one.changes(), one.held('a'), one.held('b')])
        return disk.promise
      },
    })
    one.answers(() => new Map(['a', 'b'].map((domain) => [domain, bundle(1, first)])))
    const started = one.authorities.start()
    expect(await writing.promise).toEqual([1, ['first'], ['first']])
    disk.resolve()
    await started
    await one.authorities.stop()
  })
})
