/** When a sink is due. Its times are of the database's clock, which may go back. */
import type { Millis } from '../../domain/values.ts'
import type { Sink } from '../../store/sinks/sinks.ts'

/** Milliseconds by which the clock must have gone back. Its readings differ by less: a failed sink must not lose its pause to that. */
const clockStep = 60_000

/** An attempt later than now: the clock has gone back, and the sink would wait until it has caught up. */
export function isDue({ nextAt, attemptedAt }: Sink, now: Millis): boolean {
  return (nextAt ?? 0) <= now || (attemptedAt ?? 0) > now + clockStep
}

/** Milliseconds after which an Alertmanager gets its alerts again (alertmanager.ts). */
export const repeatEvery = 60_000

/** Also true if the clock has gone back: until it has caught up, an Alertmanager would resolve all alerts. */
export function isRepeatDue({ settings }: Pick<Sink, 'settings'>, now: Millis): boolean {
  const { repeatAt } = settings
  return typeof repeatAt !== 'number' || repeatAt <= now || repeatAt > now + repeatEvery + clockStep
}
