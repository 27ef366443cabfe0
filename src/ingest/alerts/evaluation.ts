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
import type { Millis, Revision } from '../../domain/values.ts'
import {
  alertsDuty,
  type Check,
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
import { measureScopes, nothingMeasured } from '../../store/alerts/measures.ts'
import type { StoredRule } from '../../store/alerts/rows.ts'
import type { Database } from '../../store/database.ts'
import { recordAlerts } from '../commands/alerts.ts'
import type { Duty, Turn } from '../duties/duties.ts'
import type { Writer } from '../writer.ts'
import { type Evaluation, evaluationsOf, scopesAtOnce } from './due-checks.ts'
import { owedForecasts } from './forecasts.ts'
import { knownRules, selects, wantedBy } from './known-rules.ts'
import { type DueCheck, judge, noResults, type Results } from './results.ts'

/** Entries of the log in one step. Values are those of the present, so a step evaluates each scope once for any number of entries. */
const mostEntries = 20_000
/** Entries of a step that would otherwise evaluate more than `mostJudged` rules and scopes. A step that has begun is completed. */
const [fewEntries, mostJudged] = [1_000, 1_000_000]
/** Rules and scopes that are evaluated without a pause. */
const judgedAtOnce = 10_000
/** Checks in one search. */
const fewChecks = 1_000
/** Decisions in one batch of the writer. */
const mostDecisions = 500
/** Milliseconds by which the clock of the database must have gone back before all checks are made due. Its readings differ by less. */
const clockStep = 60_000
/** Milliseconds of a round for counts with a filter, because each may read many deployments. */
const countingBudget = 500

export function createAlertEvaluation(
  database: Pick<Database, 'session' | 'kind'>,
  writer: Pick<Writer, 'submit'>,
): Duty {
  const { session } = database
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
      if (!(await passEntries(cursor, touched, each, now)) || isOver()) return null
      cursor = touched.cursor
    }
    return cursor
  }

  /** Evaluates what the entries after the cursor touch, in portions. The last portion moves the cursor. False: another replica has moved it. */
  async function passEntries(
    cursor: Revision,
    touched: { readonly cursor: Revision; readonly rollouts: readonly number[] },
    costOfScope: number,
    now: Millis,
  ): Promise<boolean> {
    const { rollouts } = touched
    const size = Math.min(Math.max(Math.floor(judgedAtOnce / costOfScope), 1), scopesAtOnce)
    for (let first = 0; first === 0 || first < rollouts.length; first += size) {
      const to = first + size < rollouts.length ? cursor : touched.cursor
      const { results, revision } = await evaluateTouched(rollouts, first, size, now)
      if (!(await conclude(cursor, to, results, revision))) return false
    }
    return true
  }

  /** Of the rollouts from `first` on. All rules of the fleet are evaluated with the first of them. */
  async function evaluateTouched(rollouts: readonly number[], first: number, size: number, now: Millis) {
    const results = noResults()
    for (const rule of known.filtered)
      for (const rolloutKey of scopesOf(rule, rollouts, first, size))
        results.owed.push({ ruleKey: rule.key, rolloutKey, dueAt: now, version: rule.version })
    const { ofFleet, ofRollouts, forecasts } = known
    const isFleetTouched = first === 0 && rollouts.length > 0
    const keys = [
      ...(isFleetTouched && ofFleet.size > 0 ? [fleetScope] : []),
      ...(ofRollouts.size > 0 || forecasts.length > 0 ? rollouts.slice(first, first + size) : []),
    ]
    return { results, revision: keys.length === 0 ? 0 : await evaluateScopes(results, keys, now) }
  }

  /** Adds the results of all rules that these scopes concern. Returns the revision of their values. */
  async function evaluateScopes(results: Results, keys: readonly number[], now: Millis): Promise<Revision> {
    const { ofFleet, ofRollouts, forecasts } = known
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
    return measured.revision
  }

  /** Checks that are due. False: the rest is for the next round. */
  async function check(rules: ReadonlyMap<number, StoredRule>, cursor: Revision, turn: Turn): Promise<boolean> {
    const began = performance.now()
    for (;;) {
      if (turn.isOver()) return false
      const due = await dueChecks(session, turn.now, fewChecks)
      if (due.length === 0) return true
      const found = withRules(due, rules)
      // Rules that are deleted or disabled have no checks: these rules are newer than the copy.
      if (found.length === 0) return false
      for (const evaluation of evaluationsOf(database, found, turn.now)) {
        if (turn.isOver() || !(await evaluateAt(cursor, evaluation))) return false
        if (evaluation.isDear && performance.now() - began > countingBudget) return true
      }
    }
  }

  async function evaluateAt(cursor: Revision, { evaluate }: Evaluation): Promise<boolean> {
    const { results, revision } = await evaluate()
    return conclude(cursor, cursor, results, revision)
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

/** Without the checks of rules that are deleted or disabled. */
function withRules(checks: readonly Check[], rules: ReadonlyMap<number, StoredRule>): readonly DueCheck[] {
  return checks.flatMap((check) => {
    const rule = rules.get(check.ruleKey)
    return rule ? [{ ...check, rule }] : []
  })
}

const nothingSettled = { kept: [], dropped: [], owed: [] }

/** The scopes of a rule among rollouts that were touched: of the rollouts from `first` on, or the fleet with the first of them. */
function scopesOf(rule: StoredRule, rollouts: readonly number[], first: number, size: number): readonly number[] {
  const isTouched = (key: number): boolean => selects(rule, key)
  if (rule.rule.perRollout) return rollouts.slice(first, first + size).filter(isTouched)
  return first === 0 && rollouts.some(isTouched) ? [fleetScope] : []
}
