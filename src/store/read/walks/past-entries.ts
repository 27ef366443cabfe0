/**
 * The entries of the log that a list in the past reads, back or forth from its first row, until it has a page. Most lists look up the deployment of each
 * entry. Where all rows counted as certain values, an index has what each entry counted as, so more entries are passed for those that are looked up.
 */
import { type SQL, sql } from 'drizzle-orm'
import { type DeploymentState, deploymentStates } from '../../../domain/values.ts'
import type { Select, Stretch } from '../../sql/page.ts'
import { all, isAnyOf, nothing } from '../../sql/parameters.ts'
import { changeLog as entry } from '../../tables/schema.ts'
import type { CountedAs } from '../changes/stays.ts'
import { d } from '../filters/deployment-filter.ts'
import type { RevisionOrder } from '../orders/deployment-order.ts'
import type { Past } from '../past.ts'

/** Which entries are read. */
interface EntriesQuery {
  readonly past: Past
  readonly order: RevisionOrder
  /** Of a list by state: the rows of this one only. */
  readonly state: DeploymentState | null
  readonly rollouts: readonly number[] | undefined
  /** What all rows counted as. */
  readonly counted: readonly CountedAs[]
  /** The list's rows that have not changed since. Where these fill the page, the entries end. */
  readonly unchanged: Select | null
  /** Entries that are looked up. */
  readonly walked: number
}

interface Entries {
  /** A select of the keys of their deployments and of their revisions, in the order of the list. */
  readonly walked: Select
  /** Selects that have a row if there are more entries. `wanted`: conditions that hold for the first entries of the stretch and not for the others. */
  readonly beyond: (stretch: Stretch, wanted: readonly SQL[]) => readonly SQL[]
}

/** A select of entries in the order of the list. */
type ReadEntries = (stretch: Stretch, columns: SQL, wanted: readonly SQL[], limit: SQL) => SQL

/** Entries that are passed for each that is looked up, because its deployment did not count as is wanted. */
const passedOfWalked = 40

export function entriesOf(query: EntriesQuery): Entries {
  const { past, order, state, rollouts, counted, unchanged, walked } = query
  const read: ReadEntries = (stretch, columns, wanted, limit) => sql`
    select ${columns} from ${entry}
    where ${all([
      sql`${entry.firstRevision} <= ${past.revision}::bigint`,
      ...(rollouts ? [isAnyOf(entry.rolloutKey, rollouts, 'bigint')] : []),
      ...wanted,
      ...stretch.bounds.map((bound) => isWithin(order, bound, state)),
      ...(unchanged ? [precedesLast(unchanged, order, stretch)] : []),
    ])} order by ${entry.firstRevision} ${isOldestFirst(order, stretch) ? sql`asc` : sql`desc`} limit ${limit}`
  const isOfDeployment = all([
    sql`${entry.deploymentKey} is not null and ${entry.resourceKey} is null`,
    ...(past.spanned ? [sql`${entry.deploymentKey} <> ${past.spanned.key}::bigint`] : []),
  ])
  return counted.length === 0
    ? allEntries(read, isOfDeployment, walked)
    : countedEntries(read, isOfDeployment, walked, all(counted.map(isCountedAs)))
}

export function isOldestFirst(order: RevisionOrder, stretch: Stretch): boolean {
  return (order === 'CHANGED_ASC') !== stretch.reversed
}

const revision = sql`${entry.firstRevision} as revision`

function allEntries(read: ReadEntries, isOfDeployment: SQL, walked: number): Entries {
  return {
    walked: (stretch) =>
      read(stretch, sql`${entry.deploymentKey} as key, ${revision}`, [isOfDeployment], sql`${walked}`),
    beyond: (stretch, wanted) => [read(stretch, revision, [isOfDeployment, ...wanted], sql`1 offset ${walked}`)],
  }
}

/** Of most entries only an index is read. Those that count are looked up. */
function countedEntries(read: ReadEntries, isOfDeployment: SQL, walked: number, mayCount: SQL): Entries {
  const passed = passedOfWalked * walked
  const pass = (stretch: Stretch, limit: SQL, wanted: readonly SQL[]): SQL =>
    read(stretch, sql`${revision}, ${entry.toState}, ${entry.toConvergence}`, wanted, limit)
  const find = (stretch: Stretch, limit: SQL, wanted: readonly SQL[]): SQL =>
    sql`select passed.revision from (${pass(stretch, sql`${passed}`, wanted)}) as passed where ${mayCount} limit ${limit}`
  return {
    walked: (
      stretch,
    ) => sql`select subject.key, found.revision from (${find(stretch, sql`${walked}`, [])}) as found cross join lateral (
          select ${entry.deploymentKey} as key from ${entry} where ${entry.firstRevision} = found.revision and ${isOfDeployment} offset 0) as subject`,
    beyond: (stretch, wanted) => [
      find(stretch, sql`1 offset ${walked}`, wanted),
      pass(stretch, sql`1 offset ${passed}`, wanted),
    ],
  }
}

function isCountedAs({ by, values }: CountedAs): SQL {
  return by === 'state'
    ? isAnyOf(sql`passed.to_state`, values, 'deployment_state')
    : isAnyOf(sql`passed.to_convergence`, values, 'convergence')
}

/** The entry may belong on the page before the last of the unchanged rows that fill it. */
function precedesLast(unchanged: Select, order: RevisionOrder, stretch: Stretch): SQL {
  const [direction, none, operator] = isOldestFirst(order, stretch)
    ? [sql`asc`, Number.MAX_SAFE_INTEGER, sql`<`]
    : [sql`desc`, 0, sql`>`]
  return sql`${entry.firstRevision} ${operator} coalesce((select ${d.revision} from (${unchanged(stretch)}) as ${d}
      order by ${d.revision} ${direction} limit 1 offset ${stretch.limit} - 1), ${none}::bigint)`
}

const statesInOrder: readonly (string | number)[] = deploymentStates

/** The row of the entry may be within a bound of the order. The row has the entry's last revision. */
function isWithin(
  order: RevisionOrder,
  { side, place }: Stretch['bounds'][number],
  state: DeploymentState | null,
): SQL {
  const isTowardsEnd = side === 'after' || side === 'from'
  if (state !== null && state !== place[0]) {
    const isLater = deploymentStates.indexOf(state) > statesInOrder.indexOf(place[0] ?? '')
    return isLater === ((order === 'STATE') === isTowardsEnd) ? sql`true` : nothing
  }
  const bound = sql`${place.at(-1)}::bigint`
  if (isTowardsEnd === (order !== 'CHANGED_ASC')) return sql`${entry.firstRevision} <= ${bound}`
  return sql`${entry.firstRevision} >= coalesce((select max(${entry.firstRevision}) from ${entry} where ${entry.firstRevision} <= ${bound}), 0)`
}
