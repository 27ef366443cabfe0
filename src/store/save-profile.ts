/** What devices said of themselves. Each is a statement of the transaction that decides it. */
import type { Millis } from '../domain/deployment.ts'
import type { Statement } from '../ingest/command.ts'
import { iso } from './recordset.ts'

export function saveOnboarding(targetKey: number, at: Millis): Statement {
  const text = `insert into device_profiles (target_key, onboarded_at) values ($1::bigint, $2::timestamptz)
    on conflict (target_key) do update set onboarded_at = excluded.onboarded_at`
  return { text, parameters: [targetKey, iso(at)] }
}

export interface SentCapabilities {
  /** The JSON, as it was sent. */
  readonly text: string
  /** Of the route it was sent to. */
  readonly generation: string
}

/** Null: it has none any more. */
export function saveCapabilities(targetKey: number, at: Millis, sent: SentCapabilities | null): Statement {
  const text = `insert into device_profiles (target_key, capabilities, capabilities_at, generation)
    values ($1::bigint, $2::text, $3::timestamptz, $4::text)
    on conflict (target_key) do update set capabilities = excluded.capabilities,
      capabilities_at = excluded.capabilities_at, generation = excluded.generation`
  return { text, parameters: [targetKey, sent?.text ?? null, sent ? iso(at) : null, sent?.generation ?? null] }
}
