/** One batch with a clock that is weeks ahead puts the log's time there: it is said, and a new epoch ends it without losing order. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { beginEpoch } from '../../../src/store/connection/epoch.ts'
import { readHead, secondsAhead } from '../../../src/store/connection/log-head.ts'
import { resolvePast } from '../../../src/store/read/past.ts'
import { startApi } from '../../graphql/harness.ts'
import { report } from '../../support/clients/reports.ts'
import { everyStore } from '../../support/databases/stores.ts'

const second = 1_000
const weeks = 20 * 86_400 * second

describe.each(everyStore)('a clock that jumped on $name', (store) => {
  it('is said by the audit, and ends with an epoch that begins at the right time', async () => {
    // Later than the database begins, so that its log's time is ours.
    let now = Date.now() + 60 * second
    const api = await startApi({ store, road: { writer: { clock: () => now } } })
    onTestFinished(() => api.close())
    const { database, writer } = api.road
    const { revision: start } = await readHead(database.session)
    const revisions: number[] = []
    const say = async (state: 'PENDING' | 'INSTALLING' | 'INSTALLED' | 'FAILED'): Promise<number> => {
      revisions.push((await writer.submit(recordReport(report({ state })))).revision)
      return (await readHead(database.session)).at
    }
    const told: number[] = []
    const stream = api.road.changes({ filter: {}, after: start })
    const listening = (async () => {
      for await (const { cursor, reset } of stream) told.push(reset === null ? cursor : -1)
    })()
    const asOf = async (time: number): Promise<number | null> => {
      const snapshot = await database.snapshot()
      return resolvePast(snapshot, { asOf: time, atRevision: null }).finally(() => snapshot.close())
    }

    const began = now
    expect(await say('PENDING')).toBe(began)
    now = began + weeks
    expect(await say('INSTALLING')).toBe(began + weeks)
    now = began + 3 * second
    expect(await say('FAILED')).toBe(began + weeks)
    expect(secondsAhead(await readHead(database.session), now)).toBe((weeks - 3 * second) / second)
    const { audit } = await api.ask('{ audit { logAheadSeconds drift { scope } } }')
    expect(audit.logAheadSeconds).toBeGreaterThan(weeks / second - 600)
    expect(audit.drift).toEqual([])

    const base = await database.transaction((session) => beginEpoch(session, now, { timeFromClock: true }))
    expect(secondsAhead(await readHead(database.session), now)).toBe(0)
    now += second
    expect(await say('INSTALLED')).toBe(began + 4 * second)
    expect(revisions).toEqual(revisions.toSorted((a, b) => a - b))
    await expect.poll(() => told).toEqual(revisions)

    const [first, , , last] = revisions
    expect(await asOf(began + second)).toBe(first)
    expect(await asOf(began + 3 * second)).toBe(base)
    expect(await asOf(began + 4 * second)).toBe(last)
    now = began + weeks + second
    await say('PENDING')
    // The time that the jump had left is passed by now, and what was said then does not come back.
    expect(await asOf(began + weeks)).toBe(last)
    await stream.return()
    await listening
  })
})
