/** The outcome of COMMIT is unknown when the connection is lost with it on its way. It is settled, not repeated. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { startFleet } from '../../support/clients/fleet.ts'
import { follow } from '../../support/clients/follow.ts'
import { report } from '../../support/clients/reports.ts'
import { expectKept, expectSound, revisionsBetween } from '../../support/databases/soundness.ts'
import { postgresStores, type Store } from '../../support/databases/stores.ts'
import { isOptimistic, startWire, type Wire, writersCommit } from '../../support/databases/wire.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'

async function behindWire(store: Store, checked = (): void => {}): Promise<{ road: Road; wire: Wire }> {
  const empty = await store.create()
  onTestFinished(() => empty.drop())
  const wire = await startWire(empty.config.url ?? '')
  onTestFinished(() => wire.close())
  const road = await createRoad(await openDatabase({ url: wire.url, dataDir: 'memory' }), {
    writer: { commitTimeout: 60_000, checkIdentity: async () => checked() },
  })
  onTestFinished(() => road.close())
  return { road, wire }
}

describe.each(postgresStores)('a connection lost with COMMIT on its way on $name', (store) => {
  it.each([
    { moment: 'answered', it: 'was committed: its verdicts are found and nothing is repeated' },
    { moment: 'asked', it: 'never arrived: the batch is written' },
  ] as const)('that $it', async ({ moment }) => {
    const { road, wire } = await behindWire(store)
    const before = await readHead(road.database.session)
    const follower = follow(road, before.revision)
    const isCommit = writersCommit()
    let cuts = 0
    wire.watch((passing) => (isCommit(passing) && passing.moment === moment && cuts++ === 0 ? 'cut' : 'pass'))

    const states = ['INSTALLED', 'INSTALLING', 'INSTALLED'] as const
    const outcomes = await Promise.all(states.map((state) => road.writer.submit(recordReport(report({ state })))))

    expect(cuts).toBeGreaterThan(0)
    const { revision } = before
    expect(outcomes).toEqual([1, 2, 3].map((n) => ({ verdict: 'APPLIED', revision: revision + n })))
    const after = await readHead(road.database.session)
    expect(after).toMatchObject({ revision: revision + 3, writes: before.writes + 1 })
    const rows = await road.database.session.run('select attempt, repeats::int from deployments')
    expect(rows).toEqual([{ attempt: 2, repeats: 0 }])
    await expect.poll(() => follower.revisions()).toEqual(revisionsBetween(revision, revision + 3))
    await follower.leave()
  })

  it.each([
    { moment: 'answered', of: 'the first', written: 1, next: 'goes on' },
    { moment: 'answered', of: 'the second', written: 2, next: 'goes on' },
    { moment: 'asked', of: 'the first', written: 0, next: 'goes on' },
    { moment: 'asked', of: 'the second', written: 1, next: 'goes on' },
    { moment: 'asked', of: 'the first', written: 0, next: 'is lost again before the second is written' },
  ] as const)(
    'that was $moment of $of of two batches on their way, and $next, is settled for both',
    async ({ moment, of, written, next }) => {
      const { road, wire } = await behindWire(store)
      const submit = (device: number, state: 'INSTALLED' | 'INSTALLING') =>
        road.writer.submit(recordReport(report({ reporter: `r-${device}`, deploymentId: `d-${device}`, state })))
      // From the third batch on they are known, and it is known that no other server writes.
      for (let n = 0; n < 3; n += 1)
        await Promise.all(
          Array.from({ length: 100 }, (_, device) => submit(device, n % 2 ? 'INSTALLED' : 'INSTALLING')),
        )
      const before = await readHead(road.database.session)
      const follower = follow(road, before.revision)
      let [cuts, seen, sent] = [0, 0, 0]
      let isAgain = next === 'goes on'
      let hasCommitted = false
      wire.watch((passing) => {
        if (!isOptimistic(passing)) {
          if (cuts === 0 || isAgain) return 'pass'
          // By now the first is written under another number, which is greater than the second's.
          if (passing.statement === 'commit' && passing.moment === 'answered') hasCommitted = true
          isAgain = hasCommitted && passing.statement.includes('for update')
          return isAgain ? 'cut' : 'pass'
        }
        if (passing.moment === 'asked') sent += 1
        if (passing.moment !== moment || cuts > 0) return 'pass'
        seen += 1
        if (seen < (of === 'the first' ? 1 : 2)) return 'pass'
        cuts += 1
        return 'cut'
      })
      const outcomes = await Promise.all(Array.from({ length: 100 }, (_, device) => submit(device, 'INSTALLED')))
      expect(cuts).toBe(1)
      expect(isAgain).toBe(true)
      expect(sent).toBeGreaterThanOrEqual(Math.max(written, 1))
      const { revision } = before
      const told = outcomes.map((outcome) => outcome.revision).toSorted((a, b) => a - b)
      expect(told).toEqual(revisionsBetween(revision, revision + 100))
      const rows = await road.database.session.run('select distinct attempt, repeats::int from deployments')
      expect(rows).toEqual([{ attempt: 2, repeats: 0 }])
      expect(await readHead(road.database.session)).toMatchObject({
        revision: revision + 100,
        writes: before.writes + 2,
      })
      await expect.poll(() => follower.revisions()).toEqual(revisionsBetween(revision, revision + 100))
      await follower.leave()
      await expectSound(road.database)
    },
  )

  it('is looked up before anything else, even if that fails at first', async () => {
    let isLost = false
    const { road, wire } = await behindWire(store, () => {
      if (!isLost) return
      isLost = false
      throw new Error('not now')
    })
    const isCommit = writersCommit()
    wire.watch((passing) => {
      if (isLost || !isCommit(passing) || passing.moment === 'asked') return 'pass'
      isLost = true
      wire.watch(() => 'pass')
      return 'cut'
    })
    const states = ['INSTALLED', 'INSTALLING', 'INSTALLED'] as const
    const outcomes = await Promise.all(states.map((state) => road.writer.submit(recordReport(report({ state })))))
    expect(outcomes.map(({ verdict }) => verdict)).toEqual(['APPLIED', 'APPLIED', 'APPLIED'])
    expect(await road.database.session.run('select attempt, repeats::int from deployments')).toEqual([
      { attempt: 2, repeats: 0 },
    ])
  })

  it('again and again, under load, costs nothing and doubles nothing', async () => {
    const { road, wire } = await behindWire(store)
    const { revision } = await readHead(road.database.session)
    const follower = follow(road, revision)
    const isCommit = writersCommit()
    let commits = 0
    let cuts = 0
    wire.watch((passing) => {
      if (!isCommit(passing)) return 'pass'
      commits += 1
      if (commits % 5 !== 0) return 'pass'
      cuts += 1
      return 'cut'
    })
    const fleet = startFleet(20, () => (said) => road.writer.submit(recordReport(said)))
    await expect.poll(() => cuts).toBeGreaterThanOrEqual(12)
    wire.watch(() => 'pass')
    const played = await fleet.finish()

    expect(played.flatMap(({ outcomes }) => outcomes.filter(({ verdict }) => verdict !== 'APPLIED'))).toEqual([])
    await expectKept(road.database, played)
    await expectSound(road.database)
    const head = await readHead(road.database.session)
    await expect.poll(() => follower.revisions().at(-1)).toBe(head.revision)
    expect(follower.revisions()).toEqual(revisionsBetween(revision, head.revision))
    await follower.leave()
  })
})
