/** Rounds of checks of open connections, beside a database or an issuer that is slow. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createFollowers, type FollowersDeps } from '../../../src/api/auth/api/followers.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import { everyone, type Principal } from '../../../src/domain/principal.ts'
import type { Session } from '../../../src/store/database.ts'
import { type EmptyStore, stores } from '../../support/databases/stores.ts'

const withKey: Principal = { ...everyone, credential: { kind: 'key', id: 'unknown' } }
const withSession: Principal = { ...everyone, credential: { kind: 'session', hash: 'unknown', of: 'key' } }
const withToken: Principal = { ...everyone, credential: { kind: 'jwt', text: 'a token' } }

describe.each(stores)('checks of open connections on $name', (store) => {
  let empty: EmptyStore
  const ending: (() => unknown)[] = []
  beforeEach(async () => {
    empty = await store.create()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  })
  afterEach(async () => {
    vi.useRealTimers()
    for (const end of ending.splice(0)) await end()
    await empty.drop()
  })

  /** `hold` delays each statement. */
  async function open(hold: Promise<void> = Promise.resolve(), given: Partial<FollowersDeps> = {}) {
    const database = await empty.open()
    const seen = { rounds: 0 }
    const rows: Session['rows'] = async (query) => {
      seen.rounds += 1
      await hold
      return database.session.rows(query)
    }
    const followers = createFollowers({
      database: { session: { ...database.session, rows } },
      clock: Date.now,
      verifyJwt: async () => {},
      ofKey: () => null,
      ofSession: () => null,
      ...given,
    })
    ending.push(followers.close, () => database.close())
    followers.start()
    const ended: string[] = []
    const follow = (name: string, principal: Principal) => followers.follow(principal, () => void ended.push(name))
    return { followers, seen, ended, follow }
  }

  it('do not overlap', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { followers, seen } = await open(promise)
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    followers.follow(withKey, end)
    vi.advanceTimersByTime(20_000)
    expect(seen.rounds).toBe(1)
    resolve()
    await ended
  })

  it('cost nothing without connections', async () => {
    const { followers, seen } = await open()
    await followers.recheck()
    expect(seen.rounds).toBe(0)
  })

  it('end no connection that began or ended meanwhile', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { followers, ended, follow } = await open(promise)
    const stop = follow('former', withKey)
    follow('present', withKey)
    const checked = followers.recheck()
    stop()
    follow('next', withKey)
    resolve()
    await checked
    expect(ended).toEqual(['present'])
    await followers.recheck()
    expect(ended).toEqual(['present', 'next'])
  })

  it('end what has expired, but not a session that was extended', async () => {
    const now = 1_000_000
    const { followers, ended, follow } = await open(undefined, {
      clock: () => now,
      ofKey: () => everyone,
      ofSession: () => everyone,
    })
    follow('expired key', { ...withKey, expiresAt: now })
    follow('key', { ...withKey, expiresAt: now + 1 })
    follow('expired token', { ...withToken, expiresAt: now })
    follow('extended session', { ...withSession, expiresAt: now - 1 })
    follow('session of fewer rights', { ...withSession, roles: ['admin', 'reporter'] })
    await followers.recheck()
    expect(ended).toEqual(['expired key', 'expired token', 'session of fewer rights'])
  })

  it('end a revoked key while an issuer does not answer', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let verified = 0
    const verifyJwt = () => {
      verified += 1
      return promise
    }
    const { followers, ended, follow } = await open(undefined, { verifyJwt })
    follow('token', withToken)
    vi.advanceTimersByTime(20_000)
    expect(verified).toBe(1)
    follow('key', withKey)
    await followers.recheck()
    expect(ended).toEqual(['key'])
    resolve()
  })

  it('verify each token every 30 s, and at once when the clock goes back', async () => {
    let now = 1_000_000
    const verified: number[] = []
    const verifyJwt = async (_: string, at: number) => void verified.push(at)
    const { follow } = await open(undefined, { clock: () => now, verifyJwt })
    follow('one', withToken)
    follow('another', withToken)
    for (const next of [now, now + 29_999, now + 30_000, now + 30_001, now - 1]) {
      now = next
      vi.advanceTimersByTime(1_000)
      // The round has ended.
      await new Promise(setImmediate)
    }
    expect(verified).toEqual([1_000_000, 1_030_000, 999_999])
  })

  it('end a token that its issuer has withdrawn, and none if the issuer cannot be asked', async () => {
    const failures: Readonly<Record<string, Error>> = {
      withdrawn: new DomainError('UNAUTHENTICATED', 'unknown key'),
      unavailable: new DomainError('UNAVAILABLE', 'the issuer does not answer'),
      broken: new TypeError('not an issuer'),
    }
    const verifyJwt = async (text: string) => {
      throw failures[text]
    }
    const { ended, follow } = await open(undefined, { verifyJwt })
    for (const text of Object.keys(failures)) follow(text, { ...withToken, credential: { kind: 'jwt', text } })
    vi.advanceTimersByTime(1_000)
    await expect.poll(() => ended).toEqual(['withdrawn'])
  })
})
