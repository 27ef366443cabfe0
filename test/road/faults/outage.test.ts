/** PostgreSQL goes away in the middle of batches and comes back: devices get a 503 with a time to retry, and nothing else changes for clients. */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Change } from '../../../src/domain/change.ts'
import { DomainError } from '../../../src/domain/errors.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { beginEpoch } from '../../../src/store/connection/epoch.ts'
import { isTransient } from '../../../src/store/connection/failure.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { type Send, startFleet } from '../../support/clients/fleet.ts'
import { follow, watch } from '../../support/clients/follow.ts'
import { report } from '../../support/clients/reports.ts'
import { findPostgres, type PostgresServer, startPostgres } from '../../support/databases/postgres-server.ts'
import { expectKept, expectSound, revisionsBetween } from '../../support/databases/soundness.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'

/** A caller that cannot be answered now gets a 503; any other answer is a fault. */
const sendTo =
  ({ writer }: Road): Send =>
  (said) =>
    writer.submit(recordReport(said)).catch((error: unknown) => {
      if (error instanceof DomainError && error.code === 'UNAVAILABLE') return null
      throw error
    })

async function openRoad(commitTimeout: number): Promise<{ server: PostgresServer; road: Road }> {
  const server = await startPostgres()
  onTestFinished(() => server.dispose())
  const road = await createRoad(await openDatabase({ url: server.url, dataDir: 'memory' }), {
    writer: { commitTimeout },
  })
  onTestFinished(() => road.close())
  return { server, road }
}

const change = ({ writer }: Road, state: 'INSTALLING' | 'INSTALLED') => writer.submit(recordReport(report({ state })))

describe.skipIf(!findPostgres())('PostgreSQL that goes away in the middle of batches', () => {
  it.each(['immediate', 'fast'] as const)(
    '(%s) costs no report, doubles none, and no subscriber a change',
    async (mode) => {
      const { server, road } = await openRoad(200)
      const start = (await readHead(road.database.session)).revision
      const follower = follow(road, start)
      const watcher = watch(road)

      const fleet = startFleet(30, () => sendTo(road))
      for (let round = 1; round <= 3; round += 1) {
        const before = fleet.acknowledged
        await expect.poll(() => fleet.acknowledged).toBeGreaterThan(before + 300)
        await server.stop(mode)
        const refused = fleet.unanswered
        await expect.poll(() => fleet.unanswered).toBeGreaterThan(refused + 30)
        await server.start()
      }
      const before = fleet.acknowledged
      await expect.poll(() => fleet.acknowledged).toBeGreaterThan(before + 300)
      const played = await fleet.finish()

      await expectKept(road.database, played)
      await expectSound(road.database)
      const head = await readHead(road.database.session)
      await expect.poll(() => follower.events.at(-1)?.cursor).toBe(head.revision)
      expect(follower.revisions()).toEqual(revisionsBetween(start, head.revision))
      expect(follower.resets()).toEqual([])
      await expect.poll(() => watcher.updates.at(-1)?.cursor).toBe(head.revision)
      const from = watcher.updates[0]?.cursor ?? expect.unreachable()
      expect(watcher.updates.flatMap(({ revisions }) => revisions)).toEqual(revisionsBetween(from, head.revision))
      await follower.leave()
      await watcher.leave()
    },
  )
})

describe.skipIf(!findPostgres())('a stream that has begun before PostgreSQL goes away', () => {
  it('of a state goes on with what it had not told yet', async () => {
    const { server, road } = await openRoad(60_000)
    const stream = road.watch({ topics: ['all'] })
    const present = await stream.next()
    present.value?.release()
    const { revision } = await change(road, 'INSTALLING')
    await server.stop('immediate')
    const next = stream.next()
    await expect(road.watch({ topics: ['all'] }).next()).rejects.toSatisfy(isTransient)
    await server.start()
    const { value } = await next
    expect(value?.cursor).toBe(revision)
    expect(value?.changes.map((told: Change) => told.revision)).toEqual([revision])
    value?.release()
    await stream.return?.()
  })

  it('of changes goes on in the epoch that began meanwhile', async () => {
    const { server, road } = await openRoad(60_000)
    const start = (await readHead(road.database.session)).revision
    const stream = road.changes({ filter: {}, after: start })
    const first = stream.next()
    await change(road, 'INSTALLING')
    await first
    const second = stream.next()
    const { revision: told } = await change(road, 'INSTALLED')
    expect((await second).value?.cursor).toBe(told)
    // It listens, and no reader takes anything from it when the log breaks off.
    const base = await road.database.transaction((session) => beginEpoch(session, Date.now()))
    await expect.poll(() => road.feed.hub.last).toBe(base)
    await server.stop('immediate')
    const next = stream.next()
    await expect(road.changes({ filter: {}, after: start }).next()).rejects.toSatisfy(isTransient)
    await server.start()
    const { revision } = await change(road, 'INSTALLING')
    expect((await next).value).toMatchObject({ cursor: revision, reset: null })
    await stream.return?.()
  })

  it.runIf(isWhole)('can be left meanwhile', async () => {
    const { server, road } = await openRoad(60_000)
    const stream = road.watch({ topics: ['all'] })
    const present = await stream.next()
    present.value?.release()
    await change(road, 'INSTALLING')
    await server.stop('immediate')
    const next = stream.next()
    await expect(road.database.ping()).rejects.toSatisfy(isTransient)
    await stream.return?.()
    expect(await next).toEqual({ done: true, value: undefined })
    expect(road.feed.subscribers.states).toBe(0)
    await server.start()
  })
})
