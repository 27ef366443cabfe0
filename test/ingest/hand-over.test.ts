/** Several servers on one database: one writes for the others. Whatever becomes of the messages between them, each report is written once. */
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ReportOutcome } from '../../src/domain/report.ts'
import { type Command, traced } from '../../src/ingest/command.ts'
import { hearDevice, recordReport } from '../../src/ingest/commands/report.ts'
import type { WriterOptions } from '../../src/ingest/writer.ts'
import { lost } from '../../src/store/connection/failure.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import type { Database, Mail } from '../../src/store/database.ts'
import { startFleet } from '../support/fleet.ts'
import { follow } from '../support/follow.ts'
import { report } from '../support/reports.ts'
import { createRoad, type Road } from '../support/road.ts'
import { expectKept, expectSound, revisionsBetween } from '../support/soundness.ts'
import { type EmptyStore, postgresStores, type Store } from '../support/stores.ts'

type Meddle = (mail: Mail) => Mail

const untouched: Meddle = (mail) => mail
const isBatch = (message: string): boolean => !message.startsWith('{')

async function openEmpty(store: Store): Promise<EmptyStore> {
  const empty = await store.create()
  onTestFinished(() => empty.drop())
  return empty
}

/** A server: the one whose name is first in the alphabet writes for the others. */
async function openServer(
  empty: EmptyStore,
  name: string,
  meddle: Meddle = untouched,
  writer: Partial<WriterOptions> = {},
  alter: (database: Database) => Database = (database) => database,
): Promise<Road> {
  const database = alter(await empty.open())
  const mail = database.mail && meddle(database.mail)
  const road = await createRoad({ ...database, mail } satisfies Database, { writer: { name, ...writer } })
  onTestFinished(() => road.close())
  return road
}

const change = (device: string, state: 'INSTALLING' | 'INSTALLED'): ReturnType<typeof recordReport> =>
  recordReport(report({ reporter: device, deploymentId: `of-${device}`, state }))

/** Both write, until `server` has found out who writes for it. */
async function meet(leader: Road, server: Road): Promise<void> {
  for (const state of ['INSTALLING', 'INSTALLED'] as const)
    for (const [device, road] of [
      ['follower', server],
      ['leader', leader],
    ] as const)
      await road.writer.submit(change(device, state))
  await server.writer.submit(change('follower', 'INSTALLING'))
}

async function newestWriter({ database }: Road): Promise<string | undefined> {
  const [head] = await database.session.run<{ writer: string }>(
    `select split_part(stamp, '/', 1) as writer from log_head`,
  )
  return head?.writer
}

const keptReports = async ({ database }: Road, device: string): Promise<number> =>
  (
    await database.session.run(
      'select 1 from reports r join deployments d on d.key = r.deployment_key where reporter = $1',
      [device],
    )
  ).length

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

  it.each([
    { lost: 'a batch', isLost: isBatch },
    { lost: 'an answer', isLost: (message: string) => !isBatch(message) },
    { lost: 'every message', isLost: () => true },
  ])('is written once when $lost is lost', async ({ isLost }) => {
    const empty = await openEmpty(store)
    let isCut = false
    const lossy: Meddle = ({ send, receive }) => ({
      send: async (channel, messages) => {
        if (!isCut || !messages.some(isLost)) await send(channel, messages)
      },
      receive: (channel, received) =>
        receive(channel, (message) => void (isCut && isLost(message) ? null : received(message))),
    })
    const leader = await openServer(empty, 'a', lossy)
    const server = await openServer(empty, 'b', lossy, { answerLimit: 50 })
    await meet(leader, server)
    isCut = true
    const outcome = await server.writer.submit(change('follower', 'INSTALLED'))
    expect(outcome.verdict).toBe('APPLIED')
    expect(await keptReports(server, 'follower')).toBe(4)
    await expectSound(server.database)
  })

  it('in several messages is written once when each of them arrives twice, and in another order', async () => {
    const empty = await openEmpty(store)
    const parts: string[] = []
    const jumbled: Meddle = ({ send, receive }) => ({
      send: (channel, messages) => {
        if (!messages.every(isBatch) || messages.length < 3) return send(channel, messages)
        parts.push(...messages)
        return send(channel, [...messages.slice(1), ...messages.slice(1), ...messages.slice(0, 1)])
      },
      receive,
    })
    const leader = await openServer(empty, 'a')
    // It would settle the batch itself if the leader did not understand it.
    const server = await openServer(empty, 'b', jumbled, { answerLimit: 60_000 })
    await meet(leader, server)
    const error = { code: '1', message: 'm'.repeat(30_000) }
    const failing = recordReport(report({ reporter: 'follower', deploymentId: 'long', state: 'FAILED', error }))
    expect((await server.writer.submit(failing)).verdict).toBe('APPLIED')
    expect(parts.length).toBeGreaterThan(2)
    expect(await newestWriter(server)).toBe('inbox-a')
    const [row] = await server.database.session.run<{ error: object }>(
      `select error from deployments where deployment_id = 'long'`,
    )
    expect(row?.error).toMatchObject(error)
    await expectSound(server.database)
  })

  it('that arrives late, after its server has written it, is written once', async () => {
    const empty = await openEmpty(store)
    let isHeld = false
    const late: (() => void)[] = []
    const slow: Meddle = ({ send, receive }) => ({
      send,
      receive: (channel, received) =>
        receive(
          channel,
          (message) => void (isHeld && isBatch(message) ? late.push(() => received(message)) : received(message)),
        ),
    })
    const leader = await openServer(empty, 'a', slow)
    const server = await openServer(empty, 'b', untouched, { answerLimit: 50 })
    await meet(leader, server)
    isHeld = true
    await server.writer.submit(change('follower', 'INSTALLED'))
    await server.writer.submit(change('follower', 'INSTALLING'))
    const { revision } = await readHead(server.database.session)
    // On the ordinary way, and then when the leader believes again that nobody else writes.
    late[0]?.()
    for (const state of ['INSTALLING', 'INSTALLED', 'INSTALLING'] as const)
      await leader.writer.submit(change('leader', state))
    late[0]?.()
    await leader.writer.submit(change('leader', 'INSTALLED'))
    expect((await readHead(server.database.session)).revision).toBe(revision + 4)
    expect(await keptReports(server, 'follower')).toBe(5)
    await expectSound(server.database)
  })

  it('follows another before that is answered, except about the same device', async () => {
    const empty = await openEmpty(store)
    const held: (() => void)[] = []
    let isHeld = false
    const batches: string[] = []
    const slow: Meddle = ({ send, receive }) => ({
      send: (channel, messages) => {
        if (messages.every(isBatch)) batches.push(messages.join())
        return send(channel, messages)
      },
      receive: (channel, received) =>
        receive(channel, (message) => void (isHeld ? held.push(() => received(message)) : received(message))),
    })
    const leader = await openServer(empty, 'a')
    const server = await openServer(empty, 'b', slow, { answerLimit: 60_000 })
    await meet(leader, server)
    isHeld = true
    batches.length = 0
    const submit = (device: string, state: 'INSTALLING' | 'INSTALLED'): Promise<ReportOutcome> =>
      server.writer.submit(change(device, state))
    const outcomes = [submit('edge-1', 'INSTALLING')]
    await expect.poll(() => held).toHaveLength(1)
    outcomes.push(submit('edge-2', 'INSTALLING'))
    await expect.poll(() => held).toHaveLength(2)
    outcomes.push(submit('edge-1', 'INSTALLED'), submit('edge-3', 'INSTALLED'))
    expect(new Set(batches.map((batch) => batch.split(' ')[0])).size).toBe(2)
    isHeld = false
    for (const deliver of held.toReversed()) deliver()
    const { revision } = await readHead(server.database.session)
    expect((await Promise.all(outcomes)).map((outcome) => outcome.verdict)).toEqual(Array(4).fill('APPLIED'))
    expect((await outcomes[2])?.revision).toBe(revision + 1)
    expect(batches).toHaveLength(3)
    expect(await newestWriter(server)).toBe('inbox-a')
    await expectSound(server.database)
  })

  it('and answered with UNAVAILABLE is not written after a later report of the device', async () => {
    const empty = await openEmpty(store)
    const late: (() => void)[] = []
    let isCut = false
    const slow: Meddle = ({ send, receive }) => ({
      send,
      receive: (channel, received) =>
        receive(
          channel,
          (message) => void (isCut && isBatch(message) ? late.push(() => received(message)) : received(message)),
        ),
    })
    const leader = await openServer(empty, 'a', slow)
    const unreachable = (database: Database): Database => ({
      ...database,
      transaction: (work) => (isCut ? Promise.reject(lost()) : database.transaction(work)),
    })
    const server = await openServer(empty, 'b', untouched, { commitTimeout: 0 }, unreachable)
    await meet(leader, server)
    isCut = true
    await expect(server.writer.submit(change('follower', 'INSTALLED'))).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    expect(late).toHaveLength(1)
    isCut = false
    const { revision } = await server.writer.submit(change('elsewhere', 'INSTALLED'))
    for (const deliver of late) deliver()
    await leader.writer.submit(change('leader', 'INSTALLING'))
    expect((await readHead(server.database.session)).revision).toBe(revision + 1)
    await expectSound(server.database)
  })

  it('is answered, and seen by all, when its server is lost between COMMIT and the notification', async () => {
    const empty = await openEmpty(store)
    const late: (() => Promise<unknown>)[] = []
    let isCut = false
    const interrupted = (database: Database): Database => ({
      ...database,
      append: async (connection, text, parameters) => {
        if (!isCut || !text.includes('as answered')) return database.append(connection, text, parameters)
        late.push(() => database.append(connection, text, parameters))
        return []
      },
    })
    const leader = await openServer(empty, 'a', untouched, {}, interrupted)
    const answers: string[] = []
    const heard: Meddle = ({ send, receive }) => ({
      send,
      receive: (channel, received) =>
        receive(channel, (message) => {
          answers.push(message)
          received(message)
        }),
    })
    const server = await openServer(empty, 'b', heard)
    await meet(leader, server)
    await leader.writer.submit(change('leader', 'INSTALLING'))
    await leader.writer.submit(change('leader', 'INSTALLED'))
    const follower = follow(server, (await readHead(server.database.session)).revision)
    isCut = true
    const { revision } = await server.writer.submit(change('follower', 'INSTALLED'))
    await expect.poll(() => follower.revisions()).toEqual([revision])
    expect(late).toHaveLength(1)
    isCut = false
    await leader.writer.submit(change('leader', 'INSTALLING'))
    answers.length = 0
    // The batch is no longer its server's newest.
    for (const send of late) await send()
    await leader.writer.submit(change('leader', 'INSTALLED'))
    await expect.poll(() => follower.revisions()).toEqual(revisionsBetween(revision - 1, revision + 2))
    expect(answers).toEqual([])
    await follower.leave()
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

describe.each(postgresStores)('three servers that write at once on $name', (store) => {
  it('keep every report once, whatever becomes of their messages', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.infiniteStream(fc.constantFrom('pass', 'pass', 'pass', 'lose', 'repeat', 'delay')),
        async (fates) => {
          const empty = await store.create()
          const meddle: Meddle = ({ send, receive }) => ({
            send,
            receive: (channel, received) =>
              receive(channel, (message) => {
                const fate = fates.next().value
                if (fate === 'pass' || fate === 'repeat') received(message)
                if (fate === 'repeat') received(message)
                if (fate === 'delay') setTimeout(() => received(message), 30)
              }),
          })
          const roads = await Promise.all(
            ['a', 'b', 'c'].map(async (name) => {
              const database = await empty.open()
              const mail = database.mail && meddle(database.mail)
              return createRoad({ ...database, mail }, { writer: { name, answerLimit: 40 } })
            }),
          )
          try {
            const fleet = startFleet(24, (device) => (said) => {
              const road = roads[(device + Number(said.seq)) % roads.length] ?? expect.unreachable()
              return road.writer.submit(recordReport(said))
            })
            await expect.poll(() => fleet.acknowledged).toBeGreaterThan(300)
            const played = await fleet.finish()
            const [first = expect.unreachable()] = roads
            await expectKept(first.database, played)
            await expectSound(first.database)
          } finally {
            for (const road of roads) await road.close()
            await empty.drop()
          }
        },
      ),
      { numRuns: 3 },
    )
  })
})
