/** The ways to read a page of deployments, one after the other, until one of them is not short (walk.ts). */
import { type SQL, sql } from 'drizzle-orm'
import type { Session } from '../../database.ts'
import { endedAt, placeOf, type Select, type Stretch, sorted, within } from '../../sql/page.ts'
import { all, either } from '../../sql/parameters.ts'
import { rowsOf } from '../counts/deployment-counts.ts'
import { fromUnwound, isListed } from '../deployment-scope.ts'
import { d, matchesDeployment } from '../filters/deployment-filter.ts'
import { readingOf } from '../filters/past-candidates.ts'
import type { Source, SourceLimits } from '../filters/source.ts'
import { type DeploymentOrder, isByName, isByState, orders } from '../orders/deployment-order.ts'
import type { Past } from '../past.ts'
import { deploymentColumns, fromPast, present } from '../past-rows.ts'
import { isWalkable, walkPast } from './past-walk.ts'
import { walkPresent } from './present-walk.ts'
import { type DeploymentList, type Walk, whole } from './walk.ts'

/** A way to read a page. */
interface Attempt {
  readonly walk: Walk
  readonly mayBeShort: boolean
  /** It reads the rows of the page in their order, so that without a filter one plan is good for all pages. */
  readonly isOrdered: boolean
}

export function inPresent(reader: Session, list: DeploymentList, source: Source): Attempt {
  return { walk: walkPresent(reader, list, null, source), mayBeShort: source.of === 'walk', isOrdered: true }
}

/** The last one reads all rows of that time that match, so it is never short. */
export async function inPast(
  reader: Session,
  list: DeploymentList,
  past: Past,
  source: Source,
  limits: SourceLimits,
): Promise<Attempt[]> {
  const { scope, filter, order } = list
  const then = await readingOf(reader, past, scope, filter, limits)
  const bound = (stretch: Stretch): SQL => sorted(orders[order], stretch)
  // Only the rows of the page are looked up as a whole.
  const ofKeys = (keys: SQL, stretch: Stretch): SQL =>
    sql`select ${deploymentColumns} ${fromPast(then, sql`${present.key} in (${keys})`)} ${bound(stretch)}`
  const everything: Attempt = {
    walk: whole((stretch) => {
      const bounds = all([sql`true`, ...within(orders[order], stretch)])
      const rows = sql`select ${d.key}, ${d.deploymentId}, ${d.state}, ${d.revision} ${rowsOf(reader, scope, filter, then, source)}`
      return ofKeys(sql`select ${d.key} from (${rows} offset 0) as ${d} where ${bounds} ${bound(stretch)}`, stretch)
    }),
    mayBeShort: false,
    isOrdered: false,
  }
  const isFew = then.candidates !== 'scan' || past.revisions <= limits.scanned
  if (!isFew && !isWalkable(list)) return [everything]
  const unchanged = walkPresent(reader, list, past.revision, source)
  const matches = all([matchesDeployment(filter), ...isListed(reader, scope, filter)])
  const ended: Select = (stretch) => {
    const found = fromUnwound(then, scope, filter, [matches, ...within(orders[order], stretch)])
    return then.candidates === 'scan'
      ? ofKeys(sql`select ${d.key} ${found} ${bound(stretch)}`, stretch)
      : sql`select ${deploymentColumns} ${found}`
  }
  const changed = isFew ? [whole(ended)] : walkPast(reader, list, past, limits.walked)
  const inOrder: Attempt = {
    walk: merged(order, isByName(order) && !isFew ? changed : [unchanged, ...changed]),
    mayBeShort: !isFew || source.of === 'walk',
    isOrdered: !isFew && !isByState(order),
  }
  return [inOrder, everything]
}

/** The rows of several walks, each in the order of the list. A page lacks a row if one of them stopped before the last row of the page. */
function merged(order: DeploymentOrder, walks: readonly Walk[]): Walk {
  const [only, ...others] = walks
  if (only && others.length === 0) return only
  const parts = (stretch: Stretch): SQL =>
    sql.join(
      walks.map((walk) => sql`(${walk.select(stretch)})`),
      sql` union all `,
    )
  return {
    select: (stretch) =>
      sql`select ${deploymentColumns} from (${parts(stretch)}) as ${d} ${sorted(orders[order], stretch)}`,
    isShort: (stretch, last) => {
      if (last === null) return either(walks.map((walk) => walk.isShort(stretch, null)))
      const upToLast = endedAt(stretch, placeOf(orders[order], last))
      const parts = walks.map((walk) => {
        const isFilled = sql`(select count(*) from (${walk.select(stretch)}) as found) >= ${stretch.limit}`
        return sql`(not ${isFilled} and ${walk.isShort(upToLast, null)})`
      })
      return either(parts)
    },
  }
}
