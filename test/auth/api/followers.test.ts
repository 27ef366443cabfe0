/** Rounds of checks of open connections, beside a database or an issuer that is slow. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createFollowers } from '../../../src/auth/api/followers.ts'
import { everyone, type Principal } from '../../../src/domain/principal.ts'
import type { Session } from '../../../src/store/database.ts'
import { type EmptyStore, stores } from '../../support/stores.ts'

const withKey: Principal = { ...everyone, credential: { kind: 'key', id: 'unknown' } }
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
  async function open(hold: Promise<void>, verify: Promise<void>) {
    const database = await empty.open()
    const seen = { rounds: 0, verified: 0 }
    const rows: Session['rows'] = async (query) => {
      seen.rounds += 1
      await hold
      return database.session.rows(query)
    }
    const followers = createFollowers({
      database: { session: { ...database.session, rows } },
      clock: Date.now,
      verifyJwt: async () => {
        seen.verified += 1
        await verify
      },
      ofKey: () => null,
      ofSession: () => null,
    })
    ending.push(followers.close, () => database.close())
    followers.start()
    return { followers, seen }
  }

  it('do not overlap', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { followers, seen } = await open(promise, Promise.resolve())
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    followers.follow(withKey, end)
    vi.advanceTimersByTime(20_000)
    expect(seen.rounds).toBe(1)
    resolve()
    await ended
  })

  it('end a revoked key while an issuer does not answer', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { followers, seen } = await open(Promise.resolve(), promise)
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    followers.follow(withToken, () => {})
    vi.advanceTimersByTime(20_000)
    expect(seen.verified).toBe(1)
    followers.follow(withKey, end)
    await followers.recheck()
    await ended
    resolve()
  })
})
