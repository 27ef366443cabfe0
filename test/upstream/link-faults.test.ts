/** The link to the server above fails in every way, and the database of either end is restored. */
import { describe, expect, it } from 'vitest'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { beginEpoch } from '../../src/store/connection/epoch.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import { pruneHistory } from '../../src/store/write/retention.ts'
import { report } from '../support/clients/reports.ts'
import { everyStore, postgresStores } from '../support/databases/stores.ts'
import type { Road } from '../support/servers/road.ts'
import type { Fault } from '../support/systems/site-receiver.ts'
import { expectSame, type Site, untilLevel, useUpstream } from './harness.ts'

const say = ({ writer }: Road, reporter: string, some: Parameters<typeof report>[0] = {}) =>
  writer.submit(recordReport(report({ reporter, ...some })))

const faults: readonly Fault[] = [
  { do: 'cut' },
  { do: 'cut after' },
  { do: 'half' },
  { do: 'endless' },
  { do: 'answer', status: 500, body: '{}' },
  { do: 'answer after', status: 503, body: '<html>' },
  { do: 'answer', status: 200, body: '<html>' },
  { do: 'answer', status: 409, body: '{"position":7}' },
  { do: 'answer', status: 200, body: `${'['.repeat(100_000)}` },
  { do: 'answer', status: 302, body: '' },
]

describe.each(everyStore)('a site whose link fails, on $name', (store) => {
  const { above, startRoad, send } = useUpstream(store)

  it('goes on after each fault, and says in the log when it begins and when it is over', async () => {
    const [receiver, road] = [await above(), await startRoad()]
    const site = send(road, receiver)
    await untilLevel(road, receiver)
    const { revision } = await readHead(road.database.session)
    for (const [n, fault] of faults.entries()) {
      // A batch, and the question after it.
      const next = [fault, fault]
      receiver.fault(() => next.shift() ?? null)
      await say(road, 'edge-1', { state: n % 2 === 0 ? 'INSTALLING' : 'FAILED' })
      await receiver.until(() => next.length === 0)
      await untilLevel(road, receiver)
    }
    await site.stop()
    await expectSame(road.database, receiver, revision)
    const [isOver, isBegin] = [/takes what this one sends/, /^the server above (cannot|answers|speaks|does)/]
    const said = site.lines.filter((line) => isOver.test(line) || isBegin.test(line))
    expect(said.filter((line, n) => isOver.test(line) && isOver.test(said[n + 1] ?? ''))).toEqual([])
    expect(said.filter((line) => isBegin.test(line)).length).toBeGreaterThan(5)
    expect(said.at(-1)).toMatch(isOver)
  })

  it('writes one line for an outage, however long, and needs no answer to end', async () => {
    const [receiver, road] = [await above(), await startRoad()]
    receiver.fault(() => ({ do: 'cut' }))
    const site = send(road, receiver)
    await receiver.until(() => receiver.requests() > 6)
    expect(site.lines).toEqual([expect.stringContaining('cannot be reached')])
    expect(site.upstream.describe()).toEqual({ state: 'UNREACHABLE', backlog: null, lastTaken: null })
    receiver.fault(() => ({ do: 'silent' }))
    const before = receiver.requests()
    await receiver.until(() => receiver.requests() > before)
    await site.stop()
  })

  it('says why it is refused, and goes on when it no longer is', async () => {
    const [receiver, road] = [await above({ token: 'another' }), await startRoad()]
    const refused = send(road, receiver)
    await receiver.until(() => receiver.requests() > 3)
    expect(refused.lines).toEqual([
      'the server above answers 401: this token is of no site: check UPSTREAM_TOKEN or UPSTREAM_CERT',
    ])
    expect(refused.upstream.describe().state).toBe('REFUSED')
    await refused.stop()
    send(road, receiver, { token: 'another' })
    await untilLevel(road, receiver)
  })

  it('says that the one above speaks another version of the protocol', async () => {
    const [receiver, road] = [await above({ protocols: [2, 3] }), await startRoad()]
    const site = send(road, receiver)
    await receiver.until(() => receiver.requests() > 2)
    expect(site.upstream.describe().state).toBe('MISMATCH')
    expect(site.lines[0]).toContain('speaks the versions 2, 3 of the protocol, and this one speaks 1')
  })

  it('sends less at once where a batch takes too long', async () => {
    const [receiver, road] = [await above(), await startRoad()]
    send(road, receiver, { patience: 300 })
    await untilLevel(road, receiver)
    let most = Number.POSITIVE_INFINITY
    receiver.fault(() => {
      const isSlow = most > 500
      most /= 2
      return isSlow ? { do: 'silent' } : null
    })
    most = 2_000
    await Promise.all(Array.from({ length: 1_500 }, (_, n) => say(road, `edge-${n}`)))
    await untilLevel(road, receiver)
    expect(receiver.violations).toEqual([])
    expect(Math.max(...receiver.batches.map(({ batch }) => batch.facts?.length ?? 0))).toBeLessThan(1_500)
  })

  it('begins again where the one above was restored to', async () => {
    const [receiver, road] = [await above(), await startRoad()]
    send(road, receiver)
    await untilLevel(road, receiver)
    const { revision } = await readHead(road.database.session)
    await say(road, 'edge-1', { state: 'INSTALLING' })
    await untilLevel(road, receiver)
    const copy = receiver.copy()
    await say(road, 'edge-1', { state: 'INSTALLED' })
    await untilLevel(road, receiver)
    receiver.restore(copy)
    await say(road, 'edge-1', { state: 'FAILED' })
    await untilLevel(road, receiver)
    await expectSame(road.database, receiver, revision)
    expect(receiver.held().snapshots).toBe(1)
  })

  it('names what the one above does not know', async () => {
    const [receiver, road] = [await above(), await startRoad()]
    send(road, receiver)
    await say(road, 'edge-1', { state: 'INSTALLING' })
    await untilLevel(road, receiver)
    receiver.loseNames()
    await say(road, 'edge-1', { state: 'INSTALLED' })
    await untilLevel(road, receiver)
    expect(receiver.batches.at(-1)?.batch.facts?.at(-1)).toMatchObject({ named: { deploymentId: 'd-1' } })
    expect(receiver.violations).toEqual([])
  })

  it('goes on in another epoch if the one above was not ahead of the copy, with all targets again', async () => {
    const [receiver, road] = [await above(), await startRoad()]
    await say(road, 'edge-1', { state: 'INSTALLING' })
    const first = send(road, receiver)
    await untilLevel(road, receiver)
    const { revision } = await readHead(road.database.session)
    await first.stop()
    await say(road, 'edge-2', { state: 'INSTALLING' })
    await road.database.transaction((session) => beginEpoch(session, Date.now()))
    await say(road, 'edge-1', { state: 'INSTALLED' })
    send(road, receiver)
    await untilLevel(road, receiver)
    await expectSame(road.database, receiver, revision)
    const { snapshots, position } = receiver.held()
    expect({ snapshots, epoch: position?.epoch }).toEqual({
      snapshots: 1,
      epoch: (await readHead(road.database.session)).epochBase,
    })
    const names = receiver.batches.slice(1).flatMap(({ batch }) => (batch.targets ?? []).map(({ name }) => name))
    expect(names.toSorted()).toEqual(['edge-1', 'edge-2'])
  })

  it('sends its present if the one above was ahead of the copy that it was restored from', async () => {
    const [receiver, road] = [await above(), await startRoad()]
    await say(road, 'edge-1', { state: 'INSTALLING' })
    const first = send(road, receiver)
    await untilLevel(road, receiver)
    await first.stop()
    const lost = receiver.copy()
    if (lost.position) lost.position = { ...lost.position, revision: lost.position.revision + 5 }
    receiver.restore(lost)
    await road.database.transaction((session) => beginEpoch(session, Date.now()))
    await say(road, 'edge-1', { state: 'INSTALLED' })
    const again = send(road, receiver)
    await untilLevel(road, receiver)
    await expectSame(road.database, receiver, (await readHead(road.database.session)).revision)
    expect(receiver.held().snapshots).toBe(2)
    expect(again.lines[0]).toContain('its position is not in the log: the database was restored')
  })

  it('notices a copy that was restored without another epoch', async () => {
    const [receiver, road] = [await above(), await startRoad()]
    await say(road, 'edge-1', { state: 'INSTALLING' })
    const first = send(road, receiver)
    await untilLevel(road, receiver)
    await first.stop()
    const lost = receiver.copy()
    if (lost.position) lost.position = { ...lost.position, writes: lost.position.writes + 5 }
    receiver.restore(lost)
    send(road, receiver)
    await receiver.until(() => receiver.held().snapshots === 2)
    expect(receiver.violations).toEqual([])
  })

  it('sends its present if retention has removed what follows', async () => {
    const [receiver, road] = [await above(), await startRoad()]
    await say(road, 'edge-1', { state: 'INSTALLING' })
    const first = send(road, receiver)
    await untilLevel(road, receiver)
    await first.stop()
    for (const state of ['FAILED', 'INSTALLING', 'INSTALLED'] as const) await say(road, 'edge-1', { state })
    await pruneHistory(road.database, Date.now() + 3_600_000, 1_000)
    await say(road, 'edge-2')
    const again = send(road, receiver)
    await untilLevel(road, receiver)
    expect(receiver.held().snapshots).toBe(2)
    await expectSame(road.database, receiver, (await readHead(road.database.session)).revision)
    expect(again.lines[0]).toContain('the history after its position is no longer stored')
  })

  it('goes on with a snapshot where it was cut, and has it finished before the facts', async () => {
    const [receiver, road] = [await above(), await startRoad()]
    await Promise.all(Array.from({ length: 700 }, (_, n) => say(road, `edge-${n}`)))
    let posts = 0
    receiver.fault(({ method }) => {
      posts += method === 'POST' ? 1 : 0
      return method === 'POST' && posts === 1 ? { do: 'cut after' } : null
    })
    send(road, receiver)
    await receiver.until(() => posts >= 1)
    await say(road, 'edge-1', { state: 'FAILED' })
    await say(road, 'late', { state: 'FAILED' })
    await untilLevel(road, receiver)
    const parts = receiver.batches.flatMap(({ batch }) => batch.snapshot ?? [])
    expect(parts.map(({ after }) => after)).toEqual([0, ...parts.slice(0, -1).map(({ to }) => to)])
    expect(parts.length).toBeGreaterThan(1)
    expect(receiver.held().snapshots).toBe(1)
    await expectSame(road.database, receiver, receiver.batches.find(({ batch }) => batch.snapshot)?.batch.upTo.revision)
  })
})

describe.each(postgresStores)('two servers on $name', (store) => {
  const { above, startStore, startRoad, send } = useUpstream(store)

  it('send as one, and when it ends, the other sends', async () => {
    const [receiver, empty] = [await above(), await startStore()]
    const [one, two] = [await startRoad(empty), await startRoad(empty)]
    const { revision } = await readHead(one.database.session)
    const sites = [send(one, receiver), send(two, receiver)]
    await untilLevel(one, receiver)
    const sending = (): Site[] => sites.filter(({ upstream }) => upstream.describe().state === 'CONNECTED')
    await expect.poll(sending).toHaveLength(1)
    const before = receiver.requests()
    await say(one, 'edge-1', { state: 'INSTALLING' })
    await say(two, 'edge-2', { state: 'INSTALLING' })
    await untilLevel(one, receiver)
    await sending()[0]?.stop()
    await say(one, 'edge-1', { state: 'INSTALLED' })
    await untilLevel(one, receiver)
    await expectSame(one.database, receiver, revision)
    expect(receiver.requests() - before).toBeLessThan(20)
  })
})
