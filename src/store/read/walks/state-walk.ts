/** The fleet's rows of some states, from the index (state, revision) of the present or of the past. */

import { type SQL, sql } from 'drizzle-orm'
import { type DeploymentState, deploymentStates, type Revision } from '../../../domain/values.ts'
import { type Stretch, sorted } from '../../sql/page.ts'
import { all, listParameter, nothing } from '../../sql/parameters.ts'
import { deployments } from '../../tables/schema.ts'
import { d } from '../filters/deployment-filter.ts'
import { isByState, orders, type RevisionOrder } from '../orders/deployment-order.ts'
import { deploymentColumns } from '../past-rows.ts'
import type { Walk } from './walk.ts'

/** `from`: rows `d`. `columns`: those of the list. */
interface StateTable {
  readonly from: SQL
  readonly columns: SQL
}

const presentRows: StateTable = {
  from: sql`${deployments} ${d}`,
  columns: deploymentColumns,
}

interface StateWalk {
  /** Absent: the present rows. */
  readonly table?: StateTable
  readonly order: RevisionOrder
  readonly states: readonly DeploymentState[]
  /** Only the rows up to this revision. Null: all. */
  readonly newest: Revision | null
  /** The conditions of each range. */
  readonly within: readonly SQL[]
  /** The other conditions. */
  readonly matches: readonly SQL[]
  /** The number of rows that the ranges read together to find those that match. Null: any. */
  readonly walked: number | null
}

/**
 * One range of the index (state, revision) per state, of which a page reads the first rows. The row comparisons force the planner to use this
 * index: it cannot know that few deployments are FAILED.
 *
 * In the orders of states, the ranges follow each other, and the next is read only if the page is not full: PostgreSQL reads a lateral join lazily, in the
 * order of its outer side.
 */
export function walkByState({ table = presentRows, order, states, newest, within, matches, walked }: StateWalk): Walk {
  const { columns } = table
  const inTurn = isByState(order)
  const eachWalked = walked === null || inTurn ? walked : Math.ceil(walked / Math.max(new Set(states).size, 1))
  const runs = (stretch: Stretch, rows: (inRun: SQL, sorted: SQL) => SQL): SQL => {
    const place = sql`(${d.state}, ${d.revision})`
    const limits = stretch.bounds.map((bound) => limitInRun(order, bound))
    // One lower and one upper bound: an index scan uses only the first of each.
    const bound = limits.find(({ isLower }) => !isLower)?.revision ?? anyRevision
    const upper = newest === null ? bound : sql`least(${bound}, ${newest + 1}::bigint)`
    const inRun = [
      sql`${place} > (run.state, ${limits.find(({ isLower }) => isLower)?.revision ?? noRevision})`,
      sql`${place} < (run.state, ${upper})`,
    ]
    const newestFirst = (order === 'CHANGED_ASC') === stretch.reversed
    const direction = newestFirst ? sql`desc` : sql`asc`
    const wanted = deploymentStates.filter((state) => states.includes(state))
    const isLastFirst = stretch.reversed !== (order === 'STATE_DESC')
    const listed = listParameter(isLastFirst ? wanted.toReversed() : wanted, 'deployment_state')
    return sql`from unnest(${listed}) as run(state) cross join lateral (${rows(
      all([...inRun, ...within]),
      sql`order by ${d.state} ${direction}, ${d.revision} ${direction}`,
    )}) as ${d}`
  }
  // As a lateral join, which keeps the order of the rows. A join of `where … in` may begin with another table.
  const matching = sql`cross join lateral (select where ${all(matches)} offset 0) as fits`
  const rowsIn = (inRun: SQL, inOrder: SQL, conditions: readonly SQL[], limit: SQL): SQL =>
    sql`select ${columns} from ${table.from} where ${all([inRun, ...conditions])} ${inOrder} limit ${limit}`
  const found = (inRun: SQL, inOrder: SQL, limit: SQL): SQL =>
    eachWalked === null
      ? rowsIn(inRun, inOrder, matches, limit)
      : sql`select ${columns} from (${rowsIn(inRun, inOrder, [], lazily(eachWalked))}) as ${d} ${matching} limit ${limit}`
  const inSequence = (stretch: Stretch, limit: SQL): SQL =>
    runs(stretch, (inRun, inOrder) => rowsIn(inRun, inOrder, [], limit))
  return {
    select: (stretch) => {
      const { limit } = stretch
      if (!inTurn || walked === null) {
        const rows = runs(stretch, (inRun, inOrder) => found(inRun, inOrder, limit))
        return sql`select ${columns} from (select ${columns} ${rows} ${inTurn ? sql`limit ${limit}` : sql``}) as ${d} ${sorted(orders[order], stretch)}`
      }
      const rows = sql`select ${columns} ${inSequence(stretch, lazily(walked))} limit ${walked}`
      return sql`select ${columns} from (select ${columns} from (${rows}) as ${d} ${matching} limit ${limit}) as ${d} ${sorted(orders[order], stretch)}`
    },
    isShort: (stretch, last) => {
      if (walked === null || (inTurn && last)) return nothing
      if (inTurn) return sql`exists (select 1 ${inSequence(stretch, sql`${walked + 1}`)} offset ${walked})`
      const isShort = (inRun: SQL, inOrder: SQL): SQL => {
        // Rows of later states may fill a page that lacks rows of an earlier one.
        const isRunFull = sql`(select count(*) from (${found(inRun, inOrder, stretch.limit)}) as found) >= ${stretch.limit}`
        return sql`select 1 where ${last ? sql`not ${isRunFull}` : sql`true`}
          and exists (select 1 from ${table.from} where ${inRun} ${inOrder} limit 1 offset ${eachWalked ?? 0})`
      }
      return sql`exists (select 1 ${runs(stretch, isShort)})`
    },
  }
}

/** A limit that the planner does not know. If it knew a large one, it would sort all rows of the range first, of which a page may need few. */
const lazily = (limit: number): SQL => sql`(select ${limit}::bigint)`

/** The part of one state's range within a bound of the order: revisions above or below one. In the orders of states also all or none. */
function limitInRun(
  order: RevisionOrder,
  { side, place }: Stretch['bounds'][number],
): { isLower: boolean; revision: SQL } {
  const isTowardsEnd = side === 'after' || side === 'from'
  const isLower = isTowardsEnd === (order === 'CHANGED_ASC')
  const inclusive = side === 'from' || side === 'upTo' ? sql` ${isLower ? sql`-` : sql`+`} 1` : sql``
  if (!isByState(order)) return { isLower, revision: sql`${place[0]}::bigint${inclusive}` }
  const [state, revision] = [sql`${place[0]}::deployment_state`, sql`${place[1]}::bigint${inclusive}`]
  const others = isLower === (order === 'STATE') ? sql`<` : sql`>`
  const [all, none] = isLower ? [noRevision, anyRevision] : [anyRevision, noRevision]
  return {
    isLower,
    revision: sql`case when run.state ${others} ${state} then ${all} when run.state = ${state} then ${revision} else ${none} end`,
  }
}

/** Lower and higher than every revision. */
const noRevision = sql`0::bigint`
const anyRevision = sql`${Number.MAX_SAFE_INTEGER}::bigint`
