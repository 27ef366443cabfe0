/** Reads API keys, sessions and the audit log. They have no revisions. */
import { sql } from 'drizzle-orm'
import type { Millis } from '../../domain/values.ts'
import { headText } from '../connection/log-head.ts'
import type { LogHead, Session } from '../database.ts'
import type { Order, Page, PageRequest } from '../sql/order.ts'
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
  readonly credential: 'adminKey' | 'key' | 'jwt'
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

/** A key, and the log's head at the moment at which it was read. */
export interface ReadApiKey extends ApiKeyRow {
  readonly head: LogHead
}

export async function findApiKeysByHash(session: Session, hashes: readonly string[]): Promise<Map<string, ReadApiKey>> {
  const rows = await session.rows<ApiKeyRow & LogHead & { readonly hash: string }>(
    sql`select ${apiKeys.hash}, ${key}, head.* from ${apiKeys} cross join (${sql.raw(headText)}) as head
      where ${isAnyOf(apiKeys.hash, hashes, 'text')}`,
  )
  return new Map(
    rows.map(({ hash, epochBase, revision, tail, tailAt, at, writes, ...row }) => [
      hash,
      { ...row, head: { epochBase, revision, tail, tailAt, at, writes } },
    ]),
  )
}

/** By hash. Sessions that have ended are absent. */
export async function findSessions(session: Session, hashes: readonly string[]): Promise<Map<string, SessionRow>> {
  const rows = await session.rows<Omit<SessionRow, 'key'>>(
    sql`select ${apiSessions.hash}, ${apiSessions.credential}, ${apiSessions.credentialId} as "credentialId", ${apiSessions.name},
        ${apiSessions.roles}, ${apiSessions.scopes}, ${apiSessions.expiresAt} as "expiresAt"
      from ${apiSessions} where ${isAnyOf(apiSessions.hash, hashes, 'text')}`,
  )
  const ofKeys = rows.filter(({ credential }) => credential === 'key').map(({ credentialId }) => credentialId)
  const keys = await findApiKeys(session, ofKeys)
  return new Map(rows.map((row) => [row.hash, { ...row, key: keys.get(row.credentialId) ?? null }]))
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

export interface AuditLogFilter {
  readonly kinds?: readonly string[]
  readonly callers?: readonly string[]
  readonly actions?: readonly string[]
}

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
      sql`select ${auditLog}.* from ${auditLog} where ${all([...matches(filter), ...within(newestFirst, stretch)])}
        ${sorted(newestFirst, stretch)}`,
    toNode: ({ key, at, kind, who: caller, credential, address, action, outcome, detail, times }) => ({
      ...{ key, at, kind, caller, credential, address, action, outcome, detail, times },
    }),
  })
  return pages.get(0) ?? { edges: [], hasNextPage: false, hasPreviousPage: false }
}

export async function countAuditLog(session: Session, filter: AuditLogFilter): Promise<number> {
  const [row] = await session.rows<{ n: number }>(
    sql`select count(*)::int as n from ${auditLog} where ${all(matches(filter))}`,
  )
  return row?.n ?? 0
}

function matches({ kinds, callers, actions }: AuditLogFilter) {
  return [
    ...(kinds ? [isAnyOf(auditLog.kind, kinds, 'text')] : []),
    ...(callers ? [isAnyOf(auditLog.caller, callers, 'text')] : []),
    ...(actions ? [isAnyOf(auditLog.action, actions, 'text')] : []),
  ]
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
