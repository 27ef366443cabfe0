/** The ways to read a page of deployments, one after the other, until one of them is not short (walk.ts). */
import { type SQL, sql } from 'drizzle-orm'
import type { DomainError } from '../../../domain/errors.ts'
import type { Session } from '../../database.ts'
import { type Select, type Stretch, sorted, within } from '../../sql/page.ts'
import { all, either, nothing } from '../../sql/parameters.ts'
import { fromUnwound, isListed, isListedInOrder } from '../deployment-scope.ts'
import { countChangedSince } from '../filters/changed-since.ts'
import { d, matchesDeployment, matchesFound } from '../filters/deployment-filter.ts'
import { tooMuchChanged, tooRare } from '../filters/deployment-source.ts'
import { countedAs, runsOf } from '../filters/past-candidates.ts'
import type { Source, SourceLimits } from '../filters/source.ts'
import { type DeploymentOrder, isByName, isByState, orders } from '../orders/deployment-order.ts'
import { deploymentColumns, fromPast, type Past, present } from '../past.ts'
import { isWalkable, walkPast } from './past-walk.ts'
import { walkPresent } from './present-walk.ts'
import type { DeploymentList, Walk } from './walk.ts'

/** A way to read a page. `error`: what to throw if it is short and there is no other way. Null: it is never short. */
interface Attempt {
  readonly walk: Walk
  readonly error: DomainError | null
  /** It reads the rows of the page in their order, so that without a filter one plan is good for all pages. */
  readonly isOrdered: boolean
}

function errorOf(source: Source): DomainError | null {
  return source.of === 'walk' ? tooRare(source.walked) : null
}

export function inPresent(reader: Session, list: DeploymentList, source: Source): Attempt {
  return { walk: walkPresent(reader, list, null, source), error: errorOf(source), isOrdered: true }
}

/** None: too many have changed since. A walk that is short is repeated by unwinding, if those are not too many. */
export async function inPast(
  reader: Session,
  list: DeploymentList,
  past: Past,
  source: Source,
  limits: SourceLimits,
): Promise<Attempt[]> {
  const { scope, filter, order } = list
  // Both halves are limited to a page, so that unchanged rows still come from an index.
  const unchanged = walkPresent(reader, list, past.revision, source)
  const listed = isListed(reader, scope, filter)
  const matches = all([matchesDeployment(filter), ...listed])
  const unwinding = (then: Past): Attempt => {
    const found = (stretch: Stretch): SQL =>
      fromUnwound(then, scope, filter, [matches, ...within(orders[order], stretch)])
    // Of a scan, only the rows of the page are looked up as a whole.
    const select: Select = (stretch) =>
      then.candidates === 'scan'
        ? sql`select ${deploymentColumns} ${fromPast(then, sql`${present.key} in (select ${d.key} ${found(stretch)} ${sorted(orders[order], stretch)})`)}`
        : sql`select ${deploymentColumns} ${found(stretch)}`
    return {
      walk: both(order, unchanged, { select, isShort: () => nothing }),
      error: errorOf(source),
      isOrdered: false,
    }
  }
  if (past.candidates !== 'all') return [unwinding(past)]
  const changed = await countChangedSince(reader, past, scope, filter, Math.max(limits.counted, limits.candidates) + 1)
  if (changed <= limits.candidates) return [unwinding(past)]
  if (past.revisions <= limits.scanned) return [unwinding({ ...past, candidates: 'scan' })]
  const rest = changed <= limits.counted ? [unwinding(past)] : []
  if (!isWalkable(list)) return rest
  const walk = walkPast({
    ...list,
    past,
    matches: [matchesFound(filter), ...isListedInOrder(reader, scope, filter)],
    counted: countedAs(scope, filter),
    runs: isByState(order) ? await runsOf(reader, past, scope, filter, limits) : [],
    unchanged: unchanged.select,
    walked: Math.ceil(limits.walked / 4),
  })
  const error = tooMuchChanged(limits.counted)
  return [{ walk: isByName(order) ? walk : both(order, unchanged, walk), error, isOrdered: !isByState(order) }, ...rest]
}

/** `changed`: a walk whose rows are all in the order of the list, so that the last row of a page says whether it is short. */
function both(order: DeploymentOrder, unchanged: Walk, changed: Walk): Walk {
  const select: Select = (
    stretch,
  ) => sql`select ${deploymentColumns} from ((${unchanged.select(stretch)}) union all (${changed.select(stretch)})) as ${d}
      ${sorted(orders[order], stretch)}`
  // Changed rows may fill a page that lacks unchanged ones.
  const isShort: Walk['isShort'] = (stretch, last) => {
    if (last === null) return either([unchanged.isShort(stretch, null), changed.isShort(stretch, null)])
    const isFilled = sql`(select count(*) from (${unchanged.select(stretch)}) as found) >= ${stretch.limit}`
    const isCut = sql`(${unchanged.isShort(stretch, last)} or (not ${isFilled} and ${unchanged.isShort(stretch, null)}))`
    return either([isCut, changed.isShort(stretch, last)])
  }
  return { select, isShort }
}
