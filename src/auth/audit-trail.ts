/**
 * Refused credentials on their way into the audit log. Whoever guesses does so often: what is alike is gathered, and written as one line
 * that says how many times.
 */
import type { Millis } from '../domain/deployment.ts'
import { type AuditEntry, recordAudit } from '../ingest/commands/api-access.ts'
import type { Writer } from '../ingest/writer.ts'

/** Never what was presented itself. */
export type Refusal = Pick<AuditEntry, 'who' | 'credential' | 'address' | 'action' | 'outcome'>

export interface AuditTrail {
  refused(refusal: Refusal): void
  /** Writes what has been gathered. */
  close(): Promise<void>
}

export interface AuditTrailDeps {
  readonly writer: Pick<Writer, 'submit'>
  readonly clock?: () => Millis
  /** Milliseconds in which refusals are gathered. */
  readonly interval?: number
  readonly failed?: (error: unknown) => void
}

/** Different ones that are gathered at a time; those beyond are counted together. */
const most = 500

export function createAuditTrail(deps: AuditTrailDeps): AuditTrail {
  const { writer, clock = Date.now, interval = 1_000, failed = () => {} } = deps
  const gathered = new Map<string, AuditEntry>()
  let timer: NodeJS.Timeout | null = null

  async function write(): Promise<void> {
    timer = null
    const entries = [...gathered.values()]
    gathered.clear()
    if (entries.length > 0) await writer.submit(recordAudit(entries)).catch(failed)
  }

  return {
    refused(refusal) {
      const whole = JSON.stringify(refusal)
      const isKnown = gathered.has(whole) || gathered.size < most
      const id = isKnown ? whole : ''
      const others = { who: '', credential: 'several', address: 'several', action: 'several', outcome: 'refused' }
      const known = gathered.get(id)
      gathered.set(id, {
        ...(isKnown ? refusal : others),
        at: known?.at ?? clock(),
        kind: 'REFUSED',
        detail: null,
        times: (known?.times ?? 0) + 1,
      })
      timer ??= setTimeout(() => void write(), interval)
    },
    async close() {
      if (timer) clearTimeout(timer)
      await write()
    },
  }
}
