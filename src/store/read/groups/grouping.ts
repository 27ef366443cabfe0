/**
 * The groupings of deployments. A grouping is a lateral row source beside a deployment `d`. Each of its rows `part` puts the deployment
 * into the group (value, detail) and names the state that is counted there. Every grouping but those of components gives exactly one row for each
 * deployment, so the sizes of its groups add up to the number of deployments.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import { isStorable } from '../../../domain/text.ts'
import { fixed, nothing } from '../../sql/parameters.ts'
import { deployments, deviceProfiles, manifestEntries, manifests, targets } from '../../tables/schema.ts'

const groupings = [
  'APPLICATION',
  'APPLICATION_VERSION',
  'BLOCKING_COMPONENT',
  'COMPONENT',
  'CONVERGENCE',
  'DESIRED_CHANGE',
  'ERROR',
  'GATEWAY',
  'LABEL',
  'MANIFEST_VERSION',
  'RETIREMENT',
  'ROLLOUT',
  'TARGET',
] as const
export type Grouping = (typeof groupings)[number]

/** `labelKey` is the key of the labels that LABEL groups by; null for the other groupings. */
export interface GroupedBy {
  readonly by: Grouping
  readonly labelKey: string | null
}

/** One group of a grouping. */
export interface GroupName extends GroupedBy {
  /** Null: its deployments have no such value. For ROLLOUT and TARGET: the key of the row. */
  readonly value: string | null
  /** For APPLICATION_VERSION the application, for DESIRED_CHANGE the caller, for ERROR the normalised message, otherwise null. */
  readonly detail: string | null
}

/**
 * A total order of the groups of a grouping. Null is before everything else. A line break divides the two parts, so each one in the first is followed
 * by a 2, and never by the 0 or 1 that the second begins with.
 */
export const nameColumn = sql.raw(
  `coalesce('1' || replace(part.value, chr(10), chr(10) || '2'), '0') || chr(10) || coalesce('1' || part.detail, '0')`,
)

/** As `nameColumn`, of a group that was read. */
export function placeOf({ value, detail }: Pick<GroupName, 'value' | 'detail'>): string {
  return [value?.replaceAll('\n', '\n2') ?? null, detail].map((part) => (part === null ? '0' : `1${part}`)).join('\n')
}

const d = alias(deployments, 'd')

const single = (value: SQL, detail: SQL = sql`null::text`): SQL =>
  fixed(
    sql`(select ${value}::text as value, ${detail} as detail, ${d.state} as state, null::text as component) as part`,
  )

/**
 * A message without the tokens that contain a digit: numbers, IDs, addresses and image tags differ from device to device,
 * and the same failure would be a group on each.
 */
const normalised = sql.raw(
  `regexp_replace(cause.error ->> 'message', '[A-Za-z0-9._:/@%+-]*[0-9][A-Za-z0-9._:/@%+-]*', '#', 'g')`,
)

/**
 * The error of a failed component, else of any component, else of the deployment itself: a component's is the more specific. The components of a deployment
 * without an error are not parsed: the condition does not depend on the rows within, so it is checked before them.
 */
const cause = sql`(
    select found.* from (
      select part.name, part.error, case part.state when 'FAILED' then 0 else 1 end as rank, part.place
        from rows from (json_to_recordset(${d.components}) as (name text, state text, error json)) with ordinality as part(name, state, error, place)
        where part.error ->> 'code' is not null
      union all select null, ${d.error}, 2, 0 where ${d.error} ->> 'code' is not null
      order by rank, place limit 1
    ) as found where deployment_has_error(${d.error}, ${d.components})
  ) as cause`

/** Every entry of a deployment is in the manifest of the same device, and the change has the version at which its document last changed. */
const desiredChange = sql`(
    select ${manifests.why} as why, ${manifests.caller} as caller from ${manifestEntries}
      join ${manifests} on ${manifests.targetKey} = ${manifestEntries.targetKey} and ${manifests.version} = ${d.targetManifestVersion}
    where ${manifestEntries.deploymentKey} = ${d.key} and ${d.targetManifestVersion} is not null order by ${manifests.at} desc limit 1
  ) as change`

/** As gatewayOf() in domain/target.ts. The parent that a device is registered with was rejected: a reader of a part of the fleet may not see it. */
const gateway = sql`case when ${d.instanceKey} is not null then null
    when strpos(substr(${d.reporter}, 2), '/') > 0 then left(${d.reporter}, strpos(substr(${d.reporter}, 2), '/'))
    else ${d.reporter} end`

const sources: Readonly<Record<Exclude<Grouping, 'LABEL'>, SQL>> = {
  APPLICATION: single(sql`${d.application}`),
  APPLICATION_VERSION: single(sql`${d.applicationVersion}`, sql`${d.application}`),
  BLOCKING_COMPONENT: componentsWhere(sql`component.state = ${d.state}`),
  COMPONENT: componentsWhere(sql`true`),
  CONVERGENCE: single(sql`${d.convergence}`),
  DESIRED_CHANGE: fixed(sql`(
      select change.why as value, change.caller as detail, ${d.state} as state, null::text as component
      from (values (1)) as one left join lateral ${desiredChange} on true
    ) as part`),
  ERROR: fixed(sql`(
      select cause.error ->> 'code' as value, ${normalised} as detail, ${d.state} as state, cause.name as component
      from (values (1)) as one left join lateral ${cause} on true
    ) as part`),
  GATEWAY: single(gateway),
  MANIFEST_VERSION: single(sql`${d.adoptedManifestVersion}`),
  RETIREMENT: single(sql`(select ${targets.retiredReason} from ${targets} where ${targets.key} = ${d.targetKey})`),
  ROLLOUT: single(sql`${d.rolloutKey}`),
  TARGET: single(sql`${d.targetKey}`),
}

function componentsWhere(condition: SQL): SQL {
  return fixed(sql`(
      select component.name as value, null::text as detail, component.state, null::text as component
      from json_to_recordset(${d.components}) as component(name text, state deployment_state) where ${condition}
    ) as part`)
}

/** The rows `part` of a row `d`, for `cross join lateral`. */
export function partsOf({ by, labelKey }: GroupedBy): SQL {
  if (by !== 'LABEL') return sources[by]
  return sql`(select ${labelOf(d.targetKey, labelKey ?? '\0')} as value, null::text as detail, ${d.state} as state, null::text as component) as part`
}

/** The label of the registration of a target, else what the device says of itself: the filter by labels has the same rule. */
export function labelOf(target: SQLWrapper, labelKey: string): SQL {
  const isOfKey = isStorable(labelKey) ? sql`label ->> 'key' = ${labelKey}` : nothing
  return sql`coalesce(
      (select label ->> 'value' from ${targets} cross join jsonb_array_elements(${targets.labels}) as label
        where ${targets.key} = ${target} and ${isOfKey} limit 1),
      (select label ->> 'value' from ${deviceProfiles} cross join jsonb_array_elements(${deviceProfiles.labels}) as label
        where ${deviceProfiles.targetKey} = ${target} and ${isOfKey} limit 1))`
}

/** The condition that `d` belongs to the group. */
export function isInGroup(group: GroupName): SQL {
  const { value, detail } = group
  if (!isStorable(value ?? '') || !isStorable(detail ?? '')) return nothing
  return sql`exists (select 1 from ${partsOf(group)}
    where part.value is not distinct from ${value}::text and part.detail is not distinct from ${detail}::text)`
}
