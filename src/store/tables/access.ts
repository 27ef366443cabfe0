/** What devices, users and programs prove themselves with, and who did what. */
import { bigint, boolean, index, integer, json, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { instant, key } from './columns.ts'

/** Device tokens, hashed: the token itself is shown once and never stored. */
export const deviceTokens = pgTable(
  'device_tokens',
  {
    hash: text('hash').primaryKey(),
    targetKey: key('target_key').notNull(),
    issuedAt: instant('issued_at').notNull(),
    expiresAt: instant('expires_at'),
    /** Whether it opens the Git repository of the device, and nothing else. */
    repositoryOnly: boolean('repository_only').notNull().default(false),
  },
  (t) => [index('device_tokens_target').on(t.targetKey)],
)

/** What else a device is known by: a public key, by the hash of it that signatures name, or the SPIFFE id of its certificates. */
export const deviceIdentities = pgTable(
  'device_identities',
  {
    id: text('id').primaryKey(),
    targetKey: key('target_key').notNull(),
    /** SubjectPublicKeyInfo in base64; null: a SPIFFE id, which needs none. */
    publicKey: text('public_key'),
    addedAt: instant('added_at').notNull(),
  },
  (t) => [index('device_identities_target').on(t.targetKey)],
)

/** Signatures of messages that were taken: none is good twice. Forgotten when they are too old to be good anyway. */
export const usedSignatures = pgTable(
  'used_signatures',
  {
    id: text('id').primaryKey(),
    until: instant('until').notNull(),
    /** What it asks for is being done, until then at most; null: it is done. */
    heldUntil: instant('held_until'),
  },
  (t) => [index('used_signatures_until').on(t.until)],
)

/** Keys to the API, hashed: a key itself is shown once and never stored. Revoked ones stay, so that the audit log can be read. */
export const apiKeys = pgTable(
  'api_keys',
  {
    id: text('id').primaryKey(),
    hash: text('hash').notNull(),
    name: text('name').notNull(),
    roles: json('roles').notNull(),
    /** As parseScopes reads them. */
    scopes: json('scopes').notNull(),
    createdAt: instant('created_at').notNull(),
    createdBy: text('created_by').notNull(),
    expiresAt: instant('expires_at'),
    revokedAt: instant('revoked_at'),
  },
  (t) => [uniqueIndex('api_keys_hash').on(t.hash)],
)

/** Browsers that are signed in: their cookie, hashed, and what they signed in with. */
export const apiSessions = pgTable(
  'api_sessions',
  {
    hash: text('hash').primaryKey(),
    /** adminKey, key or jwt. */
    credential: text('credential').notNull(),
    /** Of a key its id, of the admin's key its hash: the session ends with it. */
    credentialId: text('credential_id').notNull(),
    name: text('name').notNull(),
    roles: json('roles').notNull(),
    scopes: json('scopes').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (t) => [index('api_sessions_expiry').on(t.expiresAt)],
)

/** Who did what, and who was refused. Never a secret. */
export const auditLog = pgTable(
  'audit_log',
  {
    key: bigint('key', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    at: instant('at').notNull(),
    /** MUTATION, SIGN_IN, SIGN_OUT or REFUSED. */
    kind: text('kind').notNull(),
    who: text('who').notNull(),
    credential: text('credential').notNull(),
    address: text('address').notNull(),
    action: text('action').notNull(),
    outcome: text('outcome').notNull(),
    detail: json('detail'),
    /** Refusals that were alike, within a minute. */
    times: integer('times').notNull().default(1),
  },
  (t) => [index('audit_log_at').on(t.at)],
)
