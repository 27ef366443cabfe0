/** Saves devices' statements about themselves. Each is a statement of the transaction that decides it. */
import type { Label } from '../../../domain/target.ts'
import { storableJson, storableJsonText } from '../../../domain/text.ts'
import type { Millis } from '../../../domain/values.ts'
import { iso } from '../../sql/record-set.ts'
import type { Statement } from '../contract.ts'

/** Null: the device has left. */
export function saveOnboarding(targetKey: number, at: Millis | null): Statement {
  const text = `insert into device_profiles (target_key, onboarded_at) values ($1::bigint, $2::timestamptz)
    on conflict (target_key) do update set onboarded_at = excluded.onboarded_at`
  return { text, parameters: [targetKey, at === null ? null : iso(at)] }
}

export interface SentCapabilities {
  /** The JSON as received, without characters that cannot be stored. */
  readonly text: string
  /** The generation of the route, as `margo/2025-08`. */
  readonly generation: string
  readonly labels: readonly Label[]
}

/** `sent` null: removes the capabilities. */
export function saveCapabilities(targetKey: number, at: Millis, sent: SentCapabilities | null): Statement {
  const text = `insert into device_profiles (target_key, capabilities, capabilities_at, generation, labels)
    values ($1::bigint, $2::text, $3::timestamptz, $4::text, $5::text::jsonb)
    on conflict (target_key) do update set capabilities = excluded.capabilities,
      capabilities_at = excluded.capabilities_at, generation = excluded.generation, labels = excluded.labels`
  return {
    text,
    parameters: [
      targetKey,
      sent ? storableJsonText(sent.text) : null,
      sent ? iso(at) : null,
      sent?.generation ?? null,
      storableJson(sent?.labels ?? []),
    ],
  }
}
