/** The enabled rules of a version, by how they are evaluated. */
import type { AlertMetric } from '../../domain/alerts/alert.ts'
import { isForecastMetric } from '../../domain/alerts/ending.ts'
import { isCounted, type Wanted } from '../../store/alerts/measures.ts'
import type { StoredRule } from '../../store/alerts/rows.ts'
import type { DeploymentFilter } from '../../store/read/filters/deployment-filter.ts'
import { createRuleIndex, type RuleIndex } from './rule-index.ts'

interface KnownRules {
  readonly version: number
  readonly all: readonly StoredRule[]
  /** Those that stored counters answer, of the fleet and of each rollout. */
  readonly ofFleet: RuleIndex
  readonly ofRollouts: RuleIndex
  readonly counted: readonly StoredRule[]
  /** Those that compare a forecast. */
  readonly forecasts: readonly StoredRule[]
  /** The others. */
  readonly filtered: readonly StoredRule[]
}

export function knownRules(version: number, all: readonly StoredRule[]): KnownRules {
  const counted = all.filter(isCountedRule)
  const forecasts = all.filter(({ rule }) => isForecastMetric(rule.metric))
  return {
    version,
    all,
    ofFleet: createRuleIndex(counted.filter(({ rule }) => !rule.perRollout)),
    ofRollouts: createRuleIndex(counted.filter(({ rule }) => rule.perRollout)),
    counted,
    forecasts,
    filtered: all.filter((rule) => !counted.includes(rule) && !forecasts.includes(rule)),
  }
}

export function isCountedRule({ rule, selector }: StoredRule): boolean {
  return !isForecastMetric(rule.metric) && isCounted(selector.filter as DeploymentFilter, rule.perRollout)
}

/** Whether the rule's selector admits the rollout. A rule of the fleet that counters answer has no selector. */
export function selects({ selector }: StoredRule, rolloutKey: number): boolean {
  return (selector.filter as DeploymentFilter).rolloutKeys?.includes(rolloutKey) ?? true
}

export function wantedBy(rules: readonly StoredRule[]): Wanted {
  const uses = (metric: AlertMetric): boolean => rules.some(({ rule }) => rule.metric === metric)
  return { stalled: uses('STALLED'), offline: uses('OFFLINE'), changedAt: uses('NO_PROGRESS') }
}
