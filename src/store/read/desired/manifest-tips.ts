/** The newest manifest of devices that poll for changes: one indexed row each, many devices per statement. */
import { sql } from 'drizzle-orm'
import { type Digest, firstManifestVersion } from '../../../domain/desired.ts'
import { DomainError } from '../../../domain/errors.ts'
import { ownSite, retiredMessage } from '../../../domain/target.ts'
import type { Millis } from '../../../domain/values.ts'
import type { Session } from '../../database.ts'
import { isAnyOf } from '../../sql/parameters.ts'
import { manifests, targets } from '../../tables/schema.ts'

export interface ManifestTip {
  /** Key of the device. */
  readonly key: number
  readonly revokedAt: Millis | null
  readonly retiredAt: Millis | null
  readonly lastHeardAt: Millis | null
  readonly expectedInterval: number | null
  /** Version of its newest manifest. */
  readonly version: number
  /** 0: it has the first, empty manifest, which is not stored. */
  readonly at: Millis
  /** Null: the manifest is empty. */
  readonly bundle: { readonly digest: Digest; readonly size: number } | null
}

/** Throws unless the device may fetch its desired state: it is known, and neither revoked nor retired. */
export function requireTip(device: string, tip: ManifestTip | null): ManifestTip {
  if (!tip)
    throw new DomainError(
      'NOT_FOUND_YET',
      `there is no device ${device}: it is known once it is registered, reports, or something is declared for it`,
    )
  if (tip.retiredAt !== null) throw new DomainError('DEVICE_RETIRED', retiredMessage(device))
  if (tip.revokedAt !== null)
    throw new DomainError('FORBIDDEN', `device ${device} has been revoked: register it anew to let it fetch`)
  return tip
}

interface TipRecord {
  readonly name: string
  readonly key: number
  readonly revoked_at: Millis | null
  readonly retired_at: Millis | null
  readonly last_heard_at: Millis | null
  readonly expected_interval: number | null
  readonly version: number | null
  readonly at: Millis | null
  readonly bundle_digest: Digest | null
  readonly bundle_size: number | null
}

/** By name. Unknown devices are absent. */
export async function findTips(session: Session, names: readonly string[]): Promise<Map<string, ManifestTip>> {
  const rows = await session.rows<TipRecord>(
    sql`select ${targets.name} as name, ${targets.key} as key, ${targets.revokedAt} as revoked_at,
        ${targets.retiredAt} as retired_at,
        ${targets.lastHeardAt} as last_heard_at, ${targets.expectedInterval} as expected_interval,
        tip.version, tip.at, tip.bundle_digest, tip.bundle_size
      from ${targets} left join lateral (
        select ${manifests.version}, ${manifests.at}, ${manifests.bundleDigest}, ${manifests.bundleSize} from ${manifests}
        where ${manifests.targetKey} = ${targets.key} order by ${manifests.version} desc limit 1) as tip on true
      where ${targets.kind} = 'DEVICE' and ${targets.provider} = '' and ${isAnyOf(targets.name, names, 'text')} and ${targets.siteKey} = ${ownSite}`,
  )
  return new Map(rows.map((row) => [row.name, toTip(row)]))
}

function toTip(row: TipRecord): ManifestTip {
  const { key, bundle_digest: digest, bundle_size: size } = row
  return {
    key,
    revokedAt: row.revoked_at,
    retiredAt: row.retired_at,
    lastHeardAt: row.last_heard_at,
    expectedInterval: row.expected_interval,
    version: row.version ?? firstManifestVersion,
    at: row.at ?? 0,
    bundle: digest === null ? null : { digest, size: size ?? 0 },
  }
}
