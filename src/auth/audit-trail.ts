/**
 * Refused credentials on their way into the audit log. Whoever guesses does so often: what is alike is gathered, and written as one line
 * that says how many times. An address has a share of the lines, and beyond it one line a minute: nobody without a credential fills the disk.
 */
import type { Millis } from '../domain/values.ts'
import { recordAudit } from '../ingest/commands/api-access.ts'
import type { Writer } from '../ingest/writer.ts'
import { networkOf } from '../limits/address.ts'
import { createBuckets } from '../limits/rate.ts'
import type { AuditEntry } from '../store/read/api-access.ts'

/** Never what was presented itself. */
export type Refusal = Pick<AuditEntry, 'who' | 'credential' | 'address' | 'action' | 'outcome'>

export interface AuditTrail {
  /** Whether it is worth a line in the log: neither one more of the same, nor more than the address has a share of. */
  refused(refusal: Refusal): boolean
  /** Writes what has been gathered. */
  close(): Promise<void>
}

export interface AuditTrailDeps {
  readonly writer: Pick<Writer, 'submit'>
  readonly clock: () => Millis
  /** Milliseconds in which refusals are gathered. */
  readonly interval?: number
  readonly failed?: (error: unknown) => void
}

/** Different ones that are gathered at a time; those beyond are counted together. */
const most = 500
/** Lines that one address may fill at once, and milliseconds after which it may fill one more. */
const share = 20
const refill = 10_000
/** Of what is beyond that an address has one line in so many milliseconds. */
const overflowInterval = 60_000
/** Characters: what was refused may quote what was sent. */
const longestText = 200

export function createAuditTrail(deps: AuditTrailDeps): AuditTrail {
  const { writer, clock, interval = 1_000, failed = () => {} } = deps
  const gathered = new Map<string, AuditEntry>()
  /** By network, and for more than can be told apart. */
  const overflow = new Map<string, AuditEntry>()
  const takes = createBuckets(share, refill)
  const timers = new Map<typeof gathered, NodeJS.Timeout>()

  async function write(entries: typeof gathered): Promise<void> {
    clearTimeout(timers.get(entries))
    timers.delete(entries)
    const list = [...entries.values()]
    entries.clear()
    if (list.length > 0) await writer.submit(recordAudit(list)).catch(failed)
  }

  function count(entries: typeof gathered, id: string, refusal: Refusal, wait: number): void {
    const known = entries.get(id)
    const times = (known?.times ?? 0) + 1
    entries.set(id, { ...(known ?? { ...refusal, at: clock(), kind: 'REFUSED', detail: null }), times })
    if (!timers.has(entries)) timers.set(entries, setTimeout(() => void write(entries), wait).unref())
  }

  return {
    refused(given) {
      const refusal = { ...given, action: cut(given.action), outcome: cut(given.outcome) }
      const id = JSON.stringify(refusal)
      const whose = networkOf(refusal.address)
      const isKnown = gathered.has(id)
      if (isKnown || (gathered.size < most && takes(whose, clock()))) {
        count(gathered, id, refusal, interval)
        return !isKnown
      }
      const isOwn = overflow.has(whose) || overflow.size < most
      const others = { who: '', credential: 'several', action: 'several', outcome: 'refused' }
      const address = isOwn ? refusal.address : 'several'
      count(overflow, isOwn ? whose : '', { ...others, address }, overflowInterval)
      return false
    },
    async close() {
      await Promise.all([write(gathered), write(overflow)])
    },
  }
}

function cut(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText - 1).toWellFormed()}…` : text
}
