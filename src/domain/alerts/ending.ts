/** Alert rules that compare the forecast of a rollout's end. Time alone changes a forecast, so an unfinished rollout is forecast again and again. */
import type { Millis } from '../values.ts'

export const forecastMetrics = ['TIME_LEFT', 'DELAY'] as const
export type ForecastMetric = (typeof forecastMetrics)[number]

/** When a rollout will be done. UNKNOWN: it is unfinished, and there is no forecast. Null: it is done, or was not forecast. */
export type Ending = Millis | 'UNKNOWN' | null

/** Milliseconds between forecasts of a rollout that changes, and at most. */
export const forecastPause = 60_000
const longestPause = 3_600_000

export function isForecastMetric(metric: string): metric is ForecastMetric {
  return forecastMetrics.some((one) => one === metric)
}

/** Seconds: until the end, or from the deadline to the end. Null: nothing is known. After the deadline, an unfinished rollout is late without a forecast. */
export function secondsOf(deadline: Millis | undefined, end: Ending, now: Millis): number | null {
  if (end === null) return null
  if (deadline === undefined) return end === 'UNKNOWN' ? null : Math.max(Math.round((end - now) / 1_000), 0)
  if (end !== 'UNKNOWN') return Math.floor((end - deadline) / 1_000)
  return now < deadline ? null : Math.floor((now - deadline) / 1_000)
}

/** When an unfinished rollout is forecast again. The pause grows with the time since the last change: a rollout that stands still costs little. */
export function nextForecast(
  { deadline, threshold }: { readonly deadline?: Millis; readonly threshold: number },
  changedAt: Millis | null,
  now: Millis,
): Millis {
  const pause = Math.min(Math.max((now - (changedAt ?? now)) / 10, forecastPause), longestPause)
  const late = deadline === undefined ? 0 : deadline + Math.max(Math.ceil(threshold), 0) * 1_000
  return Math.round(late > now ? Math.min(now + pause, late) : now + pause)
}
