/** Saves the sessions of OIDC sign-in, in the transaction that opens, renews or closes the session. */
import { storableJson } from '../../../domain/text.ts'
import type { Millis } from '../../../domain/values.ts'
import { insertOf, iso } from '../../sql/record-set.ts'
import { oidcSessions } from '../../tables/schema.ts'
import type { Statement } from '../contract.ts'
import { notifyWithdrawal } from './save-api-access.ts'

export interface NewOidcSession {
  readonly hash: string
  readonly subject: string
  readonly sid: string | null
  readonly sealed: string
  readonly refreshAt: Millis | null
  readonly endsAt: Millis
}

export interface RenewedSession extends Pick<NewOidcSession, 'hash' | 'sealed' | 'refreshAt'> {
  readonly name: string
  readonly roles: readonly string[]
  readonly scopes: readonly string[]
  readonly expiresAt: Millis
  /** Whether open connections must end, on all servers. */
  readonly isChanged: boolean
}

const sessions = insertOf(oidcSessions)

export function insertOidcSession(session: NewOidcSession): Statement {
  return { text: sessions.text, parameters: sessions.parameters([session]) }
}

/** Changes nothing if the session was closed meanwhile. */
export function renewOidcSession(renewed: RenewedSession): readonly Statement[] {
  const { hash, name, roles, scopes, expiresAt, sealed, refreshAt, isChanged } = renewed
  return [
    {
      text: `update api_sessions set name = $2, expires_at = $5::timestamptz,
          roles = $3::text::json, scopes = $4::text::json where hash = $1`,
      parameters: [hash, name, storableJson(roles), storableJson(scopes), iso(expiresAt)],
    },
    {
      text: 'update oidc_sessions set sealed = $2, refresh_at = $3::timestamptz where hash = $1',
      parameters: [hash, sealed, refreshAt === null ? null : iso(refreshAt)],
    },
    ...(isChanged ? [notifyWithdrawal] : []),
  ]
}
