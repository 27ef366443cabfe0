/** What a retirement of selected devices would change (ingest/commands/devices/retire.ts makes the change). */
import { type SQL, sql } from 'drizzle-orm'
import { ownSite } from '../../../domain/target.ts'
import type { Session } from '../../database.ts'
import { deploymentNames, deployments, targets } from '../../tables/schema.ts'
import { type DeviceFilter, fromDevices } from './targets.ts'

export interface Retirement {
  readonly devices: number
  /** In service behind them, and not selected. */
  readonly children: number
  /** Of the devices, and of those behind them if they retire too. */
  readonly deployments: number
}

/** The server of a site decides about its devices. They may have the names of this server's own. */
const ofThisServer = sql`${targets.siteKey} = ${ownSite}`

function fromSelected(session: Session, filter: DeviceFilter, retired = false): SQL {
  return fromDevices(session, { of: 'fleet' }, { ...filter, retired }, null, [ofThisServer])
}

/** Their names, in order. */
export async function namesToRetire(session: Session, filter: DeviceFilter, most: number): Promise<readonly string[]> {
  const rows = await session.rows<{ readonly name: string }>(
    sql`select ${targets.name} ${fromSelected(session, filter)} order by ${targets.name} limit ${most}::int`,
  )
  return rows.map(({ name }) => name)
}

/** The names of retired devices, a gateway before the devices behind it: a device cannot return below a retired one. */
export async function namesToReinstate(
  session: Session,
  filter: DeviceFilter,
  withChildren: boolean,
  most: number,
): Promise<readonly string[]> {
  const rows = await session.rows<{ readonly name: string }>(
    sql`with recursive chosen as (
        select ${targets.key}, ${targets.name}, ${targets.parentKey} as parent_key ${fromSelected(session, filter, true)}
      ), found as materialized (
        select key, name, parent_key from chosen
        union select child.key, child.name, child.parent_key from found join ${targets} child on child.parent_key = found.key
        where ${withChildren}::boolean and child.retired_at is not null
      ), placed as (
        select key, name, 0 as depth from found where not exists (select 1 from found above where above.key = found.parent_key)
        union all select found.key, found.name, depth + 1 from placed join found on found.parent_key = placed.key
      )
      select name from placed order by depth, name limit ${most}::int`,
  )
  return rows.map(({ name }) => name)
}

export async function countRetirement(
  session: Session,
  filter: DeviceFilter,
  withChildren: boolean,
): Promise<Retirement> {
  const [row] = await session.rows<Retirement>(
    sql`with recursive chosen as materialized (select ${targets.key}, ${targets.name} ${fromSelected(session, filter)}),
      reached as (
        select key, name, null::timestamptz as retired_at from chosen
        union select child.key, child.name, child.retired_at from reached join ${targets} child on child.parent_key = reached.key
      ), below as (
        select key, name from reached where retired_at is null except select key, name from chosen
      ), ending as materialized (
        select key, name from chosen union select key, name from below where ${withChildren}::boolean
      )
      select (select count(*)::int from chosen) as devices, (select count(*)::int from below) as children,
        (select count(distinct found.key)::int from ending cross join lateral (
          select ${deployments.key} from ${deployments} where ${deployments.targetKey} = ending.key and ${isOpen}
          union all
          select ${deploymentNames.deploymentKey} from ${deploymentNames} where ${deploymentNames.reporter} = ending.name
            and not ${deploymentNames.isRemote} and not ${deploymentNames.isForgotten} offset 0) as found) as deployments`,
  )
  return row ?? { devices: 0, children: 0, deployments: 0 }
}

const isOpen = sql`${deployments.forgottenAt} is null and ${deployments.instanceKey} is null`
