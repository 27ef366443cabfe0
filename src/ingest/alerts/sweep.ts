/**
 * New rules look at all rollouts that there are, in steps. Rules of one selector that have come equally far take each step together: the rollouts
 * are read once for all of them, and each is compared with the rules that it concerns. One rule after the other took minutes for hundreds of rules.
 */
import { isForecastMetric } from '../../domain/alerts/ending.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import { readStandings, rulesByScope } from '../../store/alerts/checks.ts'
import { measureFiltered, measureScopes, nextRollouts, nothingMeasured } from '../../store/alerts/measures.ts'
import type { Session } from '../../store/database.ts'
import type { DeploymentFilter } from '../../store/read/filters/deployment-filter.ts'
import { owedForecasts } from './forecasts.ts'
import { isCountedRule, wantedBy } from './known-rules.ts'
import { countResults, type DueCheck, judge, noResults, type Results } from './results.ts'
import { createRuleIndex } from './rule-index.ts'

/** Rollouts of a step. A step with `manyResults` ends earlier: its results are one statement. */
const [fewRollouts, manyResults] = [500, 10_000]

/** Rules of one selector that are measured in the same way, and have looked at the rollouts up to `sweptTo`. */
interface Sweep {
  readonly checks: readonly [DueCheck, ...DueCheck[]]
  readonly sweptTo: number
  readonly kind: 'counted' | 'forecast' | 'filtered'
  readonly filter: DeploymentFilter
}

export function groupSweeps(due: readonly DueCheck[]): readonly Sweep[] {
  const sweeps = due.flatMap((check) => {
    const { sweptTo, rule } = check
    return sweptTo === null ? [] : [{ check, sweptTo, kind: kindOf(check), filter: rule.selector.filter }]
  })
  const alike = Map.groupBy(sweeps, ({ sweptTo, kind, filter }) => JSON.stringify([sweptTo, kind, filter]))
  return [...alike.values()].flatMap(([first, ...others]) => {
    if (!first) return []
    const { sweptTo, kind, filter, check } = first
    return [{ sweptTo, kind, filter: filter as DeploymentFilter, checks: [check, ...others.map(({ check }) => check)] }]
  })
}

function kindOf({ rule }: DueCheck): Sweep['kind'] {
  if (isForecastMetric(rule.rule.metric)) return 'forecast'
  return isCountedRule(rule) ? 'counted' : 'filtered'
}

/** One step, and where the rules are after it. */
export async function evaluateSweep(
  session: Session,
  sweep: Sweep,
  now: Millis,
): Promise<{ readonly results: Results; readonly revision: Revision }> {
  const { sweptTo, filter, checks } = sweep
  const results = noResults()
  const keys = await nextRollouts(session, sweptTo, filter.rolloutKeys, fewRollouts)
  const { reached, revision } = keys.length === 0 ? nothingReached : await compare(session, sweep, keys, results, now)
  const isDone = keys.length < fewRollouts && (keys.at(-1) ?? reached) === reached
  for (const { ruleKey, rolloutKey, rule } of checks)
    if (isDone) results.dropped.push({ ruleKey, rolloutKey })
    else
      results.kept.push({
        ...{ ruleKey, rolloutKey, version: rule.version },
        ...{ dueAt: now, breachedSince: null, sweptTo: reached },
      })
  return { results, revision }
}

const nothingReached = { reached: 0, revision: 0 }

/** `reached`: the last rollout that was compared. */
async function compare(
  session: Session,
  { kind, filter, checks }: Sweep,
  keys: readonly number[],
  results: Results,
  now: Millis,
): Promise<{ readonly reached: number; readonly revision: Revision }> {
  const rules = checks.map(({ rule }) => rule)
  const standings = await readStandings(session, keys)
  const measured =
    kind === 'filtered'
      ? await measureFiltered(session, filter, keys)
      : await measureScopes(session, keys, wantedBy(kind === 'counted' ? rules : []))
  const standing = rulesByScope(standings)
  const index = createRuleIndex(rules)
  let reached = 0
  for (const key of keys) {
    const measure = measured.measures.get(key) ?? nothingMeasured
    if (kind === 'forecast') results.owed.push(...owedForecasts(rules, key, measure, standings, now))
    else
      for (const rule of index.concerned(measure, standing.get(key) ?? [], now))
        judge(results, rule, key, standings, measured, now)
    reached = key
    if (countResults(results) >= manyResults) break
  }
  return { reached, revision: measured.revision }
}
