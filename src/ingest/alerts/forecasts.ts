/**
 * Forecasts for the rules that compare them. A forecast reads the log of a rollout, so it is made for unfinished rollouts only, once a minute at
 * most. To make it after each change was rejected: it would cost the whole rollout each time.
 */
import type { Measure } from '../../domain/alerts/alert.ts'
import { type Ending, forecastPause } from '../../domain/alerts/ending.ts'
import type { Counters } from '../../domain/counters.ts'
import { farthest } from '../../domain/insight/forecast.ts'
import { randomFrom } from '../../domain/insight/random.ts'
import { forecastRollout } from '../../domain/insight/rollout-forecast.ts'
import type { Millis } from '../../domain/values.ts'
import { type Settlement, type Standings, scopeName } from '../../store/alerts/checks.ts'
import { type Measured, measureScopes } from '../../store/alerts/measures.ts'
import type { StoredRule } from '../../store/alerts/rows.ts'
import type { Database, Session } from '../../store/database.ts'
import { stepsOf } from '../../store/read/insight/progress.ts'
import { selects } from './known-rules.ts'

/** The checks that a touched rollout owes. One that has ended owes them only for alerts and checks that it has, so that they end. */
export function owedForecasts(
  rules: readonly StoredRule[],
  rolloutKey: number,
  { counters }: Measure,
  { firing, checks }: Standings,
  now: Millis,
): Settlement['owed'] {
  const isOpen = unfinishedOf(counters) > 0
  return rules.flatMap((rule) => {
    const { key: ruleKey, version } = rule
    const scope = scopeName(ruleKey, rolloutKey)
    if (!selects(rule, rolloutKey) || !(isOpen || firing.has(scope) || checks.has(scope))) return []
    return [{ ruleKey, rolloutKey, version, dueAt: isOpen && checks.has(scope) ? now + forecastPause : now }]
  })
}

type Reading = Session & Pick<Database, 'kind'>

/** As of the time `now`: a rollout without changes grows late too. */
export async function measureForecast(session: Reading, rolloutKey: number, now: Millis): Promise<Measured> {
  const wanted = { stalled: false, offline: false, changedAt: true }
  const { revision, measures } = await measureScopes(session, [rolloutKey], wanted)
  const measure = measures.get(rolloutKey)
  if (!measure || unfinishedOf(measure.counters) === 0) return { revision, measures }
  const end = await endOf(session, rolloutKey, measure.counters, revision, now)
  return { revision, measures: new Map([[rolloutKey, { ...measure, end }]]) }
}

async function endOf(
  session: Reading,
  key: number,
  counters: Counters,
  revision: number,
  now: Millis,
): Promise<Ending> {
  const steps = (await stepsOf(session, [key], revision, undefined, now)).get(key)
  if (!steps) return 'UNKNOWN'
  const found = forecastRollout(steps, counters, 100, randomFrom(key + revision))
  if ('at' in found) return now + Math.round(found.at)
  if (found.reason === 'DONE') return null
  return found.reason === 'NO_END' ? now + farthest : 'UNKNOWN'
}

function unfinishedOf({ pending, installing, removing }: Counters): number {
  return pending + installing + removing
}
