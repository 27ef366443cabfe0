/** What is recorded of a round that says something about the receiver: its result, when the next may begin, and whether the sink is given up. */

import type { Millis } from '../../domain/values.ts'
import { type BackOff, pauseAfter } from '../../platform/timing/back-off.ts'
import type { Attempt } from '../../store/sinks/sink-progress.ts'
import type { Sink } from '../../store/sinks/sinks.ts'
import type { Round } from './round.ts'

interface FailureOptions {
  /** Between attempts after a failure. */
  readonly backOff: BackOff
  /** Milliseconds without a success after which a sink is paused. Null: never. */
  readonly giveUpAfter: Millis | null
}

export function attemptOf(sink: Sink, round: Round, at: Millis, { backOff, giveUpAfter }: FailureOptions): Attempt {
  const { failingSince = null } = sink.settings as { failingSince?: Millis | null }
  const since = round.error === null ? null : failureBegin(sink, round, failingSince, at)
  const settings = since === failingSince ? round.settings : { ...round.settings, failingSince: since }
  return {
    at,
    ...round,
    nextAt: round.error === null ? round.nextAt : at + pauseAfter(backOff, round.isAccepted ? 0 : sink.failures),
    isGivenUp: since !== null && giveUpAfter !== null && at - since >= giveUpAfter,
    ...(settings && { settings }),
  }
}

/** Since when the sink has failed without a success between. */
function failureBegin(sink: Sink, { isAccepted }: Round, failingSince: Millis | null, at: Millis): Millis {
  return isAccepted || failingSince === null ? at : failingSince + jumpOf(sink, at)
}

/** Milliseconds. No sink that failed waits for so long after its pause. */
const mostLate = 3_600_000

/**
 * How far the clock of the database has jumped since the last failure of the sink. The jump does not count as a time of failures: after a jump
 * forward, one failure would pause the sink, and after a jump back, none would. Nor does a time in which no server ran.
 */
function jumpOf({ nextAt }: Sink, now: Millis): Millis {
  const late = now - (nextAt ?? now)
  return Math.abs(late) > mostLate ? late : 0
}
