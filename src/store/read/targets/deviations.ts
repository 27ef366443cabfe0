/** How devices' reports deviate from the specification. Only the present: the log says nothing of it. */
import { sql } from 'drizzle-orm'
import { type DeviationKind, deviationKinds } from '../../../domain/deviation.ts'
import type { Millis } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { all, isAnyOf } from '../../sql/parameters.ts'
import { deviceDeviations, targets } from '../../tables/schema.ts'
import { visibleTarget } from '../access-scope.ts'

export interface DeviceDeviation {
  readonly kind: DeviationKind
  readonly count: number
  readonly lastAt: Millis
  /** Null: hidden from a restricted reader. */
  readonly example: string | null
}

export interface DeviationCount {
  readonly kind: DeviationKind
  readonly devices: number
  readonly reports: number
}

/**
 * By the devices' keys, the newest first. An example may name a deployment of another project, or of another device behind a gateway, so
 * a restricted reader gets none.
 */
export async function deviationsOf(session: Session, keys: readonly number[]): Promise<Map<number, DeviceDeviation[]>> {
  const rows = await session.rows<{
    target_key: number
    kind: DeviationKind
    count: number
    last_at: Millis
    example: string
  }>(
    sql`select ${deviceDeviations}.* from ${deviceDeviations} where ${isAnyOf(deviceDeviations.targetKey, keys, 'bigint')}
      and ${isAnyOf(deviceDeviations.kind, deviationKinds, 'text')}
      and ${deviceDeviations.targetKey} in (select ${targets.key} from ${targets} where ${all(visibleTarget(session, targets))})
      order by ${deviceDeviations.lastAt} desc, ${deviceDeviations.kind}`,
  )
  const found = new Map<number, DeviceDeviation[]>(keys.map((key) => [key, []]))
  for (const { target_key, kind, count, last_at: lastAt, example } of rows)
    found.get(target_key)?.push({ kind, count, lastAt, example: session.accessScope ? null : example })
  return found
}

/** Of devices in service. Zero-filled. */
export async function countDeviations(session: Session): Promise<DeviationCount[]> {
  const rows = await session.rows<DeviationCount>(
    sql`select ${deviceDeviations.kind} as kind, count(*)::int as devices, sum(${deviceDeviations.count})::float8 as reports
      from ${deviceDeviations} join ${targets} on ${targets.key} = ${deviceDeviations.targetKey}
      where ${all([sql`${targets.retiredAt} is null`, ...visibleTarget(session, targets)])} group by ${deviceDeviations.kind}`,
  )
  return deviationKinds.map((kind) => rows.find((row) => row.kind === kind) ?? { kind, devices: 0, reports: 0 })
}
