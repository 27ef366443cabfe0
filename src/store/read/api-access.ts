/** Reads API keys, sessions and the audit log. They have no revisions. */

import { sql } from 'drizzle-orm'
import type { auditLogFilter } from '../../domain/nouns/audit-entry.ts'
import type { FilterOf } from '../../domain/nouns/filter.ts'
import type { Millis } from '../../domain/values.ts'
import { headText } from '../connection/log-head.ts'
import type { LogHead, Session } from '../database.ts'
import { type Conditions, conditionsIn } from '../sql/conditions.ts'
import { emptyPage, type Order, type Page, type PageRequest } from '../sql/order.ts'
import { pageOf, sorted, within } from '../sql/page.ts'
import { all, isAnyOf } from '../sql/parameters.ts'
import { apiKeys, apiSessions, auditLog } from '../tables/schema.ts'

export interface ApiKeyRow {
  readonly id: string
  readonly name: string
  readonly roles: readonly string[]
  readonly scopes: readonly string[]
  readonly createdAt: Millis
  readonly createdBy: string
  readonly expiresAt: Millis | null
  readonly revokedAt: Millis | null
}

export interface SessionRow {
  readonly hash: string
  readonly credential: 'adminKey' | 'key' | 'jwt' | 'oidc'
  readonly credentialId: string
  readonly name: string
  readonly roles: readonly string[]
  readonly scopes: readonly string[]
  readonly expiresAt: Millis
  /** Null: the user did not sign in with a key, or the key no longer exists. */
  readonly key: ApiKeyRow | null
}

const key = sql`${apiKeys.id}, ${apiKeys.name}, ${apiKeys.roles}, ${apiKeys.scopes}, ${apiKeys.createdAt} as "createdAt",
  ${apiKeys.createdBy} as "createdBy", ${apiKeys.expiresAt} as "expiresAt", ${apiKeys.revokedAt} as "revokedAt"`

/** Newest first, including revoked ones. */
export function listApiKeys(session: Session): Promise<ApiKeyRow[]> {
  return session.rows<ApiKeyRow>(sql`select ${key} from ${apiKeys} order by ${apiKeys.createdAt} desc, ${apiKeys.id}`)
}

export async function findApiKey(session: Session, id: string): Promise<ApiKeyRow | null> {
  return (await findApiKeys(session, [id])).get(id) ?? null
}

/** With the log's head at the moment at which the row was read. */
type ReadWithHead<Row> = Row & { readonly head: LogHead }

const withHead = sql`cross join (${sql.raw(headText)}) as head`

function splitHead<Row extends LogHead>({ epochBase, revision, tail, tailAt, at, writes, ...row }: Row) {
  return { ...row, head: { epochBase, revision, tail, tailAt, at, writes } }
}

export async function findApiKeysByHash(
  session: Session,
  hashes: readonly string[],
): Promise<Map<string, ReadWithHead<ApiKeyRow>>> {
  const rows = await session.rows<ApiKeyRow & LogHead & { readonly hash: string }>(
    sql`select ${apiKeys.hash}, ${key}, head.* from ${apiKeys} ${withHead} where ${isAnyOf(apiKeys.hash, hashes, 'text')}`,
  )
  return new Map(rows.map(({ hash, ...row }) => [hash, splitHead(row)]))
}

interface KeyOfSession {
  readonly keyName: string | null
  readonly keyRoles: readonly string[]
  readonly keyScopes: readonly string[]
  readonly keyCreatedAt: Millis
  readonly keyCreatedBy: string
  readonly keyExpiresAt: Millis | null
  readonly keyRevokedAt: Millis | null
}

/** By hash. Sessions that have ended are absent. */
export async function findSessions(
  session: Session,
  hashes: readonly string[],
): Promise<Map<string, ReadWithHead<SessionRow>>> {
  const rows = await session.rows<Omit<SessionRow, 'key'> & KeyOfSession & LogHead>(
    sql`select ${apiSessions.hash}, ${apiSessions.credential}, ${apiSessions.credentialId} as "credentialId", ${apiSessions.name},
        ${apiSessions.roles}, ${apiSessions.scopes}, ${apiSessions.expiresAt} as "expiresAt", ${apiKeys.name} as "keyName",
        ${apiKeys.roles} as "keyRoles", ${apiKeys.scopes} as "keyScopes", ${apiKeys.createdAt} as "keyCreatedAt",
        ${apiKeys.createdBy} as "keyCreatedBy", ${apiKeys.expiresAt} as "keyExpiresAt", ${apiKeys.revokedAt} as "keyRevokedAt",
        head.*
      from ${apiSessions} ${withHead}
      left join ${apiKeys} on ${apiSessions.credential} = 'key' and ${apiKeys.id} = ${apiSessions.credentialId}
      where ${isAnyOf(apiSessions.hash, hashes, 'text')}`,
  )
  return new Map(rows.map((row) => [row.hash, toSession(splitHead(row))]))
}

function toSession(row: ReadWithHead<Omit<SessionRow, 'key'> & KeyOfSession>): ReadWithHead<SessionRow> {
  const { keyName, keyRoles, keyScopes, keyCreatedAt, keyCreatedBy, keyExpiresAt, keyRevokedAt, ...session } = row
  if (keyName === null) return { ...session, key: null }
  const times = { createdAt: keyCreatedAt, expiresAt: keyExpiresAt, revokedAt: keyRevokedAt }
  const access = { name: keyName, roles: keyRoles, scopes: keyScopes, createdBy: keyCreatedBy }
  return { ...session, key: { id: session.credentialId, ...access, ...times } }
}

export async function findApiKeys(session: Session, ids: readonly string[]): Promise<Map<string, ApiKeyRow>> {
  if (ids.length === 0) return new Map()
  const rows = await session.rows<ApiKeyRow>(
    sql`select ${key} from ${apiKeys} where ${isAnyOf(apiKeys.id, ids, 'text')}`,
  )
  return new Map(rows.map((row) => [row.id, row]))
}

export interface AuditLogRow extends AuditEntry {
  readonly key: number
}

export type AuditLogFilter = FilterOf<typeof auditLogFilter>

const newestFirst: Order<AuditLogRow> = {
  name: 'AUDIT_LOG',
  keys: [{ by: auditLog.key, type: 'bigint', descending: true, of: (entry) => entry.key }],
}

export async function pageAuditLog(
  session: Session,
  filter: AuditLogFilter,
  page: PageRequest,
): Promise<Page<AuditLogRow>> {
  const pages = await pageOf<AuditLogRow, Omit<AuditLogRow, 'caller'> & { readonly who: string }>(session, {
    parents: [0],
    order: newestFirst,
    page,
    select: (stretch) =>
      sql`select ${auditLog}.* from ${auditLog} where ${all([...conditionsIn(conditions, filter), ...within(newestFirst, stretch)])}
        ${sorted(newestFirst, stretch)}`,
    toNode: ({ key, at, kind, who: caller, credential, address, action, outcome, detail, times }) => ({
      ...{ key, at, kind, caller, credential, address, action, outcome, detail, times },
    }),
  })
  return pages.get(0) ?? emptyPage
}

export async function countAuditLog(session: Session, filter: AuditLogFilter): Promise<number> {
  const [row] = await session.rows<{ n: number }>(
    sql`select count(*)::int as n from ${auditLog} where ${all(conditionsIn(conditions, filter))}`,
  )
  return row?.n ?? 0
}

const conditions: Conditions<AuditLogFilter> = {
  kinds: (kinds) => isAnyOf(auditLog.kind, kinds, 'text'),
  callers: (callers) => isAnyOf(auditLog.caller, callers, 'text'),
  actions: (actions) => isAnyOf(auditLog.action, actions, 'text'),
}

export interface AuditEntry {
  readonly at: Millis
  readonly kind: 'MUTATION' | 'SIGN_IN' | 'SIGN_OUT' | 'REFUSED'
  readonly caller: string
  readonly credential: string
  readonly address: string
  readonly action: string
  readonly outcome: string
  readonly detail: unknown
  readonly times: number
}
