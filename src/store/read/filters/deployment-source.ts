/**
 * Where a filtered list or count of deployments reads its rows, so that its work is bounded however large the fleet is:
 *
 *   candidates   an index finds the few rows that match one of the conditions; the others are checked for each
 *   walk         no condition has few rows: a list reads the rows in its order until the page is full, or gives up after `walked` rows
 *   index        the fleet is small, or the filter is one that an index gives in order
 *
 * Each condition is estimated by counting its entries in the index, up to a limit. The planner's estimates were rejected: they are wrong
 * where statistics are missing or values correlate, and then a list reads the fleet for seconds.
 *
 * The estimate and the rows are two statements of one snapshot (graphql/execution/loaders/reader.ts reads no other session). With a newer snapshot, a range that has
 * grown past its limit would lose rows.
 */
import { type SQL, sql } from 'drizzle-orm'
import { DomainError } from '../../../domain/errors.ts'
import { leavesOf } from '../../../domain/selectors/selector.ts'
import { deploymentStates } from '../../../domain/values.ts'
import { readHead } from '../../connection/log-head.ts'
import type { Session } from '../../database.ts'
import { presentFields } from '../../sql/conditions.ts'
import { all } from '../../sql/parameters.ts'
import { sumOfStates } from '../../sql/state-counters.ts'
import { logHead, rollouts } from '../../tables/schema.ts'
import { rangeOfTimes } from '../changes/time-range.ts'
import type { Scope } from '../deployment-scope.ts'
import { isByName } from '../orders/deployment-order.ts'
import type { DeploymentList } from '../walks/walk.ts'
import { surveyedSource, surveyForCount } from './count-survey.ts'
import { type DeploymentCondition, type DeploymentFilter, d } from './deployment-filter.ts'
import { matchesRest, rangeChoices, scopeRanges } from './index-ranges.ts'
import { byRevision, countUpTo, type Ranges, rowsIn, rowsWhere } from './range.ts'
import type { Source, SourceLimits } from './source.ts'

export async function sourceOfPage(session: Session, list: DeploymentList, limits: SourceLimits): Promise<Source> {
  const { scope, filter } = list
  if (isNarrowed(session, list)) return fewOrAll(session, scope, filter, limits)
  if (!isWorthwhile(session, scope, filter))
    return mayBeRare(session, list) ? fewOrAll(session, scope, filter, limits) : { of: 'index' }
  const { total, best, changed } = await estimate(session, scope, filter, limits.candidates, limits)
  if (total <= limits.small) return { of: 'index' }
  if (best) return best
  // A walk by state divides its limit between the states, and one state may have all deployments.
  const whole = deploymentStates.length * Math.max(limits.counted, limits.walked)
  return { of: 'walk', walked: total <= limits.counted ? whole : limits.walked, changed }
}

/** Null: more rows may match than a count reads. `isProbable`: the source may turn out to have too many rows. */
export async function sourceOfCount(
  session: Session,
  scope: Scope,
  filter: DeploymentFilter,
  limits: SourceLimits,
  isProbable: boolean,
): Promise<Source | null> {
  if (!isWorthwhile(session, scope, filter)) return { of: 'index' }
  const choices = await allChoices(session, scope, filter)
  const survey = await surveyForCount(session, totalOf(scope), choices.ranges, limits)
  const { total } = survey
  if (total <= limits.small) return { of: 'index' }
  const best = survey.choices.find(({ n }) => n <= limits.candidates)
  if (best && (isProbable || best.isExact)) return surveyedSource(filter, best, survey, limits)
  if (total <= limits.counted) return { of: 'index' }
  // To count the entries of the others up to their limit would cost as much as they could save.
  const likely = survey.choices.find(({ n, isExact }) => !isExact && n <= limits.counted / 2)
  if (likely && isProbable) return surveyedSource(filter, likely, survey, limits)
  return (await estimate(session, scope, filter, limits.counted, limits)).best
}

/** Groups read their rows whatever their number: pages show those of whole fleets. A filter that few rows match reads only those. */
export async function sourceOfGroups(
  session: Session,
  scope: Scope,
  filter: DeploymentFilter,
  limits: SourceLimits,
): Promise<Source> {
  return isWorthwhile(session, scope, filter) ? fewOrAll(session, scope, filter, limits) : { of: 'index' }
}

async function fewOrAll(
  session: Session,
  scope: Scope,
  filter: DeploymentFilter,
  limits: SourceLimits,
): Promise<Source> {
  const { total, best } = await estimate(session, scope, filter, limits.candidates, limits)
  return total > limits.small && best ? best : { of: 'index' }
}

/** What a count throws that would read more deployments. */
export function tooManyToCount(counted: number): DomainError {
  return new DomainError(
    'BAD_USER_INPUT',
    `this filter may match more than ${counted} deployments, too many to count: add conditions on devices, labels, rollouts, states or errors`,
  )
}

/** What a list throws that gave up. */
export function tooRare(walked: number): DomainError {
  return new DomainError(
    'BAD_USER_INPUT',
    `this filter matches so rarely that more than ${walked} deployments would have to be read: add conditions on devices, labels, rollouts, states or errors`,
  )
}

interface Estimate {
  /** All deployments of the scope. */
  readonly total: number
  /** Of the conditions that have at most `most` rows, the one with the fewest. */
  readonly best: Extract<Source, { of: 'candidates' }> | null
  readonly changed: readonly SQL[]
}

async function estimate(
  session: Session,
  scope: Scope,
  filter: DeploymentFilter,
  most: number,
  { small }: SourceLimits,
): Promise<Estimate> {
  const { ranges: choices, changed } = await allChoices(session, scope, filter)
  const total = sql`coalesce(${totalOf(scope)}, 0)`
  const counts = choices.map(
    (ranges, index) =>
      sql`case when total.n > ${small} then ${countUpTo(ranges, most + 1)} end as ${sql.raw(`n${index}`)}`,
  )
  const [row] = await session.rows<Readonly<Record<string, number | null>>>(
    sql`select ${sql.join([sql`total.n`, ...counts], sql`, `)} from (select ${total} as n) as total`,
  )
  const found = choices
    .map((ranges, index) => ({ ranges, n: row?.[`n${index}`] ?? most + 1 }))
    .filter(({ n }) => n <= most)
    .sort((a, b) => a.n - b.n)
  const [best] = found
  return {
    total: row?.n ?? 0,
    best: best
      ? { of: 'candidates', rows: rowsIn(best.ranges, most), matches: matchesRest(filter, best.ranges) }
      : null,
    changed,
  }
}

async function allChoices(session: Session, scope: Scope, filter: DeploymentFilter) {
  const changed = await changedRevisions(session, filter)
  const ofTime: readonly Ranges[] = changed.length > 0 ? [[rowsWhere(all(changed), byRevision)]] : []
  return { ranges: [...rangeChoices(filter, filter), ...scopeRanges(session, scope), ...ofTime], changed }
}

/** Whether the filter names rows, or devices, which have few each. */
export function namesFew({ keys, deviceIds }: DeploymentFilter): boolean {
  return keys !== undefined || deviceIds !== undefined
}

function isWorthwhile({ accessScope }: Session, scope: Scope, filter: DeploymentFilter): boolean {
  const fields = presentFields(filter)
  if (filter.retired || scope.of === 'target' || scope.of === 'instance') return false
  if (scope.of === 'rollout' && scope.keys.length !== 1) return false
  if (fields.length === 0 || namesFew(filter)) return false
  return accessScope !== undefined || !(fields.length === 1 && (filter.states || filter.rolloutKeys?.length === 1))
}

/** A list of one rollout without a filter, whose rows the labels of an access scope restrict. To find few by their name or state would read all of them. */
function isNarrowed({ accessScope }: Session, { scope, filter, order }: DeploymentList): boolean {
  const isOfOne = scope.of === 'rollout' && scope.keys.length === 1
  const isInOrder = order === 'CHANGED_ASC' || order === 'CHANGED_DESC'
  return isOfOne && !isInOrder && Boolean(accessScope?.labels) && presentFields(filter).length === 0
}

/** In the order of names, few rows of a state or of a tenant would be far between. */
function mayBeRare({ accessScope }: Session, { scope, filter, order }: DeploymentList): boolean {
  if (scope.of !== 'fleet' || !isByName(order) || filter.retired || namesFew(filter)) return false
  return filter.states !== undefined || accessScope !== undefined
}

function totalOf(scope: Scope): SQL {
  const all = (row: string): SQL => sql.raw(sumOfStates(row))
  if (scope.of !== 'rollout') return sql`(select ${all('log_head')} from ${logHead})`
  return sql`(select ${all('rollouts')} from ${rollouts} where ${rollouts.key} = ${scope.keys[0] ?? 0}::bigint)`
}

/**
 * Conditions on the revision that follow from the filter's times: a deployment changed when its newest entry in the log was written. Retention
 * has removed such entries up to the tail of the log.
 */
async function changedRevisions(session: Session, filter: DeploymentFilter): Promise<SQL[]> {
  const parts = leavesOf<DeploymentCondition>(filter)
  const since = Math.max(...parts.map(({ changedAfter }) => changedAfter ?? Number.NEGATIVE_INFINITY))
  const before = Math.min(...parts.map(({ changedBefore }) => changedBefore ?? Number.POSITIVE_INFINITY))
  if (!Number.isFinite(since) && !Number.isFinite(before)) return []
  const { tail, tailAt } = await readHead(session)
  const times = { ...(since > tailAt && { since }), ...(Number.isFinite(before) && { before }) }
  const { from, to } = await rangeOfTimes(session, times)
  return [
    ...(from === null ? [] : [sql`${d.revision} >= ${from}::bigint`]),
    ...(to === null ? [] : [sql`${d.revision} <= ${Math.max(to, tail)}::bigint`]),
  ]
}
