/** Several servers on one database: one writes for the others, and each report is answered as if its own server had written it. */
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { ReportOutcome } from '../../../src/domain/report.ts'
import { type Command, traced } from '../../../src/ingest/command.ts'
import { hearDevice } from '../../../src/ingest/commands/connectivity.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import type { WriterOptions } from '../../../src/ingest/writer-state.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import type { Database } from '../../../src/store/database.ts'
import { follow } from '../../support/clients/follow.ts'
import { report } from '../../support/clients/reports.ts'
import { expectSound, revisionsBetween } from '../../support/databases/soundness.ts'
import { postgresStores } from '../../support/databases/stores.ts'
import type { Road } from '../../support/servers/road.ts'
import {
  change,
  isBatch,
  type Meddle,
  meet,
  newestWriter,
  openEmpty,
  openServer,
  untouched,
} from '../../support/servers/servers.ts'

type InstallState = 'INSTALLING' | 'INSTALLED'

describe.each(postgresStores)('a batch handed over on $name', (store) => {
  it('is written by the other server, and answered as if it were written here', async () => {
    const empty = await openEmpty(store)
    const [leader, server] = [await openServer(empty, 'a'), await openServer(empty, 'b')]
    await meet(leader, server)
    const { revision } = await readHead(server.database.session)
    const followers = [follow(leader, revision), follow(server, revision)]
    const outcomes = await Promise.all(
      Array.from({ length: 300 }, (_, n) => server.writer.submit(change(`edge-${n}`, 'INSTALLED'))),
    )
    expect(await newestWriter(server)).toBe('inbox-a')
    expect(outcomes.map(({ verdict }) => verdict)).toEqual(Array(300).fill('APPLIED'))
    const revisions = outcomes.map((outcome) => outcome.revision)
    expect(revisions.toSorted((a, b) => a - b)).toEqual(revisionsBetween(revision, revision + 300))
    expect(await server.writer.submit(change('edge-7', 'INSTALLED'))).toEqual({
      verdict: 'UNCHANGED',
      revision: revision + 300,
    })
    for (const follower of followers) {
      await expect.poll(() => follower.revisions()).toEqual(revisionsBetween(revision, revision + 300))
      await follower.leave()
    }
    await expectSound(server.database)
  })

  it('is no longer looked for when it is answered', async () => {
    const empty = await openEmpty(store)
    const [leader, server] = [await openServer(empty, 'a'), await openServer(empty, 'b')]
    await meet(leader, server)
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    await server.writer.submit(change('follower', 'INSTALLED'))
    expect(await newestWriter(server)).toBe('inbox-a')
    // Statements that are under way have timers, too.
    await expect.poll(() => vi.getTimerCount()).toBe(0)
  })

  it('keeps the trace context of each of its commands', async () => {
    const empty = await openEmpty(store)
    const [leader, server] = [await openServer(empty, 'a'), await openServer(empty, 'b')]
    await meet(leader, server)
    const { revision } = await readHead(server.database.session)
    const parents = [`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, null, `00-${'c'.repeat(32)}-${'d'.repeat(16)}-00`]
    const follower = follow(leader, revision)
    await Promise.all(
      parents.map((parent, n) => server.writer.submit(traced(change(`edge-${n}`, 'INSTALLED'), parent))),
    )
    expect(await newestWriter(server)).toBe('inbox-a')
    await expect.poll(() => follower.revisions()).toHaveLength(3)
    expect(follower.events.map((event) => event.change?.traceparent)).toEqual(parents)
    await follower.leave()
    const entries = await server.database.session.run<{ traceparent: string | null }>(
      'select traceparent from change_log where first_revision > $1 order by first_revision',
      [revision],
    )
    expect(entries.map(({ traceparent }) => traceparent)).toEqual(parents)
  })

  it('gives a refusal to its command alone, and keeps the order of what cannot be handed over', async () => {
    const empty = await openEmpty(store)
    const [leader, server] = [await openServer(empty, 'a'), await openServer(empty, 'b')]
    await meet(leader, server)
    const local: Command<string> = { needs: {}, decide: () => 'decided here' }
    const stranger = recordReport(report({ reporter: 'edge-1', deploymentId: 'd-1' }), 'another')
    const answers = await Promise.allSettled([
      server.writer.submit(change('edge-1', 'INSTALLING')),
      server.writer.submit(stranger),
      server.writer.submit(local),
      server.writer.submit(change('edge-1', 'INSTALLED')),
      server.writer.submit(hearDevice('edge-1')),
    ])
    expect(answers).toMatchObject([
      { value: { verdict: 'APPLIED' } },
      { reason: { code: 'FORBIDDEN' } },
      { value: 'decided here' },
      { value: { verdict: 'APPLIED' } },
      { value: null },
    ])
    await expectSound(server.database)
  })

  it('whose answer does not fit into a message is answered from the table', async () => {
    const empty = await openEmpty(store)
    const [leader, server] = [await openServer(empty, 'a'), await openServer(empty, 'b')]
    await meet(leader, server)
    const message = 'ü"\\\u0001🙂'.repeat(2_000)
    const error = { code: '1', message }
    const sent = Array.from({ length: 250 }, (_, n) =>
      recordReport(
        report({ reporter: `edge-${n}`, deploymentId: `d-${n}`, state: 'FAILED', error: n === 0 ? error : null }),
      ),
    )
    const outcomes = await Promise.all(sent.map((command) => server.writer.submit(command)))
    expect(new Set(outcomes.map(({ verdict }) => verdict))).toEqual(new Set(['APPLIED']))
    expect(await newestWriter(server)).toBe('inbox-a')
    const [row] = await server.database.session.run<{ error: object }>(
      `select error from deployments where reporter = 'edge-0'`,
    )
    expect(row?.error).toMatchObject(error)
  })

  it('follows another before that is written, except about the same device', async () => {
    const empty = await openEmpty(store)
    const held: (() => void)[] = []
    let isHeld = false
    const slow: Meddle = ({ send, receive }) => ({
      send,
      receive: (channel, received) =>
        receive(
          channel,
          (message) => void (isHeld && isBatch(message) ? held.push(() => received(message)) : received(message)),
        ),
    })
    const leader = await openServer(empty, 'a', slow)
    const server = await openServer(empty, 'b', untouched, { answerLimit: 60_000 })
    await meet(leader, server)
    isHeld = true
    const submit = (device: string, state: InstallState): Promise<ReportOutcome> =>
      server.writer.submit(change(device, state))
    const outcomes = [submit('edge-1', 'INSTALLING')]
    await expect.poll(() => held).toHaveLength(1)
    outcomes.push(submit('edge-2', 'INSTALLING'))
    await expect.poll(() => held).toHaveLength(2)
    outcomes.push(submit('edge-1', 'INSTALLED'), submit('edge-3', 'INSTALLED'))
    // If the next batch were sent, it would arrive meanwhile.
    for (const state of ['INSTALLING', 'INSTALLED', 'INSTALLING'] as const)
      await leader.writer.submit(change('leader', state))
    isHeld = false
    for (const deliver of held.splice(0).toReversed()) deliver()
    const [first, , next] = await Promise.all(outcomes)
    expect((await Promise.all(outcomes)).map((outcome) => outcome.verdict)).toEqual(Array(4).fill('APPLIED'))
    expect(next?.revision).toBeGreaterThan(first?.revision ?? Number.POSITIVE_INFINITY)
    expect(await newestWriter(server)).toBe('inbox-a')
    await expectSound(server.database)
  })

  it('fails nothing of the leader when the database refuses it', async () => {
    const empty = await openEmpty(store)
    const [leader, server] = [await openServer(empty, 'a'), await openServer(empty, 'b')]
    await meet(leader, server)
    const poison: Command<unknown> = {
      ...change('edge-1', 'INSTALLED'),
      portable: {
        kind: 'report',
        report: report({ reporter: 'edge-1', deploymentId: 'of-edge-1', seq: 'no number' }),
        caller: null,
        deviations: [],
      },
    }
    const answers = await Promise.allSettled([
      server.writer.submit(poison),
      server.writer.submit(change('edge-2', 'INSTALLED')),
      leader.writer.submit(change('leader', 'INSTALLING')),
    ])
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
    await expectSound(server.database)
  })

  it('does not keep a divided command of the leader waiting, however many follow', async () => {
    const empty = await openEmpty(store)
    let receive = (_: string): void => {}
    const named: Meddle = (mail) => ({
      ...mail,
      receive(channel, received) {
        if (channel === 'rollcall_inbox-a') receive = received
        mail.receive(channel, received)
      },
    })
    let number = 0
    const handOver = (): void => {
      number += 1
      receive(`inbox-z.${number} ${number} 1 0\n[${JSON.stringify(hearDevice('leader').portable)}]`)
    }
    // Each write is followed by another batch of a server. They end, so that the command is written at last.
    const busy = (database: Database): Database => ({
      ...database,
      transaction: (work) =>
        database.transaction(async (session) => {
          if (number > 0 && number < 20) handOver()
          return work(session)
        }),
      append: (connection, text, parameters) => {
        if (number > 0 && number < 20) handOver()
        return database.append(connection, text, parameters)
      },
    })
    const leader = await openServer(empty, 'a', named, {}, busy)
    await leader.writer.submit(change('leader', 'INSTALLING'))
    let written = Number.POSITIVE_INFINITY
    const divided = leader.writer.submit({
      ...hearDevice('leader'),
      divided: async (write) => {
        written = number
        return write(hearDevice('leader'))
      },
    })
    handOver()
    await divided
    expect(written).toBeLessThan(10)
  })

  it('is waited for by the leader, so that both have one batch', async () => {
    const empty = await openEmpty(store)
    const sizes: number[] = []
    let limit = 0
    let asked = 0
    let appended = 0
    let gate = Promise.resolve()
    const gated = (database: Database): Database => ({
      ...database,
      append: (connection, text, parameters) => {
        appended += 1
        return gate.then(() => database.append(connection, text, parameters))
      },
    })
    const gatherLimit = (): number => {
      asked += 1
      return limit
    }
    const observe: WriterOptions['observe'] = ({ size }) => sizes.push(size)
    const leader = await openServer(empty, 'a', untouched, { gatherLimit, observe }, gated)
    const server = await openServer(empty, 'b', untouched, { answerLimit: 60_000 })
    await meet(leader, server)
    const submit = (road: Road, device: string, count: number, state: InstallState): Promise<ReportOutcome[]> =>
      Promise.all(Array.from({ length: count }, (_, n) => road.writer.submit(change(`${device}-${n}`, state))))
    await submit(leader, 'ours', 30, 'INSTALLING')
    await submit(server, 'theirs', 30, 'INSTALLING')
    // The leader learns that there are forty callers: two batches are in flight at once. Each is two statements, the write and its notice.
    const { promise, resolve: open } = Promise.withResolvers<void>()
    gate = promise
    appended = 0
    const first = [submit(leader, 'ours', 20, 'INSTALLED'), submit(server, 'theirs', 20, 'INSTALLED')]
    await expect.poll(() => appended).toBe(4)
    open()
    await Promise.all(first)
    await expect.poll(() => sizes.slice(-2)).toEqual([20, 20])

    limit = 60_000
    asked = 0
    sizes.length = 0
    // Fewer than half of the callers are not worth a batch.
    const theirs = submit(server, 'theirs', 10, 'INSTALLING')
    await expect.poll(() => asked).toBeGreaterThan(0)
    expect(sizes).toEqual([])
    await Promise.all([submit(leader, 'ours', 30, 'INSTALLED'), theirs])
    await expect.poll(() => sizes).toEqual([40])
    expect(await newestWriter(server)).toBe('inbox-a')
    await expectSound(server.database)
  })

  it('is written here when the leader drains', async () => {
    const empty = await openEmpty(store)
    const [leader, server] = [
      await openServer(empty, 'a'),
      await openServer(empty, 'b', untouched, { answerLimit: 60_000 }),
    ]
    await meet(leader, server)
    await leader.writer.drain()
    expect(await server.writer.submit(change('follower', 'INSTALLED'))).toMatchObject({ verdict: 'APPLIED' })
    expect(await newestWriter(server)).toBe('inbox-b')
  })
})
