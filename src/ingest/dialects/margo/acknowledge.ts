import type { FieldProblem } from '../../../domain/errors.ts'
import type { OrderKey, RecordedReport, Verdict } from '../../../domain/report.ts'
import type { Digits } from '../../../domain/values.ts'

/** The body of a 2xx on every route (docs/wire.md §1.1). Margo's clients read only `acknowledgement`, or nothing. The other fields are Rollcall's own. */
interface Acknowledgement {
  readonly acknowledgement: 'received'
  readonly verdict: Verdict
  readonly revision: Digits
  /** The ordering key by which a STALE report is older. */
  readonly staleBy?: OrderKey
  /** What was taken otherwise than sent (docs/wire.md §1.6). */
  readonly warnings?: readonly FieldProblem[]
}

export function acknowledgement(outcome: RecordedReport): Acknowledgement {
  return {
    acknowledgement: 'received',
    verdict: outcome.verdict,
    revision: String(outcome.revision),
    ...(outcome.verdict === 'STALE' && { staleBy: outcome.staleBy }),
    ...(outcome.warnings && { warnings: outcome.warnings.map(({ field, message }) => ({ field, message })) }),
  }
}
