/** How checks that are due are evaluated: in which portions and order, and from which values (evaluation.ts). */
import { isForecastMetric } from '../../domain/alerts/ending.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import { readStandings } from '../../store/alerts/checks.ts'
import { type Measured, measureFiltered, measureScopes } from '../../store/alerts/measures.ts'
import type { Database } from '../../store/database.ts'
import type { DeploymentFilter } from '../../store/read/filters/deployment-filter.ts'
import { measureForecast } from './forecasts.ts'
import { isCountedRule, wantedBy } from './known-rules.ts'
import { type DueCheck, judge, noResults, type Results } from './results.ts'
import { evaluateSweep, groupSweeps } from './sweep.ts'

/** Scopes that are evaluated without a pause. */
export const scopesAtOnce = 500

export interface Evaluation {
  /** Whether it may read many deployments. */
  readonly isDear: boolean
  evaluate(): Promise<{ readonly results: Results; readonly revision: Revision }>
}

/** The evaluations of due checks. Those that stored counters answer come first: they cost little, so only the turn limits them. */
export function evaluationsOf(
  database: Pick<Database, 'session' | 'kind'>,
  due: readonly DueCheck[],
  now: Millis,
): readonly Evaluation[] {
  const single = due.filter(({ sweptTo }) => sweptTo === null)
  const counted = single.filter(({ rule }) => isCountedRule(rule)).slice(0, scopesAtOnce)
  const sweeps = groupSweeps(due).map((sweep) => ({
    isDear: sweep.kind === 'filtered',
    evaluate: () => evaluateSweep(database.session, sweep, now),
  }))
  // Rules that compare the forecast of a rollout share it.
  const others = single.filter(({ rule }) => !isCountedRule(rule))
  const shared = Map.groupBy(others, (one) => (isForecast(one) ? one.rolloutKey : one))
  return [
    ...(counted.length > 0 ? [{ isDear: false, evaluate: () => evaluateCounted(database, counted, now) }] : []),
    ...sweeps.filter(({ isDear }) => !isDear),
    ...sweeps.filter(({ isDear }) => isDear),
    ...[...shared.values()].flatMap(([first, ...more]) =>
      first ? [{ isDear: true, evaluate: () => evaluateUncounted(database, [first, ...more], now) }] : [],
    ),
  ]
}

function isForecast({ rule }: DueCheck): boolean {
  return isForecastMetric(rule.rule.metric)
}

function evaluateCounted(database: Pick<Database, 'session'>, checks: readonly DueCheck[], now: Millis) {
  const wanted = wantedBy(checks.map(({ rule }) => rule))
  return evaluateChecks(database, checks, (keys) => measureScopes(database.session, keys, wanted), now)
}

/** One check of a filter, or all checks of one rollout's forecast. */
function evaluateUncounted(
  database: Pick<Database, 'session' | 'kind'>,
  checks: readonly [DueCheck, ...DueCheck[]],
  now: Millis,
) {
  const { session, kind } = database
  const [{ rule, rolloutKey }] = checks
  if (isForecast(checks[0]))
    return evaluateChecks(database, checks, () => measureForecast({ ...session, kind }, rolloutKey, now), now)
  const filter = rule.selector.filter as DeploymentFilter
  const scopesOf = (keys: readonly number[]) => (rule.rule.perRollout ? keys : null)
  return evaluateChecks(database, checks, (keys) => measureFiltered(session, filter, scopesOf(keys)), now)
}

/** `measure`: reads the values of the scopes with these keys. */
async function evaluateChecks(
  { session }: Pick<Database, 'session'>,
  checks: readonly DueCheck[],
  measure: (rolloutKeys: readonly number[]) => Promise<Measured>,
  now: Millis,
) {
  const results = noResults()
  const keys = [...new Set(checks.map(({ rolloutKey }) => rolloutKey))]
  // Standings first: if another replica changes them after that, the cursor has moved and these results are void.
  const standings = await readStandings(session, keys)
  const measured = await measure(keys)
  for (const { rule, rolloutKey } of checks) judge(results, rule, rolloutKey, standings, measured, now)
  return { results, revision: measured.revision }
}
