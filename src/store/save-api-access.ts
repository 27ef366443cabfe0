/** API keys, sessions and the audit log: each a statement of the transaction that decides it. Keys and cookies only as hashes. */
import type { Millis } from '../domain/deployment.ts'
import type { Statement } from '../ingest/command.ts'
import type { ApiKeyRow } from './api-access.ts'
import { insertOf, iso } from './recordset.ts'
import { apiKeys, apiSessions, auditLog } from './schema.ts'

export interface NewApiKey extends Omit<ApiKeyRow, 'revokedAt'> {
  readonly hash: string
}

export interface NewSession {
  readonly hash: string
  readonly credential: string
  readonly credentialId: string
  readonly name: string
  readonly roles: readonly string[]
  readonly scopes: readonly string[]
  readonly expiresAt: Millis
}

export interface AuditEntry {
  readonly at: Millis
  readonly kind: 'MUTATION' | 'SIGN_IN' | 'SIGN_OUT' | 'REFUSED'
  readonly who: string
  readonly credential: string
  readonly address: string
  readonly action: string
  readonly outcome: string
  readonly detail: unknown
  readonly times: number
}

const keys = insertOf(apiKeys, { except: ['revokedAt'] })
const sessions = insertOf(apiSessions)
const entries = insertOf(auditLog, { except: ['key'] })

export function insertApiKey(key: NewApiKey): Statement {
  return { text: keys.text, parameters: keys.parameters([key]) }
}

export function withdrawApiKey(id: string, at: Millis): readonly Statement[] {
  return [
    {
      text: 'update api_keys set revoked_at = $2::timestamptz where id = $1 and revoked_at is null',
      parameters: [id, iso(at)],
    },
    { text: `delete from api_sessions where credential = 'key' and credential_id = $1`, parameters: [id] },
  ]
}

/** Also takes away what has ended. */
export function insertSession(session: NewSession, now: Millis): readonly Statement[] {
  return [
    { text: 'delete from api_sessions where expires_at < $1::timestamptz', parameters: [iso(now)] },
    { text: sessions.text, parameters: sessions.parameters([session]) },
  ]
}

export function deleteSession(hash: string): Statement {
  return { text: 'delete from api_sessions where hash = $1', parameters: [hash] }
}

export function insertAudit(list: readonly AuditEntry[]): Statement {
  return { text: entries.text, parameters: entries.parameters(list) }
}
