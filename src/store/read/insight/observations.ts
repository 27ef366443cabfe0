/** What the deployments of rollouts have in common, and which of them have a problem: the input of domain/insight/diagnosis.ts. */
import { sql } from 'drizzle-orm'
import { DomainError } from '../../../domain/errors.ts'
import { diagnose } from '../../../domain/insight/diagnosis.ts'
import type { DiagnosedProblem, Observation, Problem } from '../../../domain/insight/observed.ts'
import type { Revision } from '../../../domain/values.ts'
import { type Paced, paced } from '../../../limits/pace.ts'
import { sharedSlices } from '../../../limits/slices.ts'
import type { Session, Snapshot } from '../../database.ts'
import { asParents } from '../../sql/parameters.ts'
import { deviceProfiles, targets } from '../../tables/schema.ts'
import { d } from '../deployment-filter.ts'
import { fromPresent, fromThen, isListed, type Scope } from '../deployment-scope.ts'
import { type Grouping, type GroupName, partsOf } from '../groups/grouping.ts'
import { openPast } from '../past.ts'

/** Deployments that one request for diagnoses reads. With many labels, the comparison of these takes seconds. */
export const mostDiagnosed = 20_000

interface Row {
  readonly rollout: number
  readonly n: number
  readonly problem: Problem | null
  readonly version: NamePart
  readonly change: NamePart
  readonly gateway: NamePart
  readonly error: NamePart
  readonly labels: readonly (readonly [key: string, value: string])[] | null
  readonly components: readonly string[] | null
  readonly blocking: readonly string[] | null
}

/** Null: it has none. */
type NamePart = readonly [value: string | null, detail: string | null] | null

const nameOf = (by: Grouping) =>
  sql`(select json_build_array(part.value, part.detail)::text from ${partsOf({ by, labelKey: null })} where part.value is not null)`
const namesOf = (by: Grouping) =>
  sql`(select json_agg(part.value order by part.value)::text from ${partsOf({ by, labelKey: null })})`

/** As the grouping LABEL has it, of all keys: the label of the registration, else what the device says of itself. */
const labels = sql`(select json_agg(json_build_array(found.key, found.value) order by found.key)::text from (
    select distinct on (key) label ->> 'key' as key, label ->> 'value' as value from (
      select label, 0 as rank from ${targets} cross join jsonb_array_elements(${targets.labels}) as label where ${targets.key} = ${d.targetKey}
      union all
      select label, 1 from ${deviceProfiles} cross join jsonb_array_elements(${deviceProfiles.labels}) as label
        where ${deviceProfiles.targetKey} = ${d.targetKey}) as labels(label, rank)
    order by label ->> 'key', rank) as found)`

const problem = sql`case when ${d.state} = 'FAILED' then 'FAILED' when ${d.stalled} then 'STALLED'
    when ${d.state} = 'PENDING' or ${d.convergence} = 'STALE' then 'WAITING' end`

interface Diagnosis {
  /** Deployments that were compared. */
  readonly examined: number
  readonly problems: readonly DiagnosedProblem<GroupName>[]
}

/** By rollout. Throws BAD_USER_INPUT if they have more deployments than one request reads. */
export async function diagnosesOf(
  session: Session & Pick<Snapshot, 'signal'>,
  rolloutKeys: readonly number[],
  asOf: Revision | null,
  most = mostDiagnosed,
): Promise<Map<number, Diagnosis>> {
  const found = await rowsOf(session, rolloutKeys, asOf, most)
  return paced(diagnoses(rolloutKeys, found), sharedSlices, 'diagnoses', session.signal)
}

function* diagnoses(rolloutKeys: readonly number[], found: readonly Row[]): Paced<Map<number, Diagnosis>> {
  const observed = new Map<number, Observation<GroupName>[]>(rolloutKeys.map((key) => [key, []]))
  for (const row of found) {
    observed.get(row.rollout)?.push(toObservation(row))
    yield
  }
  const traits = { nameOf: groupKey, component: blockingComponent }
  const diagnosed = new Map<number, Diagnosis>()
  for (const [key, rows] of observed)
    diagnosed.set(key, { examined: sizeOf(rows), problems: yield* diagnose(rows, traits) })
  return diagnosed
}

async function rowsOf(
  session: Session,
  rolloutKeys: readonly number[],
  asOf: Revision | null,
  most: number,
): Promise<readonly Row[]> {
  const scope: Scope = { of: 'rollout', keys: rolloutKeys }
  const past = asOf === null ? null : await openPast(session, asOf)
  const rows = past
    ? fromThen(past, scope, {}, isListed(session, scope, {}))
    : fromPresent(scope, isListed(session, scope, {}))
  const found = await session.rows<Row>(
    sql`select rollout, problem, version::json, change::json, gateway::json, error::json, labels::json, components::json, blocking::json,
        count(*)::int as n
      from (
        select d.parent as rollout, ${problem} as problem, ${nameOf('APPLICATION_VERSION')} as version,
          case when ${d.targetManifestVersion} is not null then ${nameOf('DESIRED_CHANGE')} end as change, ${nameOf('GATEWAY')} as gateway, case when ${problem} is not null then ${nameOf('ERROR')} end as error, ${labels} as labels,
          case when ${problem} in ('FAILED', 'STALLED') then ${namesOf('COMPONENT')} end as components,
          case when ${problem} in ('FAILED', 'STALLED') then ${namesOf('BLOCKING_COMPONENT')} end as blocking
        from (select parent.key as parent, ${d}.* from ${asParents(rolloutKeys)} cross join lateral (select ${d}.* ${rows}) as ${d}
          limit ${most + 1}) as ${d}
      ) as seen
      group by rollout, problem, version, change, gateway, error, labels, components, blocking`,
  )
  if (sizeOf(found) > most)
    throw new DomainError(
      'BAD_USER_INPUT',
      `a diagnosis reads every deployment, at most ${most} in a request: these rollouts have more`,
    )
  return found
}

function toObservation({ n, problem, version, change, gateway, error, labels, components, blocking }: Row) {
  const traits = [
    ...named('APPLICATION_VERSION', version),
    ...named('DESIRED_CHANGE', change),
    ...named('GATEWAY', gateway),
    ...(labels ?? []).map(([labelKey, value]): GroupName => ({ by: 'LABEL', labelKey, value, detail: null })),
  ]
  const affected = new Set(blocking ?? [])
  return {
    n,
    problem,
    traits,
    error: named('ERROR', error)[0] ?? null,
    components: (components ?? []).map((name) => ({ name, isAffected: affected.has(name) })),
  }
}

function named(by: Grouping, name: NamePart): GroupName[] {
  return name ? [{ by, labelKey: null, value: name[0], detail: name[1] }] : []
}

function blockingComponent(name: string): GroupName {
  return { by: 'BLOCKING_COMPONENT', labelKey: null, value: name, detail: null }
}

function groupKey({ by, labelKey, value, detail }: GroupName): string {
  // Stored text has no NUL. JSON takes several times as long.
  return `${by}\0${labelKey ?? '\0'}\0${value ?? '\0'}\0${detail ?? '\0'}`
}

function sizeOf(rows: readonly { readonly n: number }[]): number {
  return rows.reduce((sum, { n }) => sum + n, 0)
}
