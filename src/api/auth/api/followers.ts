/**
 * Open connections, each of which ends when its credential becomes invalid. Rounds of checks do not overlap: while the database is slow, each would
 * add its statements to those that wait. Tokens have rounds of their own, because their issuer may be slow, and a revoked key must not wait for it.
 */
import { DomainError } from '../../../domain/errors.ts'
import { type Principal, rightsKey } from '../../../domain/principal.ts'
import { coalesce } from '../../../store/connection/coalesce.ts'
import type { Database } from '../../../store/database.ts'
import { type ApiKeyRow, findApiKeys, findSessions, type SessionRow } from '../../../store/read/api-access.ts'

/** Milliseconds between checks of the credentials of open connections, in case a doorbell is lost. */
const checkInterval = 1_000
/** Milliseconds between checks of the tokens of open connections: their issuer may withdraw a key. */
const tokenInterval = 30_000

export interface FollowersDeps {
  readonly database: Pick<Database, 'session'>
  readonly clock: () => number
  /** Null: tokens are not accepted. */
  readonly verifyJwt: ((text: string, now: number) => Promise<unknown>) | null
  /** Null: the key or the session is not valid. */
  readonly ofKey: (key: ApiKeyRow | null) => Principal | null
  readonly ofSession: (session: SessionRow | null) => Principal | null
}

interface Followers {
  /** Calls `end` once, when the credential becomes invalid. Call the result to stop. */
  follow(principal: Principal, end: () => void): () => void
  /** Checks keys and sessions in a round that begins after this call. */
  recheck(): Promise<void>
  /** Checks from now on. */
  start(): void
  close(): void
}

interface Follower {
  readonly principal: Principal
  readonly end: () => void
}

export function createFollowers({ database, clock, verifyJwt, ofKey, ofSession }: FollowersDeps): Followers {
  const followers = new Set<Follower>()
  let tokensCheckedAt = 0
  let timer: NodeJS.Timeout | undefined

  function end(isOver: (principal: Principal) => boolean, among: Iterable<Follower> = followers): void {
    for (const follower of [...among].filter(({ principal }) => isOver(principal)))
      if (followers.delete(follower)) follower.end()
  }

  const recheck = coalesce(async (): Promise<void> => {
    const now = clock()
    // A session may have been extended.
    end(({ expiresAt, credential }) => expiresAt !== null && expiresAt <= now && credential.kind !== 'session')
    const present = [...followers]
    const credentials = present.map(({ principal }) => principal.credential)
    const ids = credentials.flatMap((one) => (one.kind === 'key' ? [one.id] : []))
    const hashes = credentials.flatMap((one) => (one.kind === 'session' ? [one.hash] : []))
    const keys = await findApiKeys(database.session, [...new Set(ids)])
    const sessions = hashes.length > 0 ? await findSessions(database.session, [...new Set(hashes)]) : new Map()
    end((principal) => {
      const { credential } = principal
      if (credential.kind === 'key') return !ofKey(keys.get(credential.id) ?? null)
      if (credential.kind !== 'session') return false
      const current = ofSession(sessions.get(credential.hash) ?? null)
      return !current || rightsKey(current) !== rightsKey(principal)
    }, present)
  })

  const checkTokens = coalesce(async (): Promise<void> => {
    const now = clock()
    // If the clock of the database has gone back, the elapsed time is unknown, so the check runs.
    if (!verifyJwt || followers.size === 0 || (now >= tokensCheckedAt && now - tokensCheckedAt < tokenInterval)) return
    tokensCheckedAt = now
    const texts = [...followers].flatMap(({ principal: { credential } }) =>
      credential.kind === 'jwt' ? [credential.text] : [],
    )
    const withdrawn = new Set<string>()
    for (const text of new Set(texts))
      await verifyJwt(text, now).catch((error: unknown) => {
        if (error instanceof DomainError && error.code === 'UNAUTHENTICATED') withdrawn.add(text)
      })
    end(({ credential }) => credential.kind === 'jwt' && withdrawn.has(credential.text))
  })

  return {
    follow(principal, ended) {
      if (principal.credential.kind === 'none' || principal.credential.kind === 'adminKey') return () => {}
      const follower = { principal, end: ended }
      followers.add(follower)
      return () => void followers.delete(follower)
    },
    recheck,
    start() {
      timer = setInterval(() => {
        // A failed check ends no connection. The next interval checks again.
        for (const check of [recheck, checkTokens]) if (check.running() === null) void check().catch(() => undefined)
      }, checkInterval)
    },
    close: () => clearInterval(timer),
  }
}
