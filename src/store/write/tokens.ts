/** Saves device tokens (only their hashes), keys and SPIFFE ids. Each is a statement of the transaction that decides it. */
import type { Proof } from '../signature-claims.ts'
import { insertOf, type Write } from '../sql/record-set.ts'
import { usedSignatures } from '../tables/schema.ts'
import type { Statement } from './contract.ts'

export function issueToken(hash: string, targetKey: number): Statement {
  const text = 'insert into device_tokens (hash, target_key, issued_at) values ($1, $2::bigint, now())'
  return { text, parameters: [hash, targetKey] }
}

/** The token that opens the repository of the device and nothing else. It replaces the one before it. */
export function replaceRepositoryToken(hash: string, targetKey: number): readonly Statement[] {
  const text = `insert into device_tokens (hash, target_key, issued_at, repository_only) values ($1, $2::bigint, now(), true)`
  return [withdrawRepositoryToken(targetKey), { text, parameters: [hash, targetKey] }]
}

function withdrawRepositoryToken(targetKey: number): Statement {
  return {
    text: 'delete from device_tokens where target_key = $1::bigint and repository_only',
    parameters: [targetKey],
  }
}

/** The present tokens of the device stay valid for this number of seconds. */
export function expireTokens(targetKey: number, seconds: number): Statement {
  const text = `update device_tokens set expires_at = least(expires_at, now() + make_interval(secs => $2::int))
    where target_key = $1::bigint`
  return { text, parameters: [targetKey, seconds] }
}

export function withdrawTokens(targetKey: number): Statement {
  return { text: 'delete from device_tokens where target_key = $1::bigint', parameters: [targetKey] }
}

export interface NewIdentity {
  readonly id: string
  /** SubjectPublicKeyInfo in base64; null: it is a SPIFFE id. */
  readonly publicKey: string | null
}

/** Replaces all keys, or all SPIFFE ids, of the device. A former key may have obtained the repository token, so the token ends too. */
export function replaceIdentities(
  targetKey: number,
  kind: 'keys' | 'spiffeIds',
  identities: readonly NewIdentity[],
): readonly Statement[] {
  const which = kind === 'keys' ? 'public_key is not null' : 'public_key is null'
  return [
    { text: `delete from device_identities where target_key = $1::bigint and ${which}`, parameters: [targetKey] },
    ...(kind === 'keys' ? [withdrawRepositoryToken(targetKey)] : []),
    ...identities.map((identity) => addIdentity(targetKey, identity)),
  ]
}

/** A former holder of the identity is retired. */
export function addIdentity(targetKey: number, { id, publicKey }: NewIdentity): Statement {
  const text =
    'insert into device_identities (id, target_key, public_key, added_at) values ($1, $2::bigint, $3::text, now()) on conflict (id) do update set target_key = excluded.target_key, public_key = excluded.public_key, added_at = excluded.added_at'
  return { text, parameters: [id, targetKey, publicKey] }
}

/** Marks executed messages as used, so that they are not accepted again. Rows of `Proof`, in the order of their ids (sortProofs). */
export const spendSignatures: Write<Proof> = insertOf(usedSignatures, {
  except: ['heldUntil'],
  more: 'on conflict (id) do update set held_until = null',
})

/** claimSignatures locks the same rows in this order, so that the two cannot deadlock. */
export function sortProofs(proofs: readonly Proof[]): Proof[] {
  return proofs.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}
