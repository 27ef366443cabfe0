/**
 * The sessions of the shared subscription. A broker keeps the unacknowledged and the queued messages of a session until its client returns.
 * So a session must not belong to a server that may not return: the servers hold them by leases, like clusters, and a server takes over the
 * sessions of one that is gone.
 *
 *   count the servers → give back what exceeds the share → take free sessions up to the share
 */
import type { Millis } from '../../domain/values.ts'
import type { Log } from '../../platform/log/log.ts'
import { within } from '../../platform/timing/within.ts'
import type { Database } from '../../store/database.ts'
import { createRenewal, type Leases } from '../../store/lease-renewal.ts'
import { countLeaseHolders } from '../../store/leases.ts'
import type { SubscriptionState } from './subscription.ts'

/** One open session. */
export interface Session {
  /** Messages that are not acknowledged. */
  size(): number
  /** Of its subscription. */
  state(): SubscriptionState
  /** Takes no further message, and ends the connection. The session stays at the broker. */
  stop(): Promise<void>
  /** Drops the connection: another server may hold the session already. */
  drop(): Promise<void>
}

interface SessionsOptions {
  readonly database: Pick<Database, 'session'>
  readonly count: number
  /** The beginning of the names of the leases. */
  readonly name: string
  readonly open: (index: number) => Session
  readonly log: Log
  readonly clock: () => Millis
  /** Milliseconds between renewals. A lease lasts six of them. */
  readonly interval: number
}

interface Sessions {
  held(): readonly Session[]
  stop(): Promise<void>
}

export function createSessions({ database, count, name, open, log, clock, interval }: SessionsOptions): Sessions {
  const serverPrefix = `${name}:server:`
  /**
   * How long a session may take to end in order. It waits for COMMIT and for the broker. Without a limit its lease would expire, and this server
   * and the next one would end each other's connection to it.
   */
  const patience = 2 * interval
  const held = new Map<string, Session>()
  const all = Array.from({ length: count }, (_, index) => ({ index, name: `${name}:${index}` }))
  /** In which free sessions are looked for. Those that were not free come last, so each is asked for within a few rounds. */
  let order = shuffled(all.map(({ name }) => name))
  let isStopped = false

  async function renew(leases: Leases): Promise<ReadonlySet<string>> {
    await leases.hold([`${serverPrefix}${leases.holder}`, ...held.keys()])
    const servers = await countLeaseHolders(database.session, serverPrefix, clock())
    const share = Math.ceil(count / Math.max(servers, 1))
    await giveBack(leases, [...held.keys()].slice(share))
    const wanted = order.filter((name) => !held.has(name)).slice(0, Math.max(share - held.size, 0))
    order = [...order.filter((name) => !wanted.includes(name)), ...wanted]
    return leases.hold([...held.keys(), ...wanted])
  }

  async function openHeld(names: ReadonlySet<string>): Promise<void> {
    await Promise.all([...held].filter(([name]) => !names.has(name)).map(([name, session]) => lose(name, session)))
    if (!isStopped)
      for (const { index, name } of all) if (names.has(name) && !held.has(name)) held.set(name, open(index))
  }

  async function lose(name: string, session: Session): Promise<void> {
    held.delete(name)
    await session.drop()
  }

  async function end(session: Session | undefined): Promise<void> {
    if (session && !(await within(patience, session.stop()))) await session.drop()
  }

  async function giveBack(leases: Leases, names: readonly string[]): Promise<void> {
    if (names.length === 0) return
    await Promise.all(names.map((name) => end(held.get(name))))
    for (const name of names) held.delete(name)
    await leases.release(names)
  }

  const renewal = createRenewal({
    database,
    interval,
    clock,
    renew,
    held: openHeld,
    failed: (error) => log.warn({ error }, 'the leases of MQTT sessions were not renewed: trying again'),
  })

  return {
    held: () => [...held.values()],
    async stop() {
      isStopped = true
      await renewal.stop()
      await Promise.all([...held.values()].map(end))
      const { leases } = renewal
      await leases
        .release([...held.keys(), `${serverPrefix}${leases.holder}`])
        .catch((error: unknown) => log.debug({ error }, 'the leases of MQTT sessions were not released'))
    },
  }
}

/** Servers that start together take different sessions. */
function shuffled(names: readonly string[]): string[] {
  return names
    .map((name) => ({ name, order: Math.random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ name }) => name)
}
