/**
 * Alert rules, and the decision whether a scope raises or resolves an alert. A scope is the fleet or one rollout.
 *
 *   breached for `forSeconds` → FIRING → beyond `resolveThreshold` → RESOLVED
 */
import type { Counters } from '../counters.ts'
import type { Label } from '../target.ts'
import type { Millis, Revision } from '../values.ts'
import {
  type Ending,
  type ForecastMetric,
  forecastMetrics,
  isForecastMetric,
  nextForecast,
  secondsOf,
} from './ending.ts'

export const alertMetrics = [
  'FAILED',
  'STALLED',
  'OFFLINE',
  'STALE',
  'NOT_CONVERGED',
  'NO_PROGRESS',
  'SUCCESS_RATE',
  ...forecastMetrics,
] as const
export type AlertMetric = (typeof alertMetrics)[number]

export const alertUnits = ['COUNT', 'PERCENT'] as const
export type AlertUnit = (typeof alertUnits)[number]

export const alertSeverities = ['CRITICAL', 'WARNING', 'INFO'] as const
export type AlertSeverity = (typeof alertSeverities)[number]

const alertStates = ['FIRING', 'RESOLVED'] as const
export type AlertState = (typeof alertStates)[number]

/** RECOVERED: the value is beyond the resolve threshold. The others: the rule no longer exists in that form. */
export const resolutions = ['RECOVERED', 'RULE_CHANGED', 'RULE_DELETED'] as const
export type Resolution = (typeof resolutions)[number]

/** What a rule compares. */
export interface AlertCondition {
  readonly metric: AlertMetric
  /** Of counts. NO_PROGRESS, TIME_LEFT and DELAY are in seconds, SUCCESS_RATE in percent. */
  readonly unit: AlertUnit
  readonly threshold: number
  readonly resolveThreshold: number
  /** Seconds that the value must be beyond the threshold before the alert is raised. */
  readonly forSeconds: number
  /** Percentages of fewer deployments are not compared. */
  readonly minimum: number
  /** What DELAY counts from. */
  readonly deadline?: Millis
}

/** A rule without the deployments that it selects. */
export interface AlertRule extends AlertCondition {
  readonly description: string | null
  /** One alert for each rollout. Otherwise one for all selected deployments. */
  readonly perRollout: boolean
  readonly severity: AlertSeverity
  readonly labels: readonly Label[]
  readonly runbookUrl: string | null
  /** Deployments on devices in maintenance are not counted, until that is over. */
  readonly holdInMaintenance?: true
}

/** The deployments of a scope in numbers. */
export interface Measure {
  readonly counters: Counters
  readonly stalled: number
  readonly offline: number
  /** The newest change of a deployment. Null: there is none. */
  readonly changedAt: Millis | null
  readonly end: Ending
}

export interface Alert {
  readonly key: number
  readonly ruleKey: number
  readonly rule: string
  /** 0: the fleet. */
  readonly rolloutKey: number
  readonly severity: AlertSeverity
  readonly description: string | null
  readonly labels: readonly Label[]
  readonly runbookUrl: string | null
  readonly metric: AlertMetric
  readonly unit: AlertUnit
  readonly threshold: number
  readonly value: number
  /** The revision that `value` reflects. */
  readonly evaluatedRevision: Revision
  readonly raisedRevision: Revision
  readonly raisedAt: Millis
  readonly resolvedRevision: Revision | null
  readonly resolvedAt: Millis | null
  readonly resolvedValue: number | null
  readonly resolution: Resolution | null
  readonly acknowledgedRevision: Revision | null
  readonly acknowledgedAt: Millis | null
  readonly acknowledgedBy: string | null
  readonly comment: string | null
}

/** The key of the fleet's scope. */
export const fleetScope = 0

/** What is known about a rule in a scope. */
interface Standing {
  readonly isFiring: boolean
  /** Since when the threshold is exceeded without an alert. */
  readonly breachedSince: Millis | null
}

export interface Evaluation {
  readonly act: 'RAISE' | 'RESOLVE' | null
  readonly value: number | null
  readonly breachedSince: Millis | null
  /** When time alone may change the result. Null: only a change can. */
  readonly dueAt: Millis | null
}

export function evaluate(
  condition: AlertCondition,
  measure: Measure,
  { isFiring, breachedSince }: Standing,
  now: Millis,
): Evaluation {
  const value = measuredValue(condition, measure, now)
  const rest: Evaluation = { act: null, value, breachedSince: null, dueAt: forecastAt(condition, measure, now) }
  // Without a forecast, an unfinished rollout is neither late nor in time.
  if (value === null && measure.end === 'UNKNOWN' && isForecastMetric(condition.metric))
    return { ...rest, breachedSince }
  if (isFiring) return isRecovered(condition, value) ? { ...rest, act: 'RESOLVE' } : rest
  if (!isBreached(condition, value)) return { ...rest, dueAt: rest.dueAt ?? dueOf(condition, measure, value) }
  // Later than now: the clock has gone back since. What was waited before does not count.
  const since = Math.min(breachedSince ?? now, now)
  const dueAt = since + condition.forSeconds * 1_000
  if (now >= dueAt) return { ...rest, act: 'RAISE' }
  return { ...rest, breachedSince: since, dueAt: Math.min(dueAt, rest.dueAt ?? dueAt) }
}

/** Null: there is nothing to compare. */
export function measuredValue(condition: AlertCondition, measure: Measure, now: Millis): number | null {
  const { counters, changedAt } = measure
  switch (condition.metric) {
    case 'NO_PROGRESS': {
      const unfinished = counters.pending + counters.installing + counters.removing
      return unfinished === 0 || changedAt === null ? null : Math.max(Math.floor((now - changedAt) / 1_000), 0)
    }
    case 'SUCCESS_RATE':
      return percentOf(counters.installed, counters.installed + counters.failed, condition.minimum)
    case 'TIME_LEFT':
      return secondsOf(undefined, measure.end, now)
    case 'DELAY':
      return secondsOf(condition.deadline ?? 0, measure.end, now)
    default: {
      const count = countOf(condition.metric, measure)
      return condition.unit === 'COUNT' ? count : percentOf(count, totalOf(counters), condition.minimum)
    }
  }
}

function countOf(
  metric: Exclude<AlertMetric, 'NO_PROGRESS' | 'SUCCESS_RATE' | ForecastMetric>,
  measure: Measure,
): number {
  const { counters, stalled, offline } = measure
  switch (metric) {
    case 'FAILED':
      return counters.failed
    case 'STALLED':
      return stalled
    case 'OFFLINE':
      return offline
    case 'STALE':
      return counters.convergenceStale
    case 'NOT_CONVERGED':
      return counters.convergenceApplying + counters.convergenceFailed + counters.convergenceStale
  }
}

function totalOf(counters: Counters): number {
  const { pending, installing, installed, failed, removing, removed } = counters
  return pending + installing + installed + failed + removing + removed
}

function percentOf(part: number, whole: number, minimum: number): number | null {
  return whole < Math.max(minimum, 1) ? null : (100 * part) / whole
}

export function isBreached({ metric, threshold }: AlertCondition, value: number | null): boolean {
  if (value === null) return false
  return metric === 'SUCCESS_RATE' ? value < threshold : value >= threshold
}

function isRecovered({ metric, resolveThreshold }: AlertCondition, value: number | null): boolean {
  if (value === null) return true
  return metric === 'SUCCESS_RATE' ? value >= resolveThreshold : value < resolveThreshold
}

/** 9999-12-31: the last moment that every reader of a timestamp understands. */
const lastMoment = 253_402_300_799_999

/** The moment at which the value, in whole seconds, reaches the threshold. Null: it does not, without a change. */
function dueOf({ metric, threshold }: AlertCondition, { changedAt }: Measure, value: number | null): Millis | null {
  if (metric !== 'NO_PROGRESS' || value === null || changedAt === null) return null
  const dueAt = changedAt + Math.ceil(threshold) * 1_000
  return dueAt <= lastMoment ? dueAt : null
}

function forecastAt(condition: AlertCondition, { end, changedAt }: Measure, now: Millis): Millis | null {
  return end === null || !isForecastMetric(condition.metric) ? null : nextForecast(condition, changedAt, now)
}

/** The alert as of a revision at which it was raised already. */
export function alertAt(alert: Alert, revision: Revision): Alert {
  const isResolved = alert.resolvedRevision !== null && alert.resolvedRevision <= revision
  const isAcknowledged = alert.acknowledgedRevision !== null && alert.acknowledgedRevision <= revision
  return {
    ...alert,
    ...(!isResolved && { resolvedRevision: null, resolvedAt: null, resolvedValue: null, resolution: null }),
    ...(!isAcknowledged && {
      acknowledgedRevision: null,
      acknowledgedAt: null,
      acknowledgedBy: null,
      comment: null,
    }),
  }
}

/** `Failed: 12 deployments (threshold 5)`. */
export function summarize({
  metric,
  unit,
  threshold,
  value,
}: Pick<Alert, 'metric' | 'unit' | 'threshold' | 'value'>): string {
  const name = metric.charAt(0) + metric.slice(1).toLowerCase().replaceAll('_', ' ')
  const shown = Math.round(value * 10) / 10
  if (metric === 'NO_PROGRESS') return `${name} for ${shown} s (threshold ${threshold} s)`
  if (isForecastMetric(metric)) return `${name}: ${shown} s (threshold ${threshold} s)`
  const isPercent = metric === 'SUCCESS_RATE' || unit === 'PERCENT'
  return isPercent ? `${name}: ${shown} % (threshold ${threshold} %)` : `${name}: ${shown} (threshold ${threshold})`
}
