/**
 * Authorization code with PKCE:
 *
 *   browser ── GET login ──▶ a login record in a cookie (state, nonce, verifier, encrypted) ──▶ 302 to the issuer
 *   issuer ── 302 ──▶ GET callback: cookie, state, iss, code, nonce ──▶ a new session ──▶ 302 to the page
 *
 * The record is in a cookie, and not in the database, so that a client without a credential writes nothing there. It is valid once and for
 * ten minutes: the callback claims its state in the database, for all servers.
 */
import { DomainError } from '../../../domain/errors.ts'
import type { Millis } from '../../../domain/values.ts'
import type { Database } from '../../../store/database.ts'
import { claimSignatures } from '../../../store/signature-claims.ts'
import { hashOf } from '../api/keys.ts'
import type { Issuer, LoginSecrets } from './issuer.ts'
import type { Seal } from './seal.ts'
import type { OidcSessions, OpenedSession } from './sessions.ts'

interface LoginRecord extends LoginSecrets {
  readonly redirectUri: string
  readonly returnTo: string
  /** The hash of the session that the browser had. */
  readonly replaced: string | null
  readonly until: Millis
}

export interface SignIn {
  /** `cookie`: the session that the browser has. Throws UNAVAILABLE. */
  begin(
    base: string,
    returnTo: string,
    cookie: string | null,
  ): Promise<{ readonly url: string; readonly record: string }>
  /** `query`: that of the callback. Throws UNAUTHENTICATED, FORBIDDEN or UNAVAILABLE. */
  end(record: string | null, query: string, address: string): Promise<OpenedSession & { readonly returnTo: string }>
}

interface SignInDeps {
  readonly issuer: Issuer
  readonly sessions: Pick<OidcSessions, 'open'>
  readonly seal: Seal
  readonly database: Pick<Database, 'session'>
  readonly clock: () => Millis
}

const callbackPath = '/session/oidc/callback'

/** Seconds. */
export const loginSeconds = 600
const purpose = 'login'

export function createSignIn({ issuer, sessions, seal, database, clock }: SignInDeps): SignIn {
  return {
    async begin(base, returnTo, cookie) {
      const redirectUri = `${base}${callbackPath}`
      const { url, ...secrets } = await issuer.begin(redirectUri)
      const replaced = cookie === null ? null : hashOf(cookie)
      const until = clock() + loginSeconds * 1000
      const record: LoginRecord = { ...secrets, redirectUri, returnTo, replaced, until }
      return { url, record: seal.encrypt(purpose, record) }
    },
    async end(text, query, address) {
      const record = text === null ? null : seal.decrypt<LoginRecord>(purpose, text)
      if (!record || record.until <= clock())
        throw refused('it began in another browser, or more than ten minutes ago: sign in again')
      // The library compares the state too. This check comes first, so that another state does not use up the record.
      const parameters = new URLSearchParams(query)
      if (parameters.get('state') !== record.state)
        throw refused('it does not belong to the last sign-in of this browser')
      const claim = { id: `oidc-login:${hashOf(record.state)}`, until: record.until }
      const claimed = await claimSignatures(database.session, [claim], 2 * loginSeconds)
      if (!claimed.has(claim.id)) throw refused('it was completed before')
      const grant = await issuer.redeem(new URL(`${record.redirectUri}?${query}`), record)
      const opened = await sessions.open(grant, 'browser', address, record.replaced)
      return { ...opened, returnTo: record.returnTo }
    },
  }
}

function refused(why: string): DomainError {
  return new DomainError('UNAUTHENTICATED', `the sign-in is refused: ${why}`)
}
