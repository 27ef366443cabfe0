/** The ranges of deployments that indexes find for the conditions of a filter. */
import { type SQL, sql } from 'drizzle-orm'
import { leavesOf, maxSelectorParts } from '../../../domain/selectors/selector.ts'
import type { Session } from '../../database.ts'
import { all, either, isAnyOf, isHashed } from '../../sql/parameters.ts'
import { deploymentNames, rollouts } from '../../tables/schema.ts'
import type { Scope } from '../deployment-scope.ts'
import type { GroupName } from '../groups/grouping.ts'
import {
  type DeploymentCondition,
  type DeploymentFilter,
  type DeploymentSelector,
  d,
  hasError,
  hasErrorCode,
  instancesNamed,
  matchesFound,
  onTarget,
} from './deployment-filter.ts'
import {
  byRevision,
  keyList,
  type Range,
  type Ranges,
  rowsAmong,
  rowsNamed,
  rowsOfKeys,
  rowsOnTargets,
  rowsWhere,
  rowsWithValue,
  type Served,
} from './range.ts'
import { searchRanges } from './search-ranges.ts'
import { type TargetCondition, targetsByIndex } from './target-filter.ts'

/**
 * Ranges that are counted for one filter: enough for a text in each part of a selector. More would be too many columns of one statement (PostgreSQL
 * allows 1,664), and their text would stall the event loop.
 */
const mostRanges = 4 * maxSelectorParts

/** Each element is enough: its ranges have all rows that match. So some may be left out. `within`: the filter as a whole. */
export function rangeChoices(
  filter: DeploymentFilter & DeploymentSelector,
  within: DeploymentFilter,
): readonly Ranges[] {
  const { where, ...selector } = filter
  const choices = [
    ...searchRanges(leavesOf<DeploymentCondition>(filter)),
    ...rangesOfSelector(selector, within),
    ...(filter.group ? rangesOfGroup(filter.group) : []),
    ...(where ? rangesOfSelector(where, within) : []),
  ]
  let room = mostRanges
  return choices.filter(({ length }) => {
    const fits = length <= room
    if (fits) room -= length
    return fits
  })
}

/** The rows that a scope or an access scope leaves. */
export function scopeRanges({ accessScope }: Session, scope: Scope): readonly Ranges[] {
  const labels = accessScope?.labels ? rangesOnTargets({ labels: accessScope.labels }) : []
  const ofProject = isAnyOf(rollouts.project, accessScope?.projects ?? [], 'text')
  return [
    ...(scope.of === 'rollout' ? [[ofRollouts(keyList(scope.keys, 'bigint'))]] : []),
    ...labels,
    ...(accessScope?.projects
      ? [[ofRollouts(sql`select ${rollouts.key} as key from ${rollouts} where ${ofProject}`)]]
      : []),
  ]
}

/** Of the groupings whose groups no condition implies (groups/group-conditions.ts). */
function rangesOfGroup({ by, value }: GroupName): readonly Ranges[] {
  if (by !== 'TARGET' || value === null || !/^\d{1,15}$/.test(value)) return []
  return [[rowsOfKeys(keyList([Number(value)], 'bigint'), sql`${d.targetKey} = place.key`)]]
}

const isOfReporter = sql`${deploymentNames.reporter} = place.key`

function rangesOf(leaf: DeploymentCondition, within: DeploymentFilter): readonly Ranges[] {
  const { keys, deploymentIds, reporters, rolloutKeys, instanceIds, states, derivedStates, convergence } = leaf
  const { readiness, errorCodes, consistent, hasError: isWrong, stalled } = leaf
  const choices: (Ranges | null | false | undefined)[] = [
    ...rangesOnTargets(leaf),
    keys && [rowsOfKeys(keyList(keys, 'bigint'), sql`${d.key} = place.key`)],
    deploymentIds && [rowsNamed(keyList(deploymentIds, 'text'), sql`${deploymentNames.deploymentId} = place.key`)],
    reporters && [
      rowsNamed(keyList(reporters, 'text'), all([isOfReporter, sql`not ${deploymentNames.isRemote}`])),
      rowsNamed(keyList(reporters, 'text'), all([isOfReporter, sql`${deploymentNames.isRemote}`])),
    ],
    rolloutKeys && [
      isHashed(rolloutKeys)
        ? ofManyRollouts(keyList(rolloutKeys, 'bigint'))
        : ofRollouts(keyList(rolloutKeys, 'bigint')),
    ],
    instanceIds && [
      rowsOfKeys(
        sql`select key from (${instancesNamed(instanceIds)}) as instance(key)`,
        sql`${d.instanceKey} = place.key`,
      ),
    ],
    once(states)?.map((state) => rowsWithValue(d.state, state)),
    once(derivedStates)?.flatMap((state) => [
      rowsAmong(rowsWithValue(d.state, state), sql`${d.derivedState} = ${d.state}`),
      rowsWithValue(d.derivedState, state, sql`${d.derivedState} <> ${d.state}`),
    ]),
    once(convergence)?.map((value) => rowsWithValue(d.convergence, value)),
    readiness &&
      !readiness.includes('UNKNOWN') &&
      once(readiness)?.map((value) => rowsWithValue(d.readiness, value, sql`${d.readiness} <> 'UNKNOWN'`)),
    errorCodes && [
      {
        // The index of codes has no hash: the one of all with an error does.
        ...rowsWhere(all([hasError, hasErrorCode(errorCodes)]), isHashed(errorCodes) ? byRevision : undefined),
        served: [{ field: 'errorCodes', value: errorCodes }],
      },
    ],
    isWrong && [{ ...rowsWhere(hasError, byRevision), served: [{ field: 'hasError', value: isWrong }] }],
    consistent === false && [rowsWhere(sql`not ${d.consistent}`, byRevision)],
    stalled && !within.instanceIds && [rowsWhere(sql`${d.stalled} and ${d.isCurrent}`, sql`order by ${d.rolloutKey}`)],
  ]
  return choices.filter((choice) => choice !== undefined && choice !== null && choice !== false)
}

/** Each value of an enum is a range. */
function once<Value>(values: readonly Value[] | undefined): readonly Value[] | undefined {
  return values && [...new Set(values)]
}

function rangesOfSelector({ and, or, not, ...leaf }: DeploymentSelector, within: DeploymentFilter): readonly Ranges[] {
  const ofParts = or?.map((part) => rangeChoices(part, within))
  // One choice of each part, the first: their union has all rows.
  const union = ofParts?.every((choices) => choices.length > 0) ? [ofParts.flatMap(([first]) => first ?? [])] : []
  return [...rangesOf(leaf, within), ...(and ?? []).flatMap((part) => rangesOfSelector(part, within)), ...union]
}

function rangesOnTargets(leaf: TargetCondition): readonly Ranges[] {
  return targetsByIndex(onTarget, leaf).map(({ keys, field, isExact }) => {
    const range = rowsOnTargets(keys)
    return [isExact ? { ...range, served: [{ field, value: leaf[field] }] } : range]
  })
}

/** Of few rollouts: the planner may take an index that fits the rest of the filter, too. */
function ofRollouts(keys: SQL): Range {
  return rowsOfKeys(keys, sql`${d.rolloutKey} = place.key`, byRevision)
}

function ofManyRollouts(keys: SQL): Range {
  // As rowsWithValue() does: the planner expects that each rollout has many rows, and would read those of the fleet in their order for each that has none.
  const place = sql`(${d.rolloutKey}, ${d.revision})`
  const isOfKey = sql`${place} > (place.key, 0) and ${place} < (place.key, ${Number.MAX_SAFE_INTEGER}::bigint)`
  return rowsOfKeys(keys, isOfKey, sql`order by ${d.rolloutKey}, ${d.revision}`)
}

/** A condition on a row `d` that says as much as some parts of the filter, and costs less. */
export interface Known {
  readonly served: readonly Served[]
  readonly condition: SQL
}

/**
 * The conditions of the filter for the rows of the ranges, without those that all these rows match: for a target they would cost a look-up of each row,
 * for an error code or a component a parse.
 */
export function matchesRest(filter: DeploymentFilter, ranges: Ranges, known: readonly Known[] = []): SQL {
  const [first, ...others] = ranges
  const served = (first?.served ?? []).filter((one) => others.every((other) => other.served?.some(isSame(one))))
  const useful = known.filter((one) => !one.served.some((part) => served.some(isSame(part))))
  const covered = [...served, ...useful.flatMap((one) => one.served)]
  const { where } = filter
  const rest = { ...without(filter, covered), ...(where && { where: withoutIn(where, covered) }) }
  const rechecks = served.flatMap(({ field, value, exceptWhere }) =>
    exceptWhere ? [either([sql`not (${exceptWhere})`, matchesFound({ [field]: value } as DeploymentFilter)])] : [],
  )
  return all([matchesFound(rest), ...rechecks, ...useful.map(({ condition }) => condition)])
}

/** Only where all rows must match: within `not`, the condition stays. */
function withoutIn(selector: DeploymentSelector, served: readonly Served[]): DeploymentSelector {
  const { and } = selector
  return { ...without(selector, served), ...(and && { and: and.map((part) => withoutIn(part, served)) }) }
}

function without<Leaf extends DeploymentCondition>(leaf: Leaf, served: readonly Served[]): Leaf {
  const fields = served.filter(({ field, value }) => leaf[field] === value).map(({ field }) => [field, undefined])
  return { ...leaf, ...Object.fromEntries(fields) }
}

const isSame =
  (one: Served) =>
  (other: Served): boolean =>
    one.field === other.field && one.value === other.value
