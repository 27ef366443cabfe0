import type { OrderKey, ReportOutcome, Verdict } from '../../../domain/report.ts'
import type { Digits } from '../../../domain/values.ts'

/** The body of a 2xx on every route (docs/wire.md §1.1). Margo's clients read only `acknowledgement`, or nothing. The other fields are Rollcall's own. */
interface Acknowledgement {
  readonly acknowledgement: 'received'
  readonly verdict: Verdict
  readonly revision: Digits
  /** The ordering key by which a STALE report is older. */
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
