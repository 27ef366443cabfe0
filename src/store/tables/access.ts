/** Credentials of devices, users and programs, and the audit log. */
import { bigint, boolean, index, integer, json, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { instant, key } from './columns.ts'

/** Device tokens, hashed. A token is shown once and never stored. */
export const deviceTokens = pgTable(
  'device_tokens',
  {
    hash: text('hash').primaryKey(),
    targetKey: key('target_key').notNull(),
    issuedAt: instant('issued_at').notNull(),
    expiresAt: instant('expires_at'),
    /** Whether it only grants access to the device's Git repository. */
    repositoryOnly: boolean('repository_only').notNull().default(false),
  },
  (t) => [index('device_tokens_target').on(t.targetKey)],
)

/** Other credentials of devices: public keys, by the hash that signatures name, and the SPIFFE ids of certificates. */
export const deviceIdentities = pgTable(
  'device_identities',
  {
    id: text('id').primaryKey(),
    targetKey: key('target_key').notNull(),
    /** SubjectPublicKeyInfo in base64. Null: a SPIFFE id, which needs no key. */
    publicKey: text('public_key'),
    addedAt: instant('added_at').notNull(),
  },
  (t) => [index('device_identities_target').on(t.targetKey)],
)

/** Signatures of accepted messages, so that none is accepted twice. They are deleted when their messages have expired. */
export const usedSignatures = pgTable(
  'used_signatures',
  {
    id: text('id').primaryKey(),
    until: instant('until').notNull(),
    /** A replica works on the message until then. Null: the work is done. */
    heldUntil: instant('held_until'),
  },
  (t) => [index('used_signatures_until').on(t.until)],
)

/** API keys, hashed. A key is shown once and never stored. Revoked keys are kept, because the audit log refers to them. */
export const apiKeys = pgTable(
  'api_keys',
  {
    id: text('id').primaryKey(),
    hash: text('hash').notNull(),
    name: text('name').notNull(),
    roles: json('roles').notNull(),
    /** In the format of parseScopes. */
    scopes: json('scopes').notNull(),
    createdAt: instant('created_at').notNull(),
    createdBy: text('created_by').notNull(),
    expiresAt: instant('expires_at'),
    revokedAt: instant('revoked_at'),
  },
  (t) => [uniqueIndex('api_keys_hash').on(t.hash)],
)

/** Sessions of browsers: the cookie, hashed, and the credential that the user signed in with. */
export const apiSessions = pgTable(
  'api_sessions',
  {
    hash: text('hash').primaryKey(),
    /** adminKey, key or jwt. */
    credential: text('credential').notNull(),
    /** The id of an API key, or the hash of the admin's key. The session ends with the key. */
    credentialId: text('credential_id').notNull(),
    name: text('name').notNull(),
    roles: json('roles').notNull(),
    scopes: json('scopes').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [index('api_sessions_expiry').on(t.expiresAt)],
)

/** The audit log: mutations, sign-ins and refusals, without secrets. */
export const auditLog = pgTable(
  'audit_log',
  {
    key: bigint('key', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    at: instant('at').notNull(),
    /** MUTATION, SIGN_IN, SIGN_OUT or REFUSED. */
    kind: text('kind').notNull(),
    caller: text('who').notNull(),
    credential: text('credential').notNull(),
    address: text('address').notNull(),
    action: text('action').notNull(),
    outcome: text('outcome').notNull(),
    detail: json('detail'),
    /** Number of identical refusals within a minute. */
    times: integer('times').notNull().default(1),
  },
  (t) => [index('audit_log_at').on(t.at)],
)
