/**
 * What the deployments of rollouts have in common, and which of them have a problem: the input of domain/insight/diagnosis.ts.
 *
 * In a large rollout most traits are of one device. A cause has a part of the affected deployments, so there are only a few traits that can be
 * causes: the database finds these first, and groups the deployments by them alone. Of the other traits only the sizes are read.
 */
import { type SQL, sql } from 'drizzle-orm'
import { DomainError } from '../../../domain/errors.ts'
import { diagnose } from '../../../domain/insight/diagnosis.ts'
import {
  type DiagnosedProblem,
  diagnosisLimits,
  mostErrors,
  type Observation,
  type Problem,
  sizeOf,
  type Unlikely,
} from '../../../domain/insight/observed.ts'
import type { Revision } from '../../../domain/values.ts'
import { type Paced, paced } from '../../../platform/limits/pace.ts'
import { sharedSlices } from '../../../platform/limits/slices.ts'
import type { Database, Session, Snapshot } from '../../database.ts'
import { asParents } from '../../sql/parameters.ts'
import { deviceProfiles, targets } from '../../tables/schema.ts'
import { fromPresent, fromThen, isListed, type Scope } from '../deployment-scope.ts'
import { d } from '../filters/deployment-filter.ts'
import { type Grouping, type GroupName, partsOf } from '../groups/grouping.ts'
import { openPast } from '../past.ts'

/** Deployments that one request for diagnoses reads: some seconds of the database. The embedded one answers nothing else meanwhile. */
export const mostDiagnosed: Readonly<Record<Database['kind'], number>> = { postgres: 300_000, pglite: 20_000 }

/** Classes of deployments that are equal in what is compared. The comparison of so many takes some seconds of the processor. */
const mostClasses = 20_000

/** A part of the answer. */
type Row =
  | { readonly part: 'total'; readonly n: number }
  | { readonly part: 'trait'; readonly n: number; readonly of: Trait }
  | { readonly part: 'unlikely'; readonly n: number; readonly rollout: number; readonly of: { readonly size: number } }
  | { readonly part: 'class'; readonly n: number; readonly rollout: number; readonly of: DeploymentClass }

interface Trait {
  readonly id: number
  readonly by: Grouping
  readonly labelKey: string | null
  readonly name: NamePart
}

/** Deployments that are equal in what is compared. */
interface DeploymentClass {
  readonly problem: Problem | null
  /** Their `id`. */
  readonly traits: readonly number[]
  readonly error: NamePart | null
  readonly components: readonly string[] | null
  readonly blocking: readonly string[] | null
}

type NamePart = readonly [value: string | null, detail: string | null]

const nameOf = (by: Grouping) =>
  sql`(select json_build_array(part.value, part.detail)::text from ${partsOf({ by, labelKey: null })} where part.value is not null)`
const namesOf = (by: Grouping) =>
  sql`(select json_agg(part.value order by part.value)::text from ${partsOf({ by, labelKey: null })})`

const problem = sql`case when ${d.state} = 'FAILED' then 'FAILED' when ${d.stalled} then 'STALLED'
    when ${d.state} = 'PENDING' or ${d.convergence} = 'STALE' then 'WAITING' end`

/** Of the rows `d` with the key `parent` of their rollout. */
const seenOf = (
  rows: SQL,
): SQL => sql`select ${d.key}, d.parent as rollout, ${d.targetKey} as target, ${problem} as problem,
    ${nameOf('APPLICATION_VERSION')} as version, ${nameOf('GATEWAY')} as gateway,
    case when ${d.targetManifestVersion} is not null then ${nameOf('DESIRED_CHANGE')} end as change,
    case when ${problem} is not null then ${nameOf('ERROR')} end as error,
    case when ${problem} in ('FAILED', 'STALLED') then ${namesOf('COMPONENT')} end as components,
    case when ${problem} in ('FAILED', 'STALLED') then ${namesOf('BLOCKING_COMPONENT')} end as blocking
  from ${rows}`

/**
 * A row for each deployment, whose `by` is empty, and one for each of its traits. The labels are those of the grouping LABEL, of all keys: of the
 * registration, else what the device says of itself. A device has a key once in each.
 */
const had = sql`select key, rollout, problem, '' as by, '' as label_key, '' as name, error, components, blocking from compared
  union all select key, rollout, problem, 'APPLICATION_VERSION', '', version, null, null, null from compared where version is not null
  union all select key, rollout, problem, 'DESIRED_CHANGE', '', change, null, null, null from compared where change is not null
  union all select key, rollout, problem, 'GATEWAY', '', gateway, null, null, null from compared where gateway is not null
  union all select compared.key, rollout, problem, 'LABEL', label ->> 'key', label ->> 'value', null, null, null
    from compared cross join lateral (select ${targets.labels} as own from ${targets} where ${targets.key} = compared.target offset 0) as device
      cross join jsonb_array_elements(device.own) as label
  union all select compared.key, rollout, problem, 'LABEL', label ->> 'key', label ->> 'value', null, null, null
    from compared
      cross join lateral (select ${deviceProfiles.labels} as own from ${deviceProfiles} where ${deviceProfiles.targetKey} = compared.target offset 0) as profile
      cross join lateral (select ${targets.labels} as own from ${targets} where ${targets.key} = compared.target offset 0) as device
      cross join jsonb_array_elements(profile.own) as label
    where not device.own @> jsonb_build_array(jsonb_build_object('key', label -> 'key'))`

const counters = ['failed', 'stalled', 'waiting'] as const
const counts = sql.raw(
  counters.map((counter) => `count(*) filter (where problem = '${counter.toUpperCase()}')::int as ${counter}`).join(),
)
const whole = sql.raw(
  counters
    .map((counter) => `max(${counter}) filter (where by = '') over (partition by rollout) as all_${counter}`)
    .join(),
)
/** The number of affected deployments that a cause has, of a problem. */
const least = (counter: string): SQL => sql`${diagnosisLimits.leastShare}::float8 * ${sql.raw(`all_${counter}`)}`
const mayCause = sql.join(
  counters.map((counter) => sql`${sql.raw(counter)} > 0 and ${sql.raw(counter)} >= ${least(counter)}`),
  sql` or `,
)
/** A trait of fewer deployments cannot be a cause, whatever their state. */
const isCompared = sql.join(
  counters.map((counter) => sql`${sql.raw(`all_${counter}`)} > 0 and size >= ${least(counter)}`),
  sql` or `,
)

/** The length separates a key from its value, whatever characters they have. */
const traitName = sql`concat_ws(' ', rollout, by, length(label_key), label_key, name)`
const errorName = sql`concat_ws(' ', rollout, problem, error)`

/**
 * If there are more than `most`, only their number is read. Its parts are only scanned and grouped, and looked up as JSON: in a join the planner may
 * compare each row with each row, because it does not know how many there are.
 */
const readingOf = (rows: SQL, most: number): SQL => sql`with seen as materialized (${seenOf(rows)}),
  total as materialized (select count(*)::int as n from seen),
  compared as (select * from seen where (select n from total) <= ${most}),
  had as materialized (${had}),
  traits as materialized (select *, ${whole} from (
    select rollout, by, label_key, name, count(*)::int as size, ${counts} from had group by rollout, by, label_key, name) as counted),
  likely as materialized (select *, (row_number() over (order by rollout, by, label_key, name))::int as id
    from traits where by <> '' and (${mayCause})),
  ids as materialized (select jsonb_object_agg(${traitName}, id) as by_name from likely),
  errors as materialized (select jsonb_object_agg(${errorName}, true) as by_name from (
      select rollout, problem, error, row_number() over (partition by rollout, problem order by count(*) desc, error) as place
      from had where error is not null group by rollout, problem, error) as ranked
    where place <= ${mostErrors}),
  numbered as (select key, rollout, problem, error, components, blocking, by,
      case when by <> '' then ((select by_name from ids) -> ${traitName})::int end as id from had),
  described as (select max(rollout) as rollout, max(problem) as problem, max(error) as error, max(components) as components, max(blocking) as blocking,
      coalesce(array_agg(id order by id) filter (where id is not null), '{}') as traits
    from numbered where by = '' or id is not null group by key),
  classes as (select rollout, problem, case when (select by_name from errors) ? ${errorName} then error end as error, components, blocking, traits,
      count(*)::int as n
    from described group by 1, 2, 3, 4, 5, 6 limit ${mostClasses + 1})
  select 'total' as part, 0 as rollout, n, null::json as of from total
  union all select 'trait', rollout, size, json_build_object('id', id, 'by', by, 'labelKey', case when by = 'LABEL' then label_key end,
      'name', case when by = 'LABEL' then json_build_array(name, null) else name::json end) from likely
  union all select 'unlikely', rollout, count(*)::int, json_build_object('size', size)
    from traits where by <> '' and (${isCompared}) and not (${mayCause}) group by rollout, size
  union all select 'class', rollout, n, json_build_object('problem', problem, 'traits', traits, 'error', error::json,
      'components', components::json, 'blocking', blocking::json) from classes`

interface Diagnosis {
  /** Deployments that were compared. */
  readonly examined: number
  readonly problems: readonly DiagnosedProblem<GroupName>[]
}

/** By rollout. Throws BAD_USER_INPUT if they have more deployments than one request reads. */
export async function diagnosesOf(
  session: Session & Pick<Snapshot, 'kind' | 'signal'>,
  rolloutKeys: readonly number[],
  asOf: Revision | null,
  most = mostDiagnosed[session.kind],
): Promise<Map<number, Diagnosis>> {
  const rows = await readingFor(session, rolloutKeys, asOf, most)
  return paced(diagnoses(rolloutKeys, rows), sharedSlices, 'diagnoses', session.signal)
}

async function readingFor(
  session: Session,
  rolloutKeys: readonly number[],
  asOf: Revision | null,
  most: number,
): Promise<readonly Row[]> {
  const scope: Scope = { of: 'rollout', keys: rolloutKeys }
  const past = asOf === null ? null : await openPast(session, asOf)
  const listed = isListed(session, scope, {})
  const source = past ? fromThen(past, scope, {}, listed) : fromPresent(scope, listed)
  const rows = await session.rows<Row>(
    readingOf(
      sql`(select parent.key as parent, ${d}.* from ${asParents(rolloutKeys)} cross join lateral (select ${d}.* ${source}) as ${d}
        limit ${most + 1}) as ${d}`,
      most,
    ),
  )
  const total = rows.find(({ part }) => part === 'total')?.n ?? 0
  if (total > most) throw tooMany(`every deployment, at most ${most} in a request: these rollouts have more`)
  if (rows.filter(({ part }) => part === 'class').length > mostClasses)
    throw tooMany(`at most ${mostClasses} deployments that differ in what is compared: these rollouts have more`)
  return rows
}

function tooMany(what: string): DomainError {
  return new DomainError('BAD_USER_INPUT', `a diagnosis reads ${what}`)
}

function* diagnoses(rolloutKeys: readonly number[], rows: readonly Row[]): Paced<Map<number, Diagnosis>> {
  const traitsById = new Map<number, GroupName>()
  const observed = new Map<number, { readonly rows: Observation<GroupName>[]; readonly unlikely: Unlikely[] }>(
    rolloutKeys.map((key) => [key, { rows: [], unlikely: [] }]),
  )
  // The traits come first.
  for (const row of rows) {
    yield
    if (row.part === 'trait') traitsById.set(row.of.id, nameOfTrait(row.of))
    else if (row.part === 'unlikely') observed.get(row.rollout)?.unlikely.push({ size: row.of.size, n: row.n })
    else if (row.part === 'class') observed.get(row.rollout)?.rows.push(toObservation(row.n, row.of, traitsById))
  }
  const traits = { nameOf: groupKey, component: blockingComponent }
  const diagnosed = new Map<number, Diagnosis>()
  for (const [key, of] of observed)
    diagnosed.set(key, { examined: sizeOf(of.rows), problems: yield* diagnose(of.rows, traits, of.unlikely) })
  return diagnosed
}

function toObservation(
  n: number,
  of: DeploymentClass,
  traitsById: ReadonlyMap<number, GroupName>,
): Observation<GroupName> {
  const affected = new Set(of.blocking ?? [])
  return {
    n,
    problem: of.problem,
    traits: of.traits.flatMap((id) => traitsById.get(id) ?? []),
    error: of.error && nameOfTrait({ by: 'ERROR', labelKey: null, name: of.error }),
    components: (of.components ?? []).map((name) => ({ name, isAffected: affected.has(name) })),
  }
}

function nameOfTrait({ by, labelKey, name: [value, detail] }: Omit<Trait, 'id'>): GroupName {
  return { by, labelKey, value, detail }
}

function blockingComponent(name: string): GroupName {
  return { by: 'BLOCKING_COMPONENT', labelKey: null, value: name, detail: null }
}

function groupKey({ by, labelKey, value, detail }: GroupName): string {
  // Stored text has no NUL. JSON takes several times as long.
  return `${by}\0${labelKey ?? '\0'}\0${value ?? '\0'}\0${detail ?? '\0'}`
}
