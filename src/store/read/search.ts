/**
 * Finds rollouts, devices, clusters, deployments and resources by name. An index finds names that begin with the text. Names that only
 * contain it are found among the newest rows of each table: an index of all parts of names would cost every new row. Older deployments, and the
 * devices that have one, are found by the index that filters use (write/derived/search-entries.ts), which is made behind the writer.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { isStorable } from '../../domain/text.ts'
import type { Session } from '../database.ts'
import { all } from '../sql/parameters.ts'
import { deploymentNames, deploymentSearch, deployments, resources, rollouts, targets } from '../tables/schema.ts'
import { visiblePlace, visibleRollout, visibleTarget } from './access-scope.ts'
import { hasIndexedPart, hasParts } from './filters/search-ranges.ts'
import { isListed } from './rollouts/rollouts.ts'

export const searchKinds = ['ROLLOUT', 'DEVICE', 'CLUSTER', 'DEPLOYMENT', 'RESOURCE'] as const
export type SearchKind = (typeof searchKinds)[number]

/** In the order of results. */
const searchMatches = ['EXACT', 'PREFIX', 'PART'] as const
export type SearchMatch = (typeof searchMatches)[number]

export interface Found {
  readonly kind: SearchKind
  readonly key: number
  readonly name: string
  readonly match: SearchMatch
}

/** Rows of each kind that are examined: the first that begin with the text, and the newest for parts. */
const searchedRows = 20_000

/** Deployments that the index finds, of which the names are examined: it also has the names of their devices, and other text. */
const searchedOlder = 2_000
const mostOlder = sql.raw(String(searchedOlder))

/** Exact matches first, then names that begin with the text, then names that contain it. Case is ignored. */
export async function search(
  session: Session,
  text: string,
  kinds: readonly SearchKind[],
  limit: number,
  examined: number = searchedRows,
): Promise<Found[]> {
  if (!isStorable(text)) return []
  const found = await Promise.all(
    [...new Set(kinds)].map(async (kind) => {
      const rows = await session.rows<Row>(selectFrom(session, kind, text, limit, examined))
      const older = rows.length < limit ? await olderParts(session, kind, text, limit) : []
      const byKey = new Map([...older, ...rows].map((row) => [row.key, row]))
      return [...byKey.values()].map(({ key, name, rank }) => ({
        kind,
        key,
        name,
        match: searchMatches[rank] ?? 'PART',
      }))
    }),
  )
  const places = (one: Found) => [searchMatches.indexOf(one.match), searchKinds.indexOf(one.kind)] as const
  return found
    .flat()
    .toSorted((a, b) => {
      const [[match, kind], [otherMatch, otherKind]] = [places(a), places(b)]
      return match - otherMatch || kind - otherKind || (a.name < b.name ? -1 : Number(a.name > b.name)) || a.key - b.key
    })
    .slice(0, limit)
}

interface Row {
  readonly key: number
  readonly name: string
  readonly rank: number
}

interface Named {
  readonly table: SQLWrapper
  readonly key: SQLWrapper
  readonly name: SQLWrapper
  /** What the limit of examined rows counts: nearly all rows of an index have it, or an index of its own finds them. */
  readonly isPresent: SQL
}

interface Source extends Named {
  readonly is: readonly SQL[]
  /** The table beside it that has the index of names. Absent: it has the index itself. */
  readonly names?: Named
}

const namesOfDeployments: Named = {
  table: deploymentNames,
  key: deploymentNames.deploymentKey,
  name: deploymentNames.deploymentId,
  isPresent: sql`not ${deploymentNames.isForgotten}`,
}

/** Few, found by the index of kinds. In the order of names or keys, devices would use up the limit. */
const isCluster = sql`${targets.key} = any (array(select key from ${targets} where kind in ('CLUSTER', 'CLOUD_REGION')))`

function sourceOf(reader: Session, kind: SearchKind): Source {
  switch (kind) {
    case 'ROLLOUT': {
      const is = [isListed(reader), ...visibleRollout(reader, rollouts)]
      return { table: rollouts, key: rollouts.key, name: rollouts.name, isPresent: sql`true`, is }
    }
    case 'DEVICE':
    case 'CLUSTER': {
      const is = [sql`${targets.retiredAt} is null`, ...visibleTarget(reader, targets)]
      const isPresent = kind === 'DEVICE' ? sql`${targets.kind} = 'DEVICE'` : isCluster
      return { table: targets, key: targets.key, name: targets.name, isPresent, is }
    }
    case 'DEPLOYMENT': {
      const is = [sql`${deployments.isCurrent}`, ...visiblePlace(reader, deployments)]
      const isPresent = sql`${deployments.forgottenAt} is null`
      const names = namesOfDeployments
      return { table: deployments, key: deployments.key, name: deployments.deploymentId, isPresent, is, names }
    }
    case 'RESOURCE': {
      const is = visiblePlace(reader, resources)
      const isPresent = sql`${resources.goneAt} is null`
      return { table: resources, key: resources.key, name: resources.name, isPresent, is }
    }
  }
}

/**
 * Ranks: the index in `searchMatches`. The operators of text_pattern_ops use the index, whatever the database's collation. Both halves
 * limit the rows before they look for those that the reader sees, so a restricted reader costs no more.
 */
function selectFrom(reader: Session, kind: SearchKind, text: string, limit: number, examined: number): SQL {
  const { table, key, name, isPresent, is, names } = sourceOf(reader, kind)
  const [wanted, after] = [sql`lower(${text}::text)`, sql`(lower(${text}::text) || chr(1114111))`]
  const folded = sql`lower(${name})`
  const mostRows = sql.raw(String(examined))
  const beginning = (of: Named, columns: SQL): SQL => sql`(
        select ${columns}, lower(${of.name}) as folded from ${of.table}
        where lower(${of.name}) ~>=~ ${wanted} and lower(${of.name}) ~<~ ${after} and ${of.isPresent}
        order by folded using ~<~ limit ${mostRows})`
  const first = names
    ? sql`${beginning(names, sql`${names.key} as named`)} as named
        cross join lateral (select * from ${table} where ${key} = named.named offset 0) as ${table}`
    : sql`${beginning({ table, key, name, isPresent }, sql`${table}.*`)} as ${table}`
  return sql`
    (select ${key} as key, ${name} as name, case when folded = ${wanted} then 0 else 1 end as rank
      from ${first}
      where ${all(is)} order by folded using ~<~ limit ${limit}::int)
    union all
    (select ${key} as key, ${name} as name, 2 as rank
      from (select * from ${table} where ${isPresent} order by ${key} desc limit ${mostRows}) as ${table}
      where strpos(${folded}, ${wanted}) > 1 and ${all([...is])} order by ${key} desc limit ${limit}::int)`
}

/** Keys of rows that may have the text. The other kinds are few, or have no such index. */
const olderWith: { readonly [Kind in SearchKind]?: (text: string) => SQL } = {
  DEPLOYMENT: deploymentsWith,
  DEVICE: (text) => ofDeploymentsWith(text, deployments.targetKey),
  // An undeclared rollout has the name of its deployment. Other rollouts are few.
  ROLLOUT: (text) => sql`${ofDeploymentsWith(text, deployments.rolloutKey)} union all
    (select ${rollouts.key} from ${rollouts} where ${rollouts.kind} <> 'MARGO_DEPLOYMENT' order by ${rollouts.key} desc limit ${mostOlder})`,
}

/** Names that contain the text, by the index of all deployments. */
async function olderParts(reader: Session, kind: SearchKind, text: string, limit: number): Promise<Row[]> {
  const candidates = olderWith[kind]?.(text)
  if (!candidates || !hasIndexedPart(text)) return []
  const { table, key, name, isPresent, is } = sourceOf(reader, kind)
  return reader.rows<Row>(sql`select ${key} as key, ${name} as name, 2 as rank from ${table}
    where ${key} = any (array(${candidates})) and strpos(lower(${name}), lower(${text}::text)) > 1 and ${all([isPresent, ...is])}
    order by ${key} desc limit ${limit}::int`)
}

/** Their entries have the names of their devices, too. A text that is too long for the index may have it. */
function deploymentsWith(text: string): SQL {
  const { deploymentKey, text: own } = deploymentSearch
  return sql`(select ${deploymentKey} from ${deploymentSearch} where ${hasParts(sql`${own}`, text)} limit ${mostOlder})
    union all (select ${deploymentKey} from ${deploymentSearch} where ${own} is null limit ${mostOlder})`
}

function ofDeploymentsWith(text: string, column: SQLWrapper): SQL {
  return sql`select ${column} from ${deployments}
    where ${deployments.key} = any (array(${deploymentsWith(text)}))`
}
