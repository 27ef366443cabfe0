/** Reads the stored credentials of devices: hashes of tokens, public keys, SPIFFE ids. */

import { sql } from 'drizzle-orm'
import { ownSite, type TargetKind } from '../../domain/target.ts'
import { storableJson } from '../../domain/text.ts'
import type { Millis } from '../../domain/values.ts'
import type { Session } from '../database.ts'
import { isAnyOf } from '../sql/parameters.ts'
import { deviceIdentities, deviceTokens, targets, usedSignatures } from '../tables/schema.ts'

interface HeldCredential {
  /** The requested token hash, key id or SPIFFE id. */
  readonly id: string
  readonly device: string
  readonly revokedAt: Millis | null
  readonly retiredAt: Millis | null
}

interface HeldToken extends HeldCredential {
  readonly isExpired: boolean
  /** Whether it only grants access to the device's Git repository. */
  readonly repositoryOnly: boolean
}

export interface HeldIdentity extends HeldCredential {
  /** SubjectPublicKeyInfo in base64. Null: a SPIFFE id. */
  readonly publicKey: string | null
}

/** By key id or SPIFFE id. */
export async function findIdentities(session: Session, ids: readonly string[]): Promise<Map<string, HeldIdentity>> {
  const rows = await session.rows<HeldIdentity>(
    sql`select ${deviceIdentities.id} as id, ${targets.name} as device, ${targets.revokedAt} as "revokedAt", ${targets.retiredAt} as "retiredAt",
        ${deviceIdentities.publicKey} as "publicKey"
      from ${deviceIdentities} join ${targets} on ${targets.key} = ${deviceIdentities.targetKey}
      where ${isAnyOf(deviceIdentities.id, ids, 'text')}`,
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** A signed message by its key and its proof. */
export interface SignedMessage {
  readonly keyId: string
  readonly proof: string
}

interface Signer extends HeldIdentity {
  /** Whether the message was executed before. */
  readonly isUsed: boolean
}

/** The holders of the keys, by proof: one statement for both questions about a signed message. */
export async function findSigners(session: Session, messages: readonly SignedMessage[]): Promise<Map<string, Signer>> {
  const rows = await session.rows<Signer & { readonly proof: string }>(
    sql`select ${deviceIdentities.id} as id, ${targets.name} as device, ${targets.revokedAt} as "revokedAt", ${targets.retiredAt} as "retiredAt",
        ${deviceIdentities.publicKey} as "publicKey", x.proof,
        exists (select from ${usedSignatures} where ${usedSignatures.id} = x.proof and ${usedSignatures.heldUntil} is null) as "isUsed"
      from json_to_recordset(${storableJson(messages)}::text::json) as x("keyId" text, proof text)
      cross join lateral (select * from ${deviceIdentities} where ${deviceIdentities.id} = x."keyId" offset 0) ${deviceIdentities}
      join ${targets} on ${targets.key} = ${deviceIdentities.targetKey}`,
  )
  return new Map(rows.map((row) => [row.proof, row]))
}

/** The signatures that were used. */
export async function findUsed(session: Session, ids: readonly string[]): Promise<Map<string, true>> {
  const rows = await session.rows<{ id: string }>(
    sql`select ${usedSignatures.id} as id from ${usedSignatures} where ${usedSignatures.heldUntil} is null and ${isAnyOf(usedSignatures.id, ids, 'text')}`,
  )
  return new Map(rows.map(({ id }) => [id, true]))
}

interface ProvisionedDevice extends HeldCredential {
  readonly isRegistered: boolean
  readonly spiffeIds: readonly string[]
}

/** By name: devices that another party provisioned. */
export async function findProvisioned(
  session: Session,
  names: readonly string[],
): Promise<Map<string, ProvisionedDevice>> {
  const rows = await session.rows<ProvisionedDevice>(
    sql`select ${targets.name} as id, ${targets.name} as device, ${targets.revokedAt} as "revokedAt", ${targets.retiredAt} as "retiredAt",
        ${targets.registered} as "isRegistered",
        coalesce((select json_agg(${deviceIdentities.id}) from ${deviceIdentities}
          where ${deviceIdentities.targetKey} = ${targets.key} and ${deviceIdentities.publicKey} is null), '[]') as "spiffeIds"
      from ${targets} where ${targets.kind} = 'DEVICE' and ${targets.provider} = '' and ${isAnyOf(targets.name, names, 'text')} and ${targets.siteKey} = ${ownSite}`,
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** By hash, of devices or of sites. The database's clock decides whether a token has expired, because it also set the expiry. */
export async function findTokens(
  session: Session,
  hashes: readonly string[],
  kind: TargetKind,
): Promise<Map<string, HeldToken>> {
  const rows = await session.rows<HeldToken>(
    sql`select ${deviceTokens.hash} as id, ${targets.name} as device, ${targets.revokedAt} as "revokedAt", ${targets.retiredAt} as "retiredAt",
        coalesce(${deviceTokens.expiresAt} <= now(), false) as "isExpired",
        ${deviceTokens.repositoryOnly} as "repositoryOnly"
      from ${deviceTokens} join ${targets} on ${targets.key} = ${deviceTokens.targetKey}
      where ${targets.kind} = ${kind}::target_kind and ${isAnyOf(deviceTokens.hash, hashes, 'text')}`,
  )
  return new Map(rows.map((row) => [row.id, row]))
}
