/** A standby is promoted that lacks the newest changes, while the old primary lives on: two histories, and subscribers of both. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { readHead } from '../../src/store/connection/log-head.ts'
import { openDatabase } from '../../src/store/open.ts'
import { transports } from '../graphql/clients.ts'
import { findPostgres, type PostgresServer } from '../support/databases/postgres-server.ts'
import { revisionsBetween } from '../support/databases/soundness.ts'
import { look, runOn, startPair, untilLevel, untilUsed } from '../support/databases/standby-pair.ts'
import { startWire, type Wire } from '../support/databases/wire.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

const header = 'rollcall-revision'
const changesOf =
  'subscription ($after: Revision) { changes(after: $after) { cursor change { revision } reset { reason } } }'
const countsOf = 'subscription { deploymentCounts { cursor counts { total } } }'
const question = '{ revision deploymentCounts { total } }'

interface Histories {
  /** Its host name leads to the old primary, and after `promote` to the promoted standby. */
  readonly moved: RunningApp
  /** Stays with the old primary, and would read the standby. */
  readonly stayed: RunningApp
  /** Writes from here on reach the old primary only. */
  separate(): Promise<void>
  promote(): Promise<void>
}

async function openHistories(): Promise<Histories> {
  const pair = await startPair()
  onTestFinished(() => pair.dispose())
  const [standby = expect.unreachable()] = pair.standbys
  const wire = await startWire(pair.primary.url)
  onTestFinished(() => wire.close())
  const start = async (open: Parameters<typeof startOn>[1]): Promise<RunningApp> => startOn(pair.primary, open)
  const moved = await start(() => openDatabase({ url: wire.url, dataDir: 'memory' }))
  const stayed = await start(() => pair.openKept())
  await untilUsed(stayed.app.database)
  return {
    moved,
    stayed,
    async separate() {
      await untilLevel(stayed.app.database)
      await runOn(standby, `alter system set primary_conninfo = ''`)
      await runOn(standby, 'select pg_reload_conf()')
      const replication = 'select 1 from pg_stat_replication'
      await expect.poll(() => stayed.app.database.transaction((session) => session.run(replication))).toEqual([])
    },
    promote: () => promote(standby, wire),
  }
}

async function startOn({ url }: PostgresServer, open: () => ReturnType<typeof openDatabase>): Promise<RunningApp> {
  const app = await startApp({ on: { config: { url, dataDir: 'memory' }, open, drop: async () => {} } })
  onTestFinished(() => app.stop())
  return app
}

async function promote(standby: PostgresServer, wire: Wire): Promise<void> {
  await standby.promote()
  wire.redirect(standby.url)
  wire.cut()
}

let n = 0
/** A report that creates a deployment; its revision. */
async function change(to: RunningApp): Promise<number> {
  n += 1
  const status = { deploymentId: `d-${n}`, status: { state: 'installing' }, components: [] }
  const answer = await to.post(`/device/edge-1/deployment/d-${n}/status`, status)
  expect(answer.ok).toBe(true)
  return Number(((await answer.json()) as { revision: string }).revision)
}

interface Told {
  readonly cursor: number
  readonly reset: string | null
}

type Transport = (typeof transports)[number]

function listen({ watch }: Transport, to: RunningApp, after: number) {
  const stream = watch(`${to.url}/graphql`, changesOf, { after: String(after) })
  return {
    async until(revision: number): Promise<Told[]> {
      const told: Told[] = []
      while (told.at(-1)?.cursor !== revision) {
        const { cursor, change, reset } = (await stream.data()).changes
        // A cursor without a change is a bookmark.
        if (change || reset) told.push({ cursor: Number(cursor), reset: reset?.reason ?? null })
      }
      return told
    },
    close: () => stream.close(),
  }
}

const changed = (...revisions: readonly number[]): Told[] => revisions.map((cursor) => ({ cursor, reset: null }))
const expired = (cursor: number): Told => ({ cursor, reset: 'CURSOR_EXPIRED' })

async function ask(to: RunningApp, seen?: number) {
  const response = await to.post('/graphql', { query: question }, seen === undefined ? {} : { [header]: String(seen) })
  const { data } = (await response.json()) as { data: { revision: string; deploymentCounts: { total: number } } }
  return { revision: Number(data.revision), total: data.deploymentCounts.total }
}

describe.skipIf(!findPostgres())('a promoted standby that lacks changes', () => {
  it.each(transports)(
    'expires once each cursor that knows them, and shows none of them, over $name',
    async (transport) => {
      const { moved, stayed, separate, promote } = await openHistories()
      const start = await change(moved)
      const known = [await change(stayed), await change(moved)]
      const total = (await ask(moved)).total
      await separate()
      const live = [listen(transport, moved, start), listen(transport, stayed, start)] as const
      const counts = transport.watch(`${moved.url}/graphql`, countsOf)
      const behind = known.at(-1) ?? expect.unreachable()
      const lost = [await change(moved), await change(stayed)]
      const ahead = lost.at(-1) ?? expect.unreachable()
      for (const subscriber of live) expect(await subscriber.until(ahead)).toEqual(changed(...known, ...lost))
      while (Number((await counts.data()).deploymentCounts.cursor) < ahead);

      await promote()
      const [there, here] = [await change(moved), await change(stayed)]
      expect([there > ahead, here]).toEqual([true, ahead + 1])
      expect(await live[0].until(there)).toEqual([expired(there - 1), ...changed(there)])
      expect(await live[1].until(here)).toEqual(changed(here))
      let update = (await counts.data()).deploymentCounts
      while (Number(update.cursor) < there) {
        expect([total, total + 2]).toContain(update.counts.total)
        update = (await counts.data()).deploymentCounts
      }
      expect(update.counts.total).toBe(total + 1)

      // Each reader gets one history, whatever it has seen of the other.
      for (const seen of [undefined, behind, ahead, here, there]) {
        expect(await ask(moved, seen)).toEqual({ revision: there, total: total + 1 })
        expect(await ask(stayed, seen)).toEqual({ revision: here, total: total + 3 })
      }
      // From one history to the other, and back.
      const resumed = [
        { to: moved, after: behind, until: there, events: changed(there) },
        { to: moved, after: here, until: there, events: [expired(there - 1), ...changed(there)] },
        { to: stayed, after: ahead, until: here, events: changed(here) },
      ]
      for (const { to, after, until, events } of resumed) {
        const subscriber = listen(transport, to, after)
        expect(await subscriber.until(until)).toEqual(events)
        await subscriber.close()
      }
      // A cursor above the head may be of any history: everything that is kept follows the reset.
      const { epochBase } = await readHead(stayed.app.database.session)
      const back = listen(transport, stayed, there)
      const next = await change(stayed)
      expect(await back.until(next)).toEqual([expired(epochBase), ...changed(...revisionsBetween(epochBase, next))])
      for (const one of [back, counts, ...live]) await one.close()
      expect(await look(stayed.app.database, 'present')).toEqual({ revision: next, isOnStandby: false })
    },
  )
})
