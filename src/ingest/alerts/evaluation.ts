/**
 * The duty that evaluates alert rules. It reads each entry of the log once and evaluates the scopes that the entries touch:
 *
 *   stored counters answer (the fleet, a rollout)   evaluated with the entries, for all such rules from one reading
 *   a filter selects                                a check is owed: evaluated after the entries, within its own budget of time
 *   a forecast is compared                          likewise, once a minute for an unfinished rollout (forecasts.ts)
 *   time decides (`for`, no progress)               a check has a due time
 *   a rule is new                                   it looks at all rollouts in steps, together with the new rules of the same selector (sweep.ts)
 *
 * Values, decisions and the cursor's move are one unit (store/alerts/checks.ts): they count only if no other replica moved the cursor meanwhile.
 */
import { fleetScope } from '../../domain/alerts/alert.ts'
import { isForecastMetric } from '../../domain/alerts/ending.ts'
import type { Millis, Revision } from '../../domain/values.ts'
import {
  alertsDuty,
  dueChecks,
  enabledRules,
  makeAllDue,
  newestVersion,
  readCursor,
  readStandings,
  readTouched,
  restart,
  rulesByScope,
  type Settlement,
  settle,
} from '../../store/alerts/checks.ts'
import { type Measured, measureFiltered, measureScopes, nothingMeasured } from '../../store/alerts/measures.ts'
import type { StoredRule } from '../../store/alerts/rows.ts'
import type { Database } from '../../store/database.ts'
import type { DeploymentFilter } from '../../store/read/filters/deployment-filter.ts'
import { recordAlerts } from '../commands/alerts.ts'
import type { Duty, Turn } from '../duties/duties.ts'
import type { Writer } from '../writer.ts'
import { measureForecast, owedForecasts } from './forecasts.ts'
import { isCountedRule, knownRules, selects, wantedBy } from './known-rules.ts'
import { type DueCheck, judge, noResults, type Results } from './results.ts'
import { evaluateSweep, groupSweeps, type Sweep } from './sweep.ts'

/** Entries of the log in one step. Values are those of the present, so a step evaluates each scope once for any number of entries. */
const mostEntries = 20_000
/** Entries of a step that would otherwise evaluate more than `mostJudged` rules and scopes. A step that has begun is completed. */
const [fewEntries, mostJudged] = [1_000, 1_000_000]
/** Rules and scopes, and scopes, that are evaluated without a pause. */
const [judgedAtOnce, scopesAtOnce] = [10_000, 500]
/** Checks in one search. */
const fewChecks = 1_000
/** Decisions in one batch of the writer. */
const mostDecisions = 500
/** Milliseconds by which the clock of the database must have gone back before all checks are made due. Its readings differ by less. */
const clockStep = 60_000
/** Milliseconds of a round for counts with a filter, because each may read many deployments. */
const countingBudget = 500

interface RuleInScope {
  readonly rule: StoredRule
  readonly rolloutKey: number
}

export function createAlertEvaluation(
  database: Pick<Database, 'session' | 'kind'>,
  writer: Pick<Writer, 'submit'>,
): Duty {
  const { session, kind } = database
  let known = knownRules(-1, [])

  async function rulesNow(): Promise<readonly StoredRule[]> {
    const version = await newestVersion(session)
    if (version !== known.version) known = knownRules(version, version === 0 ? [] : await enabledRules(session))
    return known.all
  }

  /** False: another replica has evaluated meanwhile, so nothing of this was written. */
  async function conclude(from: Revision, to: Revision, results: Results, revision: Revision): Promise<boolean> {
    const { decisions, ...checks } = results
    const { version } = known
    for (let first = 0; first + mostDecisions < decisions.length; first += mostDecisions) {
      const part = decisions.slice(first, first + mostDecisions)
      const { isCurrent } = await writer.submit(
        recordAlerts(part, revision, { ...nothingSettled, from, to: from, version }),
      )
      if (!isCurrent) return false
    }
    const settlement: Settlement = { from, to, version, ...checks }
    const last = decisions.slice(Math.floor(Math.max(decisions.length - 1, 0) / mostDecisions) * mostDecisions)
    if (last.length > 0) return (await writer.submit(recordAlerts(last, revision, settlement))).isCurrent
    if (from === to && checks.kept.length + checks.dropped.length + checks.owed.length === 0) return true
    const { text, parameters } = settle(settlement)
    return (await session.run(text, parameters)).length > 0
  }

  /** The entries after the cursor. Null: the rest is for the next round. */
  async function follow(rules: readonly StoredRule[], { now, isOver }: Turn): Promise<Revision | null> {
    const place = await readCursor(session)
    let { cursor } = place
    if ((place.attemptedAt ?? 0) > now + clockStep) await makeAllDue(session, now)
    if (cursor < place.tail || rules.length === 0) {
      if (cursor < place.newest) await restart(session, cursor, place.newest, now)
      return place.newest
    }
    // Without filters and times, a scope costs the rules that it concerns.
    const each = 1 + known.ofRollouts.timed + known.filtered.length + known.forecasts.length
    while (cursor < place.newest) {
      let touched = await readTouched(session, cursor, place.newest, mostEntries)
      if (touched.rollouts.length * each > mostJudged)
        touched = await readTouched(session, cursor, place.newest, fewEntries)
      const { rollouts } = touched
      const size = Math.min(Math.max(Math.floor(judgedAtOnce / each), 1), scopesAtOnce)
      for (let first = 0; first === 0 || first < rollouts.length; first += size) {
        const to = first + size < rollouts.length ? cursor : touched.cursor
        const { results, revision } = await evaluateTouched(rollouts, first, size, now)
        if (!(await conclude(cursor, to, results, revision))) return null
      }
      if (isOver()) return null
      cursor = touched.cursor
    }
    return cursor
  }

  /** Of the rollouts from `first` on. All rules of the fleet are evaluated with the first of them. */
  async function evaluateTouched(rollouts: readonly number[], first: number, size: number, now: Millis) {
    const results = noResults()
    for (const rule of known.filtered)
      for (const rolloutKey of scopesOf(rule, rollouts, first, size))
        results.owed.push({ ruleKey: rule.key, rolloutKey, dueAt: now, version: rule.version })
    const { ofFleet, ofRollouts, forecasts } = known
    const keys = [
      ...(first === 0 && rollouts.length > 0 && ofFleet.size > 0 ? [fleetScope] : []),
      ...(ofRollouts.size > 0 || forecasts.length > 0 ? rollouts.slice(first, first + size) : []),
    ]
    if (keys.length === 0) return { results, revision: 0 }
    const standings = await readStandings(session, keys)
    const measured = await measureScopes(session, keys, wantedBy(known.counted))
    const standing = rulesByScope(standings)
    for (const key of keys) {
      const index = key === fleetScope ? ofFleet : ofRollouts
      const measure = measured.measures.get(key) ?? nothingMeasured
      for (const rule of index.concerned(measure, standing.get(key) ?? [], now))
        if (selects(rule, key)) judge(results, rule, key, standings, measured, now)
      if (key !== fleetScope) results.owed.push(...owedForecasts(forecasts, key, measure, standings, now))
    }
    return { results, revision: measured.revision }
  }

  /** `measure`: reads the values of the scopes with these keys. */
  async function evaluateChecks(
    checks: readonly RuleInScope[],
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

  function evaluateCounted(checks: readonly RuleInScope[], now: Millis) {
    const wanted = wantedBy(checks.map(({ rule }) => rule))
    return evaluateChecks(checks, (keys) => measureScopes(session, keys, wanted), now)
  }

  /** Checks that are due. False: the rest is for the next round. */
  async function check(rules: ReadonlyMap<number, StoredRule>, cursor: Revision, turn: Turn): Promise<boolean> {
    const counting = performance.now()
    for (;;) {
      if (turn.isOver()) return false
      const due = await dueChecks(session, turn.now, fewChecks)
      if (due.length === 0) return true
      const found = due.flatMap((one) => {
        const rule = rules.get(one.ruleKey)
        return rule ? [{ ...one, rule }] : []
      })
      // Rules that are deleted or disabled have no checks: these rules are newer than the copy.
      if (found.length === 0) return false
      const [counted = [], others = []] = splitChecks(found)
      if (counted.length > 0) {
        const { results, revision } = await evaluateCounted(counted, turn.now)
        if (!(await conclude(cursor, cursor, results, revision))) return false
      }
      // Sweeps that stored counters answer cost little, so only the turn limits them.
      const sweeps = groupSweeps(found).toSorted((a, b) => Number(isDear(a)) - Number(isDear(b)))
      for (const sweep of sweeps) {
        if (turn.isOver()) return false
        const { results, revision } = await evaluateSweep(session, sweep, turn.now)
        if (!(await conclude(cursor, cursor, results, revision))) return false
        if (isDear(sweep) && performance.now() - counting > countingBudget) return true
      }
      // Rules that compare the forecast of a rollout share it.
      const shared = Map.groupBy(others, (one) => (isForecast(one) ? one.rolloutKey : one))
      for (const [one, ...more] of shared.values()) {
        if (turn.isOver()) return false
        if (!one) continue
        const { results, revision } = isForecast(one)
          ? await evaluateForecast([one, ...more], turn.now)
          : await evaluateFiltered(one, turn.now)
        if (!(await conclude(cursor, cursor, results, revision))) return false
        if (performance.now() - counting > countingBudget) return true
      }
    }
  }

  /** Of one rollout. */
  function evaluateForecast(checks: readonly [DueCheck, ...DueCheck[]], now: Millis) {
    return evaluateChecks(checks, () => measureForecast({ ...session, kind }, checks[0].rolloutKey, now), now)
  }

  function evaluateFiltered(check: DueCheck, now: Millis) {
    const { rule, selector } = check.rule
    const filter = selector.filter as DeploymentFilter
    return evaluateChecks([check], (keys) => measureFiltered(session, filter, rule.perRollout ? keys : null), now)
  }

  return {
    name: alertsDuty,
    interval: 0,
    budget: 4_000,
    async run(turn) {
      const rules = await rulesNow()
      const cursor = await follow(rules, turn)
      if (cursor === null) return false
      return rules.length === 0 || check(new Map(rules.map((rule) => [rule.key, rule])), cursor, turn)
    },
  }
}

function isForecast({ rule }: DueCheck): boolean {
  return isForecastMetric(rule.rule.metric)
}

/** Those that counters answer, at most as many as are evaluated without a pause, and the others. */
function splitChecks(due: readonly DueCheck[]): readonly (readonly DueCheck[])[] {
  const single = due.filter(({ sweptTo }) => sweptTo === null)
  const counted = single.filter(({ rule }) => isCountedRule(rule))
  return [counted.slice(0, scopesAtOnce), single.filter(({ rule }) => !isCountedRule(rule))]
}

/** Whether a step may read many deployments. */
const isDear = ({ kind }: Sweep): boolean => kind === 'filtered'

const nothingSettled = { kept: [], dropped: [], owed: [] }

/** The scopes of a rule among rollouts that were touched: of the rollouts from `first` on, or the fleet with the first of them. */
function scopesOf(rule: StoredRule, rollouts: readonly number[], first: number, size: number): readonly number[] {
  const isTouched = (key: number): boolean => selects(rule, key)
  if (rule.rule.perRollout) return rollouts.slice(first, first + size).filter(isTouched)
  return first === 0 && rollouts.some(isTouched) ? [fleetScope] : []
}
