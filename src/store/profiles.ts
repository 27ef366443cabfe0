/** What devices said of themselves. */
import { sql } from 'drizzle-orm'
import type { Millis } from '../domain/deployment.ts'
import type { Session } from './database.ts'
import { isAnyOf } from './parameters.ts'
import { deviceProfiles, targets } from './schema.ts'

export interface DeviceProfile {
  readonly onboardedAt: Millis | null
  readonly capabilities: {
    /** The JSON, as it was sent. */
    readonly text: string
    readonly generation: string
    readonly at: Millis
  } | null
}

interface ProfileRecord {
  readonly target_key: number
  readonly onboarded_at: Millis | null
  readonly capabilities: string | null
  readonly capabilities_at: Millis | null
  readonly generation: string | null
}

/** By the devices' keys. */
export async function profilesOf(session: Session, keys: readonly number[]): Promise<Map<number, DeviceProfile>> {
  const rows = await session.rows<ProfileRecord>(
    sql`select ${deviceProfiles}.* from ${deviceProfiles} where ${isAnyOf(deviceProfiles.targetKey, keys, 'bigint')}`,
  )
  return new Map(rows.map((row) => [row.target_key, toProfile(row)]))
}

export async function hasCapabilities(session: Session, name: string): Promise<boolean> {
  const rows = await session.rows<object>(
    sql`select 1 from ${deviceProfiles} join ${targets} on ${targets.key} = ${deviceProfiles.targetKey}
      where ${targets.kind} = 'DEVICE' and ${targets.provider} = '' and ${targets.name} = ${name}
        and ${deviceProfiles.capabilities} is not null`,
  )
  return rows.length > 0
}

function toProfile({ onboarded_at: onboardedAt, capabilities: text, generation, capabilities_at: at }: ProfileRecord) {
  const capabilities = text === null || generation === null || at === null ? null : { text, generation, at }
  return { onboardedAt, capabilities }
}
