/**
 * The rows of a list in the past that have changed since, in the order of the log: an entry is the newest of its deployment up to the revision, or it
 * is passed over.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { DeploymentState } from '../../../domain/values.ts'
import { type Select, type Stretch, within } from '../../sql/page.ts'
import { all, either } from '../../sql/parameters.ts'
import { changeLog as entry, epochs, logHead } from '../../tables/schema.ts'
import type { CountedAs } from '../changes/stays.ts'
import { ownedBy } from '../deployment-scope.ts'
import { d } from '../filters/deployment-filter.ts'
import { orders, type RevisionOrder } from '../orders/deployment-order.ts'
import { deploymentColumns, fromPast, type Past, present } from '../past.ts'
import { entriesOf, isOldestFirst } from './past-entries.ts'
import type { DeploymentList, Walk } from './walk.ts'

/** A list of the past that is read in its order. */
export interface PastList extends DeploymentList {
  readonly past: Past
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

/** `state`: of a list by state, only the rows of this one. */
export function walkByChange(list: PastList, order: RevisionOrder, state: DeploymentState | null): Walk {
  const { past, scope, filter } = list
  const entries = entriesOf({
    ...list,
    order,
    state,
    rollouts: scope.of === 'rollout' ? scope.keys : filter.rolloutKeys,
  })
  const revision = sql`${past.revision}::bigint`
  const matches = [ownedBy(scope, d), ...list.matches]
  const bounded = (stretch: Stretch): SQL =>
    sql`${all([...matches, ...within(orders[order], stretch)])} limit ${stretch.limit}`
  const then = (which: SQL): SQL =>
    sql`select ${deploymentColumns} ${fromPast(past, which)} and ${present.revision} > ${revision} offset 0`
  // Lateral joins keep the order of the entries and read them lazily.
  const walkedRows: Select = (stretch) => sql`select ${deploymentColumns} from (${entries.walked(stretch)}) as place
    cross join lateral (select where not exists (
      select 1 from ${entry} where ${entry.deploymentKey} = place.key and ${entry.resourceKey} is null
        and ${entry.firstRevision} > place.revision and ${entry.firstRevision} <= ${revision} offset 0) offset 0) as newest
    cross join lateral (${then(sql`${present.key} = place.key`)}) as ${d}
    where ${bounded(stretch)}`
  // The entry that spans the revision may have moved its deployment to another rollout after it.
  const key = past.spanned?.key ?? null
  const spannedRow: Select = (stretch) =>
    sql`select ${deploymentColumns} from (${then(sql`${present.key} = ${key}::bigint`)}) as ${d} where ${bounded(stretch)}`
  return {
    select: (stretch) =>
      key === null ? walkedRows(stretch) : sql`(${walkedRows(stretch)}) union all (${spannedRow(stretch)})`,
    isShort: (stretch, last) => {
      const isOldest = isOldestFirst(order, stretch)
      const shown = sql`${last?.revision ?? null}::bigint`
      // Rows of entries beyond the walked ones precede the last row that is shown: only entries before that are read.
      const precedes = isOldest ? sql`${entry.firstRevision} < ${shown}` : sql`${entry.firstRevision} > ${shown}`
      const isCut = either(
        entries.beyond(stretch, last === null ? [] : [precedes]).map((some) => sql`exists (${some})`),
      )
      // Retention has removed entries of deployments that have changed since. Theirs would be the oldest rows.
      const mayPrecede = isOldest || last === null ? sql`true` : sql`${logHead.tail} >= ${shown}`
      const isTrimmed = sql`exists (select 1 from ${logHead} where ${logHead.tail} > (select min(${epochs.base}) from ${epochs}) and ${mayPrecede})`
      return sql`(${isCut} or ${isTrimmed})`
    },
  }
}
