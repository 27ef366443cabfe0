/** Saves API keys, sessions and the audit log: each is a statement of the transaction that decides it. Keys and cookies are stored as hashes only. */
import type { Millis } from '../../../domain/values.ts'
import { accessChange, doorbellText } from '../../database.ts'
import type { ApiKeyRow, AuditEntry } from '../../read/api-access.ts'
import { insertOf, iso } from '../../sql/record-set.ts'
import { apiKeys, apiSessions, auditLog } from '../../tables/schema.ts'
import type { Statement } from '../contract.ts'

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

const keys = insertOf(apiKeys, { except: ['revokedAt'] })
const sessions = insertOf(apiSessions)
const entries = insertOf(auditLog, { except: ['key'] })

/** Notifies the other servers after COMMIT. */
export const notifyWithdrawal: Statement = {
  text: `select pg_notify(${doorbellText}, '${accessChange}')`,
  parameters: [],
}

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
    notifyWithdrawal,
  ]
}

/** Also removes ended sessions. */
export function insertSession(session: NewSession, now: Millis): readonly Statement[] {
  return [
    { text: 'delete from api_sessions where expires_at < $1::timestamptz', parameters: [iso(now)] },
    { text: sessions.text, parameters: sessions.parameters([session]) },
  ]
}

export function deleteSession(hash: string): readonly Statement[] {
  return [{ text: 'delete from api_sessions where hash = $1', parameters: [hash] }, notifyWithdrawal]
}

export function insertAudit(list: readonly AuditEntry[]): Statement {
  return { text: entries.text, parameters: entries.parameters(list) }
}
