import type { OrderKey, ReportOutcome, Verdict } from '../../domain/report.ts'
import type { Digits } from '../../domain/values.ts'

/** The body of a 2xx, on every route (docs/wire.md §1.1): the device's clients look at `acknowledgement` or at nothing; the rest is ours. */
export interface Acknowledgement {
  readonly acknowledgement: 'received'
  readonly verdict: Verdict
  readonly revision: Digits
  /** The ordering key that a STALE report lost by. */
  readonly staleBy?: OrderKey
}

export function acknowledgement(outcome: ReportOutcome): Acknowledgement {
  const received = {
    acknowledgement: 'received',
    verdict: outcome.verdict,
    revision: String(outcome.revision),
  } as const
  return outcome.verdict === 'STALE' ? { ...received, staleBy: outcome.staleBy } : received
}
