/**
 * Sessions that the issuer vouches for. They are ordinary sessions (../api), which end earlier:
 *
 *   opened ── refresh: same rights ──▶ extended
 *      │────── refresh: other rights ──▶ extended, and open connections end, so that they begin again with the new rights
 *      │────── refresh: no role, or the issuer withdrew the grant ──▶ closed
 *      │────── issuer unreachable ──▶ tried again, until the session expires a few minutes after its token
 *      └────── sign-out here, or at the issuer (back-channel) ──▶ closed
 *
 * The database has the sessions, so any server refreshes and closes them, and the others end their connections at its notification.
 */
import { DomainError } from '../../../domain/errors.ts'
import type { Role } from '../../../domain/principal.ts'
import type { Millis } from '../../../domain/values.ts'
import { audited, closeSession } from '../../../ingest/commands/api-access.ts'
import { openOidcSession, renewSession } from '../../../ingest/commands/oidc-sessions.ts'
import type { Writer } from '../../../ingest/writer.ts'
import type { Database } from '../../../store/database.ts'
import { findLoggedOut, findOidcSession, type OidcSessionRow, takeDueSessions } from '../../../store/oidc-sessions.ts'
import type { AuditEntry } from '../../../store/read/api-access.ts'
import type { ApiAuth } from '../api/api-auth.ts'
import { hashOf, newCookie, newTerminalToken } from '../api/keys.ts'
import type { OidcConfig } from './config.ts'
import type { Grant, Issuer } from './issuer.ts'
import { identifierOf, type Person, personOf } from './person.ts'
import { isSameRights, type Rights, rightsOf } from './rights.ts'
import type { Seal } from './seal.ts'

export interface OpenedSession {
  /** The cookie, or the token of a terminal. */
  readonly text: string
  /** The longest that the session can last. */
  readonly seconds: number
  readonly name: string
  readonly roles: readonly Role[]
}

export interface OidcSessions {
  /** `replaced`: the hash of the session that the browser had. Throws FORBIDDEN for a person without a role. */
  open(grant: Grant, client: 'browser' | 'terminal', address: string, replaced?: string | null): Promise<OpenedSession>
  /** Ends the session of this cookie, however it was opened. */
  signOut(cookie: string, address: string): Promise<void>
  /** Ends the sessions of one session of the issuer, or all of a person. */
  logOut(subject: string | null, sid: string | null, address: string): Promise<void>
  /** Refreshes the sessions that are due. */
  refreshDue(): Promise<void>
}

export interface OidcSessionDeps {
  readonly config: OidcConfig
  readonly issuer: Issuer
  readonly seal: Seal
  readonly database: Pick<Database, 'session'>
  readonly writer: Pick<Writer, 'submit'>
  readonly auth: Pick<ApiAuth, 'recheck' | 'signOut'>
  readonly clock: () => Millis
  readonly failed: (error: unknown) => void
  /** Withdraws a refresh token at the issuer, which no session needs any more. */
  readonly revoke: (refreshToken: string) => void
}

interface Tokens {
  readonly refreshToken: string | null
}

/** Milliseconds. */
const longestSession = 12 * 3_600_000
/** Between two refreshes of a session. It lasts longer than its token. */
const shortestInterval = 10_000
/** How old the rights of a session get, however long its tokens last. */
const longestInterval = 10 * 60_000
/** How much longer than its token a session lasts while the issuer is unreachable. */
const grace = 5 * 60_000
const retryInterval = 15_000
/** Sessions that a server refreshes at once. */
const most = 20
const purpose = 'session'

export function createOidcSessions(deps: OidcSessionDeps): OidcSessions {
  const { config, issuer, seal, database, writer, auth, clock, failed, revoke } = deps

  function entry(kind: 'SIGN_IN' | 'SIGN_OUT', caller: string, action: string, outcome: string, address: string) {
    return { at: clock(), kind, caller, credential: 'oidc', address, action, outcome, detail: null, times: 1 } as const
  }

  function times({ expiresIn, refreshToken }: Grant, endsAt: Millis) {
    const now = clock()
    const tokenEnds = now + expiresIn * 1000
    if (refreshToken === null) return { expiresAt: Math.min(tokenEnds, endsAt), refreshAt: null }
    // Tokens of a second would be refreshed every second, for ever.
    const wanted = Math.min(Math.max((expiresIn * 2_000) / 3, shortestInterval), longestInterval)
    const refreshAt = Math.floor(now + wanted)
    return { expiresAt: Math.min(tokenEnds + grace, endsAt), refreshAt }
  }

  async function close(hashes: readonly string[], note: (hash: string) => AuditEntry): Promise<void> {
    await Promise.all(hashes.map((hash) => writer.submit(audited(closeSession(hash), note(hash)))))
    if (hashes.length > 0) await auth.recheck()
  }

  async function refresh(row: OidcSessionRow): Promise<void> {
    // A former issuer's token is not for this one.
    if (row.issuer !== config.issuer) return
    const tokens = seal.decrypt<Tokens>(purpose, row.sealed)
    // A public client: the server that opened the session has the key.
    if (!tokens?.refreshToken) return
    let grant: Grant
    try {
      grant = await issuer.refresh(tokens.refreshToken, row.subject)
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'UNAUTHENTICATED') throw error
      return close([row.hash], () => entry('SIGN_OUT', row.name, 'refresh', error.message, ''))
    }
    const person = personOf(grant.claims, config.groupsClaim)
    const rights = rightsOf(person.groups, config.roles)
    if (rights === null) {
      revoke(grant.refreshToken ?? tokens.refreshToken)
      return close([row.hash], () => entry('SIGN_OUT', row.name, 'refresh', 'no group of the person has a role', ''))
    }
    await renew(row, tokens, grant, person, rights)
  }

  async function renew(row: OidcSessionRow, tokens: Tokens, grant: Grant, person: Person, rights: Rights) {
    const before = { roles: row.roles as readonly Role[], scopes: row.scopes }
    const isChanged = !isSameRights(before, rights)
    const next: Tokens = { refreshToken: grant.refreshToken ?? tokens.refreshToken }
    const renewed = renewSession({
      hash: row.hash,
      name: person.name,
      ...rights,
      ...times({ ...grant, ...next }, row.endsAt),
      sealed: seal.encrypt(purpose, next),
      isChanged,
    })
    const note = { ...entry('SIGN_IN', person.name, 'refresh', 'done', ''), detail: { before, ...rights } }
    await writer.submit(isChanged ? audited(renewed, note) : renewed)
    if (isChanged) await auth.recheck()
  }

  return {
    async open(grant, kind, address, replaced = null) {
      const person = personOf(grant.claims, config.groupsClaim)
      const rights = rightsOf(person.groups, config.roles)
      if (rights === null) {
        if (grant.refreshToken !== null) revoke(grant.refreshToken)
        throw new DomainError('FORBIDDEN', `${person.name} is in no group that has a role here`)
      }
      const { text, hash } = kind === 'browser' ? newCookie() : newTerminalToken()
      const endsAt = clock() + longestSession
      const { expiresAt, refreshAt } = times(grant, endsAt)
      const { refreshToken } = grant
      const opened = openOidcSession(
        { hash, credential: 'oidc', credentialId: config.issuer, name: person.name, ...rights, expiresAt },
        {
          subject: person.subject,
          sid: identifierOf(grant.claims.sid),
          sealed: seal.encrypt(purpose, { refreshToken } satisfies Tokens),
          refreshAt,
          endsAt,
        },
      )
      await writer.submit(audited(opened, entry('SIGN_IN', person.name, 'signIn', 'done', address)))
      // Its tokens are not revoked: an issuer may withdraw all that belongs to the same sign-on, and with it the new session.
      if (replaced !== null) {
        await writer.submit(closeSession(replaced))
        await auth.recheck()
      }
      const seconds = Math.floor(((refreshToken === null ? expiresAt : endsAt) - clock()) / 1000)
      return { text, seconds, name: person.name, roles: rights.roles }
    },
    async signOut(cookie, address) {
      const row = await findOidcSession(database.session, hashOf(cookie))
      if (!row) {
        await auth.signOut({ token: null, cookie, address })
        return
      }
      await close([row.hash], () => entry('SIGN_OUT', row.name, 'signOut', 'done', address))
      // A former issuer's tokens are not for this one.
      const tokens = row.issuer === config.issuer ? seal.decrypt<Tokens>(purpose, row.sealed) : null
      if (tokens?.refreshToken) revoke(tokens.refreshToken)
    },
    async logOut(subject, sid, address) {
      const rows = await findLoggedOut(database.session, subject, sid)
      const names = new Map(rows.map(({ hash, name }) => [hash, name]))
      await close([...names.keys()], (hash) =>
        entry('SIGN_OUT', names.get(hash) ?? '', 'backChannelLogout', 'done', address),
      )
    },
    async refreshDue() {
      const now = clock()
      const due = await takeDueSessions(database.session, now, {
        heldUntil: now + retryInterval,
        latest: now + 2 * longestInterval,
        most,
      })
      await Promise.all(due.map((row) => refresh(row).catch(failed)))
    },
  }
}
