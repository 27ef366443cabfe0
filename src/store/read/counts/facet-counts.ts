/**
 * Counts of the fleet's deployments with one application, version or error code, or with any error, at present and in the past:
 *
 *   counts at R = counts at the end of the stretch of 1,000 entries that R is in − what its entries after R did
 *   counts at the end of a stretch = those before the next stretch that changed them, or else those at the duty's cursor
 *
 * The duty is in store/write/derived/facet-counts.ts. After its cursor, what the entries up to R did is added instead.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { DeploymentImage } from '../../../domain/deployment.ts'
import type { Revision } from '../../../domain/values.ts'
import type { Session, Snapshot } from '../../database.ts'
import { covered } from '../../projection.ts'
import { presentFields } from '../../sql/conditions.ts'
import { entryColumns, longestFacet, selectFacetMoves } from '../../sql/facet-moves.ts'
import { containsAny, either, isAnyOf, isHashed, listParameter } from '../../sql/parameters.ts'
import { facetCheckpoints as c, changeLog, duties, facetCounts, logHead, pastDeployments } from '../../tables/schema.ts'
import { facetsProjection } from '../../write/derived/facet-counts.ts'
import type { Scope } from '../deployment-scope.ts'
import { areVerbatim, type DeploymentFilter } from '../filters/deployment-filter.ts'

/** Entries behind the duty's cursor that are read for a count. */
const mostEntries = 20_000

/** Facets that no deployment has two of. */
export interface Facets {
  readonly names: readonly string[]
  /** What the JSON of each entry that concerns them has: one of these. Null: not known. */
  readonly strings: readonly string[] | null
}

/** The facets by which the filter selects, apart from states and convergence. Null: it selects by something else, too. */
export function facetsOf(session: Session, scope: Scope, filter: DeploymentFilter): Facets | null {
  const [field, more] = presentFields(filter).filter((name) => name !== 'states' && name !== 'convergence')
  if (scope.of !== 'fleet' || session.accessScope || field === undefined || more !== undefined) return null
  const facets = namedBy(field, filter)
  return facets?.names.every((name) => Buffer.byteLength(name) <= longestFacet) ? facets : null
}

function namedBy(field: keyof DeploymentFilter, filter: DeploymentFilter): Facets | null {
  const of = (sort: string, values: readonly string[] = []): Facets => ({
    names: [...new Set(values)].map((value) => `${sort}:${value}`),
    strings: areVerbatim(values) && !isHashed(values) ? values : null,
  })
  switch (field) {
    case 'applications':
      return of('a', filter.applications)
    case 'applicationVersions':
      return of('v', filter.applicationVersions)
    case 'errorCodes':
      // A deployment may have two codes.
      return new Set(filter.errorCodes).size === 1 ? of('e', filter.errorCodes) : null
    case 'hasError':
      return filter.hasError ? { names: ['e'], strings: ['code'] } : null
    default:
      return null
  }
}

const counted = sql.raw(covered(facetsProjection))

/** The revisions at which counts are known, and few entries have to be read for them. */
interface Known {
  readonly past: Revision
  /** Null: up to the present. */
  readonly beyond: Revision | null
}

const knownName = 'facets'

/** Null: nothing is counted. A chart asks at each of its moments, and in a snapshot the answer stays. */
function knownOf(session: Session & Partial<Pick<Snapshot, 'derived'>>): Promise<Known | null> {
  const found = session.derived?.get(knownName) as Promise<Known | null> | undefined
  const known = found ?? readKnown(session)
  session.derived?.set(knownName, known)
  return known
}

async function readKnown(session: Session): Promise<Known | null> {
  const [row] = await session.rows<Known>(
    sql`select known.past, (select ${changeLog.firstRevision} from ${changeLog} where ${changeLog.firstRevision} > known.cursor and ${changeLog.firstRevision} <= ${logHead.revision}
        order by ${changeLog.firstRevision} offset ${mostEntries} limit 1) as beyond
      from ${logHead} cross join (select ${counted} as cursor, (select ${duties.cursor} from ${duties} where ${duties.name} = 'facets-past') as past) as known
      where known.cursor >= ${logHead.tail} and known.past is not null`,
  )
  return row ?? null
}

/** Whether the counts at the revision are known. Null: the present. */
export async function areCounted(session: Session, asOf: Revision | null): Promise<boolean> {
  const known = await knownOf(session)
  if (known === null) return false
  const { past, beyond } = known
  return asOf === null ? beyond === null : past <= asOf && (beyond === null || asOf < beyond)
}

function atOf(asOf: Revision | null): SQL {
  return asOf === null ? sql`${logHead.revision}` : sql`${asOf}::bigint`
}

/** Rows {state, convergence, n} that add up to the counts. The entry that spans the revision counts as a whole. */
export function selectFacets({ names, strings }: Facets, asOf: Revision | null): SQL {
  const wanted = listParameter(names, 'text')
  const bounds = (first: SQLWrapper): SQL =>
    sql`${first} > least(place.at, place.base) and ${first} <= greatest(place.at, place.base)`
  const { until, error, components, application, applicationVersion } = pastDeployments
  const ended = strings
    ? sql`left join (select * from ${pastDeployments} where ${bounds(until)} offset 0) as ${pastDeployments} on ${until} = ${changeLog.firstRevision}`
    : sql``
  const quoted = strings?.map((text) => `"${text}"`) ?? []
  const concerns = either([
    ...[changeLog.changes, error, components].map((json) => containsAny(sql`${json}::text`, quoted)),
    ...[application, applicationVersion].map((name) => isAnyOf(name, strings ?? [], 'text')),
  ])
  return sql`select part.state, part.convergence, part.n from (
      with place as materialized (
        select known.cursor, known.at, case when known.at > known.cursor then known.cursor else (
          select min(${c.revision}) from ${c} where ${c.facet} = '' and ${c.revision} >= known.at) end as base
        from (select ${counted} as cursor, ${atOf(asOf)} as at from ${logHead}) as known
      ), entries as materialized (
        select entry.* from place cross join lateral (
          select ${changeLog.firstRevision}, ${sql.raw(entryColumns)} from ${changeLog} ${ended}
          where ${bounds(changeLog.firstRevision)} and ${strings ? concerns : sql`true`} offset 0) as entry
      )
      select had.state, had.convergence, had.n from place cross join unnest(${wanted}) as wanted(facet) cross join lateral (
          (select ${c.counts}, ${c.revision} from ${c} where ${c.facet} = wanted.facet and ${c.revision} > place.base order by ${c.revision} limit 1)
          union all (select ${facetCounts.counts}, null from ${facetCounts} where ${facetCounts.facet} = wanted.facet)
          order by revision limit 1) as known
        cross join lateral json_to_recordset(known.counts) as had(state deployment_state, convergence convergence, n int)
      union all select moved.state, moved.convergence, case when place.at > place.base then moved.n else -moved.n end
        from place cross join (${sql.raw(selectFacetMoves)}) as moved where moved.facet = any (${wanted})
    ) as part`
}

/** Rows {value, state, convergence, n}: how many deployments have each application at present. */
export function selectApplications(): SQL {
  return sql`with entries as materialized (
      select entry.* from ${logHead} cross join lateral (
        select ${changeLog.firstRevision}, ${sql.raw(entryColumns)} from ${changeLog}
        where ${changeLog.firstRevision} > ${counted} and ${changeLog.firstRevision} <= ${logHead.revision} offset 0) as entry
    )
    select substr(part.facet, 3) as value, part.state, part.convergence, sum(part.n)::int as n from (
      select ${facetCounts.facet}, had.state, had.convergence, had.n from ${facetCounts}
        cross join lateral json_to_recordset(${facetCounts.counts}) as had(state deployment_state, convergence convergence, n int)
      union all select moved.facet, moved.state, moved.convergence, moved.n from (${sql.raw(selectFacetMoves)}) as moved
    ) as part where left(part.facet, 2) = 'a:' group by 1, 2, 3 having sum(part.n) <> 0`
}

/** Whether a deployment of this image has one of the facets. */
export function hasFacet({ names }: Facets, image: DeploymentImage): boolean {
  const { application, applicationVersion, error, components } = image
  const codes = [error, ...components.map((part) => part.error)].flatMap((one) => (one ? [one.code] : []))
  const own = [
    ...(application === null ? [] : [`a:${application}`]),
    ...(applicationVersion === null ? [] : [`v:${applicationVersion}`]),
    ...(codes.length > 0 ? ['e'] : []),
    ...codes.map((code) => `e:${code}`),
  ]
  return own.some((facet) => names.includes(facet))
}
