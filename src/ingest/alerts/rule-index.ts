/**
 * Which rules an evaluation of a scope can concern. A change costs those, and not all rules:
 *
 *   the value is beyond the threshold   found by search: rules that compare the same value are sorted by their thresholds
 *   the alert fires, or a check waits   the scope's standings have them
 *   time decides                        NO_PROGRESS, while deployments are unfinished
 *
 * For any other rule, the result is nothing.
 */
import { type AlertCondition, isBreached, type Measure, measuredValue } from '../../domain/alerts/alert.ts'
import type { Millis } from '../../domain/values.ts'
import type { StoredRule } from '../../store/alerts/rows.ts'

export interface RuleIndex {
  readonly size: number
  /** The number of rules that each unfinished scope concerns. */
  readonly timed: number
  /** `standing`: the keys of rules that fire or have a check in the scope. */
  concerned(measure: Measure, standing: Iterable<number>, now: Millis): ReadonlySet<StoredRule>
}

/** Rules that compare the same value, so that those whose threshold it is beyond come first. */
interface Group {
  readonly condition: AlertCondition
  readonly rules: readonly StoredRule[]
}

export function createRuleIndex(rules: readonly StoredRule[]): RuleIndex {
  const byKey = new Map(rules.map((rule) => [rule.key, rule]))
  const groups = [...Map.groupBy(rules, ({ rule }) => valueName(rule)).values()].flatMap(toGroup)
  return {
    size: rules.length,
    timed: rules.filter(({ rule }) => isTimed(rule)).length,
    concerned(measure, standing, now) {
      const found = new Set<StoredRule>()
      for (const { condition, rules: sorted } of groups) {
        const value = measuredValue(condition, measure, now)
        if (value === null) continue
        for (const rule of sorted) {
          if (!isTimed(condition) && !isBreached(rule.rule, value)) break
          found.add(rule)
        }
      }
      for (const key of standing) {
        const rule = byKey.get(key)
        if (rule) found.add(rule)
      }
      return found
    },
  }
}

function toGroup(rules: readonly StoredRule[]): Group[] {
  const [first] = rules
  if (!first) return []
  const direction = first.rule.metric === 'SUCCESS_RATE' ? -1 : 1
  return [{ condition: first.rule, rules: rules.toSorted((a, b) => direction * (a.rule.threshold - b.rule.threshold)) }]
}

/** Rules with equal names compare the same value: everything that measuredValue() reads of a condition. */
function valueName({ metric, unit, minimum }: AlertCondition): string {
  return `${metric} ${unit} ${minimum}`
}

function isTimed({ metric }: AlertCondition): boolean {
  return metric === 'NO_PROGRESS'
}
