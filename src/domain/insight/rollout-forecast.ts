/** The forecast of a rollout from its counters and its steps in the log. */
import type { Counters } from '../counters.ts'
import { type Forecast, forecast, type Progress } from './forecast.ts'

interface KnownSteps extends Omit<Progress, 'total'> {
  readonly isTooLarge: boolean
}

/** EXPIRED: the log no longer has the beginning of each open step. */
type RolloutForecast = Forecast | { readonly reason: 'EXPIRED' | 'TOO_LARGE' }

export function forecastRollout(
  { isTooLarge, own, peers, starts }: KnownSteps,
  counters: Pick<Counters, 'pending' | 'installing' | 'installed' | 'failed' | 'removing' | 'removed'>,
  percent: number,
  next: () => number,
): RolloutForecast {
  if (isTooLarge) return { reason: 'TOO_LARGE' }
  const { pending, installing, installed, failed, removing, removed } = counters
  const unfinished = pending + installing + removing
  const known = [...own.waits, ...own.runs].reduce((sum, { n, isOpen }) => sum + (isOpen ? n : 0), 0)
  if (known !== unfinished) return { reason: 'EXPIRED' }
  return forecast({ total: unfinished + installed + failed + removed, own, peers, starts }, percent, next)
}
