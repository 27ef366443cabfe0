/**
 * Renews the leases of one server at an interval. What it holds by them ends as soon as another server may hold it: when a lease is lost, or when
 * renewals fail until the leases end.
 */
import { randomUUID } from 'node:crypto'
import type { Millis } from '../domain/values.ts'
import type { Database } from './database.ts'
import { holdLeases, releaseLeases } from './leases.ts'

interface RenewalOptions {
  readonly database: Pick<Database, 'session'>
  /** Milliseconds between renewals. A lease lasts six of them. */
  readonly interval: Millis
  readonly clock: () => Millis
  /** Chooses the leases and takes them by `hold`. Returns those that this server has. */
  readonly renew: (leases: Leases) => Promise<ReadonlySet<string>>
  /** Ends what belongs to other leases than these, and begins what is missing. */
  readonly held: (names: ReadonlySet<string>) => Promise<void>
  readonly failed: (error: unknown) => void
}

/** Of this server. */
export interface Leases {
  readonly holder: string
  /** Takes or renews them. Returns those that this server has. */
  hold(names: readonly string[]): Promise<Set<string>>
  release(names: readonly string[]): Promise<void>
}

interface Renewal {
  readonly leases: Leases
  /** Ends the renewals. The leases stay held until they are released. */
  stop(): Promise<void>
}

export function createRenewal({ database, interval, clock, renew, held, failed }: RenewalOptions): Renewal {
  const { session } = database
  const holder = randomUUID()
  const term = 6 * interval
  const leases: Leases = {
    holder,
    hold: (names) => holdLeases(session, { names, holder, now: clock(), term }),
    release: (names) => releaseLeases(session, names, holder),
  }
  /** A time of performance.now(), because the wall clock can be set. The leases begin no earlier than their request was sent. */
  let heldUntil = 0
  let round: Promise<void> | null = null

  async function renewAll(): Promise<void> {
    const asked = performance.now()
    try {
      const names = await renew(leases)
      heldUntil = asked + term
      await held(names)
    } catch (error) {
      failed(error)
      // Another server may have them before the next renewal.
      if (performance.now() + interval >= heldUntil) await held(new Set())
    }
  }

  function tick(): void {
    round ??= renewAll().finally(() => {
      round = null
    })
  }

  const timer = setInterval(tick, interval)
  tick()
  return {
    leases,
    async stop() {
      clearInterval(timer)
      await round
    },
  }
}
