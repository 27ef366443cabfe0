/** Whatever becomes of the messages between the servers of one database, and of the servers, each report is written once. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import type { Database } from '../../../src/store/database.ts'
import { startFleet } from '../../support/clients/fleet.ts'
import { follow } from '../../support/clients/follow.ts'
import { report } from '../../support/clients/reports.ts'
import { expectKept, expectSound, revisionsBetween } from '../../support/databases/soundness.ts'
import { postgresStores } from '../../support/databases/stores.ts'
import { someOf } from '../../support/runner/depth.ts'
import { createRoad } from '../../support/servers/road.ts'
import {
  change,
  isBatch,
  keptReports,
  type Meddle,
  meet,
  newestWriter,
  openEmpty,
  openServer,
  untouched,
} from '../../support/servers/servers.ts'

describe.each(postgresStores)('a batch handed over on $name', (store) => {
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

  it('is written here when it is lost and the leader goes on writing', async () => {
    const empty = await openEmpty(store)
    let isCut = false
    const lossy: Meddle = ({ send, receive }) => ({
      send: async (channel, messages) => {
        if (!isCut || !messages.some(isBatch)) await send(channel, messages)
      },
      receive,
    })
    const leader = await openServer(empty, 'a')
    const server = await openServer(empty, 'b', lossy, { answerLimit: 400 })
    await meet(leader, server)
    isCut = true
    let isOver = false
    const submitted = server.writer.submit(change('follower', 'INSTALLED')).finally(() => {
      isOver = true
    })
    for (let n = 0; !isOver; n += 1) await leader.writer.submit(change('leader', n % 2 ? 'INSTALLED' : 'INSTALLING'))
    expect((await submitted).verdict).toBe('APPLIED')
    await expectSound(server.database)
  })

  it('is not answered with the outcomes of an earlier one, which a database that was restored meanwhile may have', async () => {
    const empty = await openEmpty(store)
    // As if each were too long for a message.
    const short: Meddle = ({ send, receive }) => ({
      send,
      receive: (channel, received) =>
        receive(channel, (message) =>
          received(isBatch(message) ? message : message.replace(/,"outcomes":.*/, '}').replace(/,"revision":\d+/, '')),
        ),
    })
    let isRestored = false
    const restored = (database: Database): Database => {
      const run: typeof database.session.run = async <T extends object>(
        text: string,
        parameters?: readonly unknown[],
      ) => {
        const rows = await database.session.run<T>(text, parameters)
        if (!isRestored || !text.startsWith('select b.id, b.outcomes')) return rows
        const outcomes = [{ ok: { verdict: 'UNCHANGED', revision: 1 } }]
        return rows.map((row) => ({ ...row, record: { batch: 1, revision: 1, outcomes } }))
      }
      return { ...database, session: { ...database.session, run } }
    }
    const leader = await openServer(empty, 'a')
    const server = await openServer(empty, 'b', short, {}, restored)
    await meet(leader, server)
    isRestored = true
    expect((await server.writer.submit(change('follower', 'INSTALLED'))).verdict).toBe('APPLIED')
    expect(await keptReports(server, 'follower')).toBe(4)
    await expectSound(server.database)
  })

  it('is not handed to the server that wrote before this one began', async () => {
    const empty = await openEmpty(store)
    const former = await openServer(empty, 'a')
    await former.writer.submit(change('former', 'INSTALLING'))
    const server = await openServer(empty, 'b', untouched, { answerLimit: 3_600_000 })
    for (const state of ['INSTALLING', 'INSTALLED'] as const) await server.writer.submit(change('follower', state))
    expect(await newestWriter(server)).toBe('inbox-b')
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
      { numRuns: someOf(2, 3) },
    )
  })
})
