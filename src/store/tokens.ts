/** Device tokens: their hashes only. Each is a statement of the transaction that decides it. */
import type { Statement } from '../ingest/command.ts'

export function issueToken(hash: string, targetKey: number): Statement {
  const text = 'insert into device_tokens (hash, target_key, issued_at) values ($1, $2::bigint, now())'
  return { text, parameters: [hash, targetKey] }
}

/** Those of the device stay good for so many seconds more. */
export function expireTokens(targetKey: number, seconds: number): Statement {
  const text = `update device_tokens set expires_at = least(expires_at, now() + make_interval(secs => $2::int))
    where target_key = $1::bigint`
  return { text, parameters: [targetKey, seconds] }
}

export function withdrawTokens(targetKey: number): Statement {
  return { text: 'delete from device_tokens where target_key = $1::bigint', parameters: [targetKey] }
}
