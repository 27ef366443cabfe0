/**
 * The rows of a list in the past that have changed since, in the order of the log: an entry is the newest of its deployment up to the revision, or it
 * is passed over.
 */
import { type SQL, sql } from 'drizzle-orm'
import { type DeploymentState, deploymentStates } from '../../../domain/values.ts'
import { type Select, type Stretch, within } from '../../sql/page.ts'
import { all, either, isAnyOf, nothing } from '../../sql/parameters.ts'
import { changeLog as entry, epochs, logHead } from '../../tables/schema.ts'
import type { CountedAs } from '../changes/stays.ts'
import { type DeploymentFilter, d } from '../deployment-filter.ts'
import { ownedBy, type Scope } from '../deployment-scope.ts'
import { type DeploymentOrder, orders, type RevisionOrder } from '../orders/deployment-order.ts'
import { fromPast, type Past, present } from '../past.ts'
import type { Walk } from './walk.ts'

/** A list of the past that is read in its order. */
export interface PastList {
  readonly past: Past
  readonly scope: Scope
  readonly filter: DeploymentFilter
  readonly order: DeploymentOrder
  /** The conditions of the list on a row at that time. */
  readonly matches: readonly SQL[]
  /** What all rows of the list counted as, as the log has it of each entry that it counted. */
  readonly counted: readonly CountedAs[]
  /** Of a list by state: its states. */
  readonly runs: readonly Run[]
  /** Its rows that have not changed since. Where these fill the page, the walk ends. Null: they are of many states. */
  readonly unchanged: Select | null
  /** Entries or names that are looked up. */
  readonly walked: number
}

/** The rows of one state. */
export interface Run {
  readonly state: DeploymentState
  /** A select of the keys of deployments that had it and have changed since. Null: they are many, so the log is walked. */
  readonly keys: SQL | null
}

/** Entries that are passed for each that is looked up, because its deployment did not count as is wanted. An index has that. */
const passedOfWalked = 40

/** `state`: of a list by state, only the rows of this one. */
export function walkByChange(
  { past, scope, filter, matches: conditions, counted, unchanged, walked }: PastList,
  order: RevisionOrder,
  state: DeploymentState | null,
): Walk {
  const matches = [ownedBy(scope, d), ...conditions]
  const rollouts = scope.of === 'rollout' ? scope.keys : filter.rolloutKeys
  const revision = sql`${past.revision}::bigint`
  const isOldestFirst = (stretch: Stretch): boolean => (order === 'CHANGED_ASC') !== stretch.reversed
  const precedesLast = (unchangedRows: Select, stretch: Stretch): SQL => {
    const [direction, none, operator] = isOldestFirst(stretch)
      ? [sql`asc`, Number.MAX_SAFE_INTEGER, sql`<`]
      : [sql`desc`, 0, sql`>`]
    return sql`${entry.firstRevision} ${operator} coalesce((select ${d.revision} from (${unchangedRows(stretch)}) as ${d}
      order by ${d.revision} ${direction} limit 1 offset ${stretch.limit} - 1), ${none}::bigint)`
  }
  const inOrder = (stretch: Stretch, columns: SQL, wanted: readonly SQL[], limit: SQL): SQL => sql`
    select ${columns} from ${entry}
    where ${all([
      sql`${entry.firstRevision} <= ${revision}`,
      ...(rollouts ? [isAnyOf(entry.rolloutKey, rollouts, 'bigint')] : []),
      ...wanted,
      ...stretch.bounds.map((bound) => limitOf(order, bound, state)),
      ...(unchanged ? [precedesLast(unchanged, stretch)] : []),
    ])} order by ${entry.firstRevision} ${isOldestFirst(stretch) ? sql`asc` : sql`desc`} limit ${limit}`
  const isOfDeployment = all([
    sql`${entry.deploymentKey} is not null and ${entry.resourceKey} is null`,
    ...(past.spanned ? [sql`${entry.deploymentKey} <> ${past.spanned.key}::bigint`] : []),
  ])
  const revisions = sql`${entry.firstRevision} as revision`
  const passed = (stretch: Stretch, limit: SQL, wanted: readonly SQL[]): SQL =>
    inOrder(stretch, sql`${revisions}, ${entry.toState}, ${entry.toConvergence}`, wanted, limit)
  const mayCount = all(counted.map(isCountedAs))
  const found = (stretch: Stretch, limit: SQL, wanted: readonly SQL[] = []): SQL =>
    sql`select passed.revision from (${passed(stretch, sql`${passedOfWalked * walked}`, wanted)}) as passed where ${mayCount} limit ${limit}`
  // Entries of which only an index is read, and then the few of them that count.
  const entries = (stretch: Stretch): SQL =>
    counted.length === 0
      ? inOrder(stretch, sql`${entry.deploymentKey} as key, ${revisions}`, [isOfDeployment], sql`${walked}`)
      : sql`select subject.key, found.revision from (${found(stretch, sql`${walked}`)}) as found cross join lateral (
          select ${entry.deploymentKey} as key from ${entry} where ${entry.firstRevision} = found.revision and ${isOfDeployment} offset 0) as subject`
  /** Entries beyond the walked ones. `wanted`: conditions that hold for the first of the stretch and not for the others. */
  const beyond = (stretch: Stretch, wanted: readonly SQL[]): SQL[] =>
    counted.length === 0
      ? [inOrder(stretch, revisions, [isOfDeployment, ...wanted], sql`1 offset ${walked}`)]
      : [
          found(stretch, sql`1 offset ${walked}`, wanted),
          passed(stretch, sql`1 offset ${passedOfWalked * walked}`, wanted),
        ]
  const bounded = (stretch: Stretch): SQL =>
    sql`${all([...matches, ...within(orders[order], stretch)])} limit ${stretch.limit}`
  const then = (which: SQL): SQL =>
    sql`select ${d}.* ${fromPast(past, which)} and ${present.revision} > ${revision} offset 0`
  // Lateral joins keep the order of the entries and read them lazily.
  const walkedRows: Select = (stretch) => sql`select ${d}.* from (${entries(stretch)}) as place
    cross join lateral (select where not exists (
      select 1 from ${entry} where ${entry.deploymentKey} = place.key and ${entry.resourceKey} is null
        and ${entry.firstRevision} > place.revision and ${entry.firstRevision} <= ${revision} offset 0) offset 0) as newest
    cross join lateral (${then(sql`${present.key} = place.key`)}) as ${d}
    where ${bounded(stretch)}`
  // The entry that spans the revision may have moved its deployment to another rollout after it.
  const key = past.spanned?.key ?? null
  const spannedRow: Select = (stretch) =>
    sql`select ${d}.* from (${then(sql`${present.key} = ${key}::bigint`)}) as ${d} where ${bounded(stretch)}`
  const select: Select = (stretch) =>
    key === null ? walkedRows(stretch) : sql`(${walkedRows(stretch)}) union all (${spannedRow(stretch)})`
  return {
    select,
    isShort: (stretch, last) => {
      const isOldest = isOldestFirst(stretch)
      const shown = sql`${last?.revision ?? null}::bigint`
      // Rows of entries beyond the walked ones precede the last row that is shown: only entries before that are read.
      const precedes = isOldest ? sql`${entry.firstRevision} < ${shown}` : sql`${entry.firstRevision} > ${shown}`
      const isCut = either(beyond(stretch, last === null ? [] : [precedes]).map((some) => sql`exists (${some})`))
      // Retention has removed entries of deployments that have changed since. Theirs would be the oldest rows.
      const mayPrecede = isOldest || last === null ? sql`true` : sql`${logHead.tail} >= ${shown}`
      const isTrimmed = sql`exists (select 1 from ${logHead} where ${logHead.tail} > (select min(${epochs.base}) from ${epochs}) and ${mayPrecede})`
      return sql`(${isCut} or ${isTrimmed})`
    },
  }
}

/** Null: the deployment did not count, or a server of an earlier version wrote the entry. */
function isCountedAs({ by, values }: CountedAs): SQL {
  return by === 'state'
    ? sql`(passed.to_state is null or ${isAnyOf(sql`passed.to_state`, values, 'deployment_state')})`
    : sql`(passed.to_convergence is null or ${isAnyOf(sql`passed.to_convergence`, values, 'convergence')})`
}

const statesInOrder: readonly (string | number)[] = deploymentStates

/** The entries whose rows may be within a bound of the order. The row of an entry has its last revision. */
function limitOf(order: RevisionOrder, { side, place }: Stretch['bounds'][number], state: DeploymentState | null): SQL {
  const isTowardsEnd = side === 'after' || side === 'from'
  if (state !== null && state !== place[0]) {
    const isLater = deploymentStates.indexOf(state) > statesInOrder.indexOf(place[0] ?? '')
    return isLater === ((order === 'STATE') === isTowardsEnd) ? sql`true` : nothing
  }
  const bound = sql`${place.at(-1)}::bigint`
  if (isTowardsEnd === (order !== 'CHANGED_ASC')) return sql`${entry.firstRevision} <= ${bound}`
  return sql`${entry.firstRevision} >= coalesce((select max(${entry.firstRevision}) from ${entry} where ${entry.firstRevision} <= ${bound}), 0)`
}
