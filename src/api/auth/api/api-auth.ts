/**
 * Identifies API callers by an API key, a token of an external issuer, or the session cookie of a browser.
 *
 *   token given?  ──yes──▶ an API key, or a JWT ──▶ its principal, or refused, even if API_AUTH has open
 *        │no
 *   cookie given? ──yes──▶ its session, while the credential that opened it is valid
 *        │no
 *   API_AUTH has open? ──▶ everyone, or refused
 *
 * Credentials are not cached: a credential that any replica revokes is refused from the next request on (../devices/lookup.ts has the cost).
 * The statement that looks up an API key or a session also reads the log's head, which tells the response cache whether its response is current.
 * An open connection ends when its credential becomes invalid: at the doorbell between replicas, or within a second if the doorbell is lost.
 */
import { parseScopes, scopesOf } from '../../../domain/access-scope.ts'
import { DomainError } from '../../../domain/errors.ts'
import { everyone, type Principal, type Role, roles } from '../../../domain/principal.ts'
import type { Millis } from '../../../domain/values.ts'
import { audited, closeSession, openSession } from '../../../ingest/commands/api-access.ts'
import type { Writer } from '../../../ingest/writer.ts'
import type { Database, LogHead } from '../../../store/database.ts'
import {
  type ApiKeyRow,
  type AuditEntry,
  findApiKeysByHash,
  findSessions,
  type SessionRow,
} from '../../../store/read/api-access.ts'
import { createLookup } from '../devices/lookup.ts'
import { looksLikeJwt } from '../signed-token.ts'
import type { Presented } from './credentials.ts'
import { createFollowers } from './followers.ts'
import { createJwtVerifier, type JwtConfig } from './jwt.ts'
import { hashOf, isSameHash, looksLikeApiKey, looksLikeTerminalToken, newCookie } from './keys.ts'

export type ApiAuthMethod = 'open' | 'key' | 'jwt' | 'oidc'

export interface ApiAuthConfig {
  readonly methods: readonly ApiAuthMethod[]
  /** An admin key from the environment. Null: only stored keys exist. */
  readonly adminKey: string | null
  /** Null unless `jwt` is a method. */
  readonly jwt: JwtConfig | null
  /** The issuer whose sessions are accepted. Null unless `oidc` is a method. */
  readonly oidcIssuer: string | null
}

export interface ApiAuth {
  /** Throws UNAUTHENTICATED. `seen` receives the log's head if the statement that looked up the credential has read it. */
  identify(presented: Presented, seen?: (head: LogHead) => void): Promise<Principal>
  /** Whether API keys are accepted. */
  readonly takesKeys: boolean
  /** Whether the text has the form of an API key, valid or not. No device token has this form. */
  isKey(text: string): boolean
  /** Calls `end` once, when the credential becomes invalid. Call the result to stop. */
  follow(principal: Principal, end: () => void): () => void
  signIn(
    presented: Presented,
  ): Promise<{ readonly principal: Principal; readonly cookie: string; readonly seconds: number }>
  /** Ends the session of this cookie, if one exists. */
  signOut(presented: Presented): Promise<void>
  /** Checks followed credentials now. Call it after a revocation. */
  recheck(): Promise<void>
  close(): void
}

interface ApiAuthDeps {
  readonly config: ApiAuthConfig
  readonly database: Pick<Database, 'session'>
  readonly writer: Pick<Writer, 'submit'>
  readonly clock: () => number
  /** Receives every refused credential. */
  readonly refused?: (presented: Presented, reason: string) => void
}

const howToSend = 'send Authorization: Bearer, or X-API-Key'
const howPersonsSignIn =
  'sign in on the page, or with the command `rollcall login`. Programs need API_AUTH=key or jwt on the server'

/** Milliseconds of a browser session. */
const sessionLength = 12 * 60 * 60 * 1000

export function createApiAuth(deps: ApiAuthDeps): ApiAuth {
  const { config, database, writer, clock, refused = () => {} } = deps
  const { methods } = config
  const isOnlyOpen = methods.every((method) => method === 'open')
  const isForPersons = !methods.some((method) => method === 'key' || method === 'jwt')
  const adminHash = config.adminKey === null ? null : hashOf(config.adminKey)
  const verifyJwt = config.jwt && createJwtVerifier(config.jwt)
  const findKey = createLookup((hashes) => findApiKeysByHash(database.session, hashes))
  const findSession = createLookup((hashes) => findSessions(database.session, hashes))

  async function identify(presented: Presented, seen: (head: LogHead) => void = () => {}): Promise<Principal> {
    if (isOnlyOpen) return everyone
    try {
      return await find(presented, seen)
    } catch (error) {
      const isAttempt = presented.token !== null || presented.cookie !== null
      if (isAttempt && error instanceof DomainError && error.code === 'UNAUTHENTICATED')
        refused(presented, error.message)
      throw error
    }
  }

  async function find({ token, cookie }: Presented, seen: (head: LogHead) => void): Promise<Principal> {
    if (token !== null) return ofToken(token, seen)
    if (cookie !== null) {
      const principal = await ofSession(cookie, seen)
      if (principal) return principal
      if (!methods.includes('open')) throw unauthenticated('the session is over: sign in again')
    }
    if (methods.includes('open')) return everyone
    throw unauthenticated(
      isForPersons ? `a session is needed: ${howPersonsSignIn}` : `a credential is needed: ${howToSend}`,
    )
  }

  async function ofSession(text: string, seen: (head: LogHead) => void): Promise<Principal | null> {
    const found = await findSession(hashOf(text))
    if (found) seen(found.head)
    return principalOfSession(found)
  }

  async function ofToken(token: string, seen: (head: LogHead) => void): Promise<Principal> {
    if (looksLikeTerminalToken(token)) {
      const principal = await ofSession(token, seen)
      if (principal) return principal
      throw unauthenticated('the session is over: sign in again')
    }
    if (verifyJwt && looksLikeJwt(token)) return verifyJwt(token, clock())
    if (isForPersons) throw unauthenticated(`keys and tokens are not accepted: ${howPersonsSignIn}`)
    if (!methods.includes('key')) throw unauthenticated('the token is refused: it is not a JWT')
    const hash = hashOf(token)
    if (adminHash !== null && isSameHash(hash, adminHash)) return adminOfEnvironment
    const found = await findKey(hash)
    const principal = principalOfKey(found)
    if (found) seen(found.head)
    if (!principal) throw unauthenticated('the key is refused: it is unknown, revoked or has expired')
    return principal
  }

  function principalOfSession(session: SessionRow | null): Principal | null {
    if (!session || session.expiresAt <= clock()) return null
    const credential = { kind: 'session', hash: session.hash, of: session.credential } as const
    if (session.credential === 'key') {
      const key = methods.includes('key') ? principalOfKey(session.key) : null
      return key && { ...key, credential, expiresAt: Math.min(session.expiresAt, key.expiresAt ?? session.expiresAt) }
    }
    return isVouchedFor(session) ? { ...principalOf(session), credential, expiresAt: session.expiresAt } : null
  }

  function isVouchedFor({ credential, credentialId }: SessionRow): boolean {
    if (credential === 'adminKey') return adminHash !== null && isSameHash(credentialId, adminHash)
    return credential === 'oidc' ? credentialId === config.oidcIssuer : methods.includes('jwt')
  }

  function principalOfKey(key: ApiKeyRow | null): Principal | null {
    if (!key || key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= clock())) return null
    return { ...principalOf(key), credential: { kind: 'key', id: key.id }, expiresAt: key.expiresAt }
  }

  const followers = createFollowers({
    ...{ database, clock, verifyJwt, ofKey: principalOfKey, ofSession: principalOfSession },
  })
  if (!isOnlyOpen) followers.start()

  return {
    identify,
    takesKeys: methods.includes('key'),
    isKey: (text) =>
      methods.includes('key') && (looksLikeApiKey(text) || (adminHash !== null && isSameHash(hashOf(text), adminHash))),
    follow: followers.follow,
    async signIn(presented) {
      const principal = await identify({ ...presented, cookie: null })
      const { credential, expiresAt } = principal
      if (credential.kind === 'none' || credential.kind === 'session')
        throw unauthenticated(`a session is opened with a key or a token: ${howToSend}`)
      const now = clock()
      const ends = Math.min(now + sessionLength, expiresAt ?? Number.POSITIVE_INFINITY)
      const cookie = newCookie()
      const opened = openSession({
        hash: cookie.hash,
        credential: credential.kind,
        credentialId:
          credential.kind === 'key' ? credential.id : credential.kind === 'adminKey' ? (adminHash ?? '') : '',
        name: principal.name,
        roles: principal.roles,
        scopes: scopesOf(principal.accessScope),
        expiresAt: ends,
      })
      const { address } = presented
      await writer.submit(audited(opened, entry('SIGN_IN', principal, address, now)))
      return { principal, cookie: cookie.text, seconds: Math.floor((ends - now) / 1000) }
    },
    async signOut({ cookie, token, address }) {
      const text = token !== null && looksLikeTerminalToken(token) ? token : cookie
      if (text === null) return
      const hash = hashOf(text)
      const principal = principalOfSession(await findSession(hash))
      const closed = closeSession(hash)
      await writer.submit(principal ? audited(closed, entry('SIGN_OUT', principal, address, clock())) : closed)
      await this.recheck()
    },
    recheck: followers.recheck,
    close: followers.close,
  }
}

function entry(kind: 'SIGN_IN' | 'SIGN_OUT', principal: Principal, address: string, at: Millis): AuditEntry {
  const { name: caller, credential } = principal
  const action = kind === 'SIGN_IN' ? 'signIn' : 'signOut'
  const presented = credential.kind === 'session' ? credential.of : credential.kind
  return { at, kind, caller, credential: presented, address, action, outcome: 'done', detail: null, times: 1 }
}

/** Authentication of a server that accepts every caller. */
export const openAuth: Pick<ApiAuth, 'identify' | 'follow' | 'recheck'> = {
  identify: async () => everyone,
  follow: () => () => {},
  recheck: async () => {},
}

const adminOfEnvironment: Principal = {
  name: 'the admin key',
  roles: ['admin'],
  accessScope: null,
  credential: { kind: 'adminKey' },
  expiresAt: null,
}

function principalOf({ name, roles: held, scopes }: Pick<ApiKeyRow, 'name' | 'roles' | 'scopes'>) {
  const accessScope = parseScopes(scopes)
  if (typeof accessScope === 'string') throw new Error(`the stored scopes of the credential ${name} cannot be read`)
  return { name, roles: held.filter((role): role is Role => roles.some((one) => one === role)), accessScope }
}

function unauthenticated(message: string): DomainError {
  return new DomainError('UNAUTHENTICATED', message)
}
