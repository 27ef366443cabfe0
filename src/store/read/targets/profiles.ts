/** Profiles of devices, as they describe themselves. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { type Label, ownSite } from '../../../domain/target.ts'
import { storableJson } from '../../../domain/text.ts'
import type { Millis } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all, either, isAnyOf, isLong, labelList } from '../../sql/parameters.ts'
import { deviceProfiles, targets } from '../../tables/schema.ts'
import { visibleTarget } from '../access-scope.ts'

export interface DeviceProfile {
  readonly onboardedAt: Millis | null
  /** Labels that the device gives itself. */
  readonly labels: readonly Label[]
  readonly capabilities: {
    /** The JSON as it was sent. */
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
  readonly labels: readonly Label[]
}

/** By the keys of devices. Devices outside the reader's access scope have none. */
export async function profilesOf(session: Session, keys: readonly number[]): Promise<Map<number, DeviceProfile>> {
  const rows = await session.rows<ProfileRecord>(
    sql`select ${deviceProfiles}.* from ${deviceProfiles} where ${isAnyOf(deviceProfiles.targetKey, keys, 'bigint')}
      and ${deviceProfiles.targetKey} in (select ${targets.key} from ${targets} where ${all(visibleTarget(session, targets))})`,
  )
  return new Map(rows.map((row) => [row.target_key, toProfile(row)]))
}

export async function hasCapabilities(session: Session, name: string): Promise<boolean> {
  const rows = await session.rows<object>(
    sql`select 1 from ${deviceProfiles} join ${targets} on ${targets.key} = ${deviceProfiles.targetKey}
      where ${targets.kind} = 'DEVICE' and ${targets.provider} = '' and ${targets.name} = ${name} and ${targets.siteKey} = ${ownSite}
        and ${deviceProfiles.capabilities} is not null`,
  )
  return rows.length > 0
}

function toProfile(row: ProfileRecord): DeviceProfile {
  const { onboarded_at: onboardedAt, capabilities: text, generation, capabilities_at: at, labels } = row
  const capabilities = text === null || generation === null || at === null ? null : { text, generation, at }
  return { onboardedAt, labels, capabilities }
}

/**
 * Targets that give themselves one of these labels, unless an operator set a label with that key. Only for filters, never for access. The
 * subquery does not refer to the target, so it runs once. One that did ran for each target, and each target was looked up for its deployment. Of many
 * labels it refers to the target: one subquery for each label would cost more.
 */
export function callsItself(
  target: { readonly key: SQLWrapper; readonly labels: SQLWrapper },
  wanted: readonly Label[],
): SQL {
  if (isLong(wanted)) {
    const ofKey = sql`jsonb_build_array(jsonb_build_object('key', own.element -> 'key'))`
    return sql`exists (select 1 from ${deviceProfiles}, jsonb_array_elements(${deviceProfiles.labels}) as own(element)
      where ${deviceProfiles.targetKey} = ${target.key} and own.element = any(${labelList(wanted)}) and not ${target.labels} @> ${ofKey} offset 0)`
  }
  const said = wanted.map(
    ({ key, value }) => sql`(${target.key} in (select ${deviceProfiles.targetKey} from ${deviceProfiles}
      where ${deviceProfiles.labels} @> ${storableJson([{ key, value }])}::text::jsonb)
      and not ${target.labels} @> ${storableJson([{ key }])}::text::jsonb)`,
  )
  return either(said)
}
