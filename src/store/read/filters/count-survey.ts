/**
 * Which range of a count has few rows, in one statement: entries of indexes are counted up to the limit of a page. To count the deployments of many targets would
 * look each of them up, as the count itself does: those of some targets are counted instead, and the others are taken to have as many.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { Session } from '../../database.ts'
import type { DeploymentFilter } from './deployment-filter.ts'
import { type Known, matchesRest } from './index-ranges.ts'
import { countUpTo, isOnAnyOf, type Ranges, rowsIn, rowsOnTargets } from './range.ts'
import type { Source, SourceLimits } from './source.ts'

interface Surveyed {
  readonly ranges: Ranges
  /** Rows. An exact number is at most one more than the limit of a page. */
  readonly n: number
  /** Otherwise there may be more. */
  readonly isExact: boolean
  /** Of deployments on targets, if these are few enough for a list. */
  readonly known: Known | null
}

interface Survey {
  /** All deployments of the scope. */
  readonly total: number
  /** Those with the fewest rows first. */
  readonly choices: readonly Surveyed[]
}

/** `total`: how many deployments the scope has. Few are not worth a survey. */
export async function surveyForCount(
  session: Session,
  total: SQL,
  choices: readonly Ranges[],
  { small, candidates, counted }: SourceLimits,
): Promise<Survey> {
  const most = candidates + 1
  const asked = Math.ceil(candidates / 20) + 1
  const places = (index: number): SQL => sql.raw(`places${index}`)
  // Some targets are found by a scan of all: once.
  const listed = choices.flatMap((ranges, index) => {
    const targets = targetsOf(ranges)
    return targets ? [sql`${places(index)} as materialized (${targets} limit ${counted + 1})`] : []
  })
  const columns = choices.flatMap((ranges, index) => {
    const [name, key] = [sql.raw(`n${index}`), sql.raw(`t${index}`)]
    if (!targetsOf(ranges)) return [sql`${countUpTo(ranges, most)} as ${name}`]
    const some = rowsOnTargets(sql`select place.key from ${places(index)} as place limit ${asked}`)
    return [sql`${countUpTo([some], most)} as ${name}`, sql`(select count(*)::int from ${places(index)}) as ${key}`]
  })
  const [row] = await session.rows<Readonly<Record<string, number | null>>>(
    sql`${listed.length > 0 ? sql`with ${sql.join(listed, sql`, `)}` : sql``}
      select total.n, found.* from (select coalesce(${total}, 0) as n) as total
      left join lateral (select ${sql.join([sql`true`, ...columns], sql`, `)} where total.n > ${small} offset 0) as found on true`,
  )
  const surveyed = choices.map((ranges, index): Surveyed => {
    const [n, t] = [row?.[`n${index}`] ?? most, row?.[`t${index}`] ?? 0]
    const [targets, [range]] = [targetsOf(ranges), ranges]
    const known =
      targets && range?.served && t <= counted ? { served: range.served, condition: isOnAnyOf(targets, counted) } : null
    return t > asked
      ? { ranges, n: Math.ceil((n * t) / asked), isExact: false, known }
      : { ranges, n, isExact: true, known }
  })
  return { total: row?.n ?? 0, choices: surveyed.sort((a, b) => a.n - b.n) }
}

/** Counts the rows of one of the choices: exactly known and few, or probably no more than a count reads. */
export function surveyedSource(
  filter: DeploymentFilter,
  best: Surveyed,
  { choices }: Survey,
  { candidates, counted }: SourceLimits,
): Source {
  const matches = matchesRest(
    filter,
    best.ranges,
    choices.flatMap(({ known }) => (known && known !== best.known ? known : [])),
  )
  if (best.isExact) return { of: 'candidates', rows: rowsIn(best.ranges, candidates), matches }
  return {
    of: 'candidates',
    rows: sql`${rowsIn(best.ranges, counted + 1)} limit ${counted + 1}`,
    matches,
    most: counted,
  }
}

function targetsOf([range, ...others]: Ranges): SQL | undefined {
  return others.length === 0 ? range?.targets : undefined
}
