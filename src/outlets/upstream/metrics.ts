/** The metrics of the link. They are registered only where UPSTREAM_URL is set. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Revision } from '../../domain/values.ts'
import type { NextBatch } from './batches.ts'
import type { LinkState } from './link-state.ts'

interface UpstreamMetrics {
  taken(next: NextBatch): void
  sent(bytes: number): void
}

export function createUpstreamMetrics(registry: Registry, state: LinkState, newest: () => Revision): UpstreamMetrics {
  const registers = [registry]
  const facts = new Counter({
    name: 'rollcall_upstream_facts_total',
    help: 'Facts that the server above has acknowledged.',
    registers,
  })
  const bytes = new Counter({
    name: 'rollcall_upstream_bytes_total',
    help: 'Bytes of compressed batches that were answered by the server above.',
    registers,
  })
  new Gauge({
    name: 'rollcall_upstream_connected',
    help: 'Whether this server sends to the one above, which takes what it gets. Of several servers on one database, one sends.',
    registers,
    collect() {
      this.set(state.condition() === 'CONNECTED' ? 1 : 0)
    },
  })
  new Gauge({
    name: 'rollcall_upstream_backlog',
    help: 'Changes that the server above has not acknowledged. 0 on a server that does not send.',
    registers,
    collect() {
      this.set(state.backlog(newest()) ?? 0)
    },
  })
  return {
    taken: ({ batch }) => facts.inc(batch.facts?.length ?? 0),
    sent: (size) => bytes.inc(size),
  }
}
