/**
 * Writes refused credentials to the audit log. A client that guesses credentials repeats itself, so equal refusals become one line with a
 * count. Each address has a share of the lines, and above it one line a minute. So a client without a credential cannot fill the disk.
 */
import type { Millis } from '../../domain/values.ts'
import { recordAudit } from '../../ingest/commands/api-access.ts'
import type { Writer } from '../../ingest/writer.ts'
import { networkOf } from '../../platform/limits/address.ts'
import { createBuckets } from '../../platform/limits/rate.ts'
import type { AuditEntry } from '../../store/read/api-access.ts'

/** It never contains the presented credential. */
export type Refusal = Pick<AuditEntry, 'caller' | 'credential' | 'address' | 'action' | 'outcome'>

export interface AuditTrail {
  /** Records a refusal. True: log it. False: it repeats an earlier one, or the address has used up its share. */
  refused(refusal: Refusal): boolean
  /** Writes the collected refusals. */
  close(): Promise<void>
}

interface AuditTrailDeps {
  readonly writer: Pick<Writer, 'submit'>
  readonly clock: () => Millis
  /** Milliseconds in which equal refusals are collected. */
  readonly interval?: number
  readonly failed?: (error: unknown) => void
}

/** Distinct refusals that are collected at a time. Further ones are counted together. */
const most = 500
/** Burst of lines of one address, and milliseconds until it may write one more. */
const share = 20
const refill = 10_000
/** Milliseconds between the lines of an address that has used up its share. */
const overflowInterval = 60_000
/** Characters. A refusal may quote the request. */
const longestText = 200

export function createAuditTrail(deps: AuditTrailDeps): AuditTrail {
  const { writer, clock, interval = 1_000, failed = () => {} } = deps
  const gathered = new Map<string, AuditEntry>()
  /** By network. The empty key counts all networks above the limit. */
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
      const network = networkOf(refusal.address)
      const isKnown = gathered.has(id)
      if (isKnown || (gathered.size < most && takes(network, clock()))) {
        count(gathered, id, refusal, interval)
        return !isKnown
      }
      const isOwn = overflow.has(network) || overflow.size < most
      const others = { caller: '', credential: 'several', action: 'several', outcome: 'refused' }
      const address = isOwn ? refusal.address : 'several'
      count(overflow, isOwn ? network : '', { ...others, address }, overflowInterval)
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
