/** A batch that another server receives late, when its own server has settled it, is not written again. */
import { describe, expect, it } from 'vitest'
import { lost } from '../../../src/store/connection/failure.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import type { Database } from '../../../src/store/database.ts'
import { expectSound } from '../../support/databases/soundness.ts'
import { postgresStores } from '../../support/databases/stores.ts'
import { isOptimisticText } from '../../support/databases/wire.ts'
import {
  change,
  isBatch,
  keptReports,
  type Meddle,
  meet,
  openEmpty,
  openServer,
  untouched,
} from '../../support/servers/servers.ts'

describe.each(postgresStores)('a batch handed over on $name', (store) => {
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
    let optimistic = 0
    /** The rows of each optimistic statement with a batch of another server. None: it wrote nothing. */
    const guarded: number[] = []
    const counted = (database: Database): Database => ({
      ...database,
      async append<T extends object>(connection: number, text: string, parameters: readonly unknown[]) {
        const rows = await database.append<T>(connection, text, parameters)
        if (isOptimisticText(text)) optimistic += 1
        if (isOptimisticText(text) && text.includes('x(id, batch)')) guarded.push(rows.length)
        return rows
      },
    })
    const leader = await openServer(empty, 'a', slow, {}, counted)
    const server = await openServer(empty, 'b', untouched, { answerLimit: 50 })
    await meet(leader, server)
    isHeld = true
    const states = ['INSTALLING', 'INSTALLED'] as const
    let changes = 0
    const changeLeader = async (): Promise<void> => {
      await leader.writer.submit(change('leader', states[changes % 2] ?? expect.unreachable()))
      changes += 1
    }
    let turn = 1
    const changeFollower = async (): Promise<void> => {
      await server.writer.submit(change('follower', states[turn % 2] ?? expect.unreachable()))
      turn += 1
    }
    // A slow machine may have let an earlier batch wait for too long: then its server hands over nothing for a while.
    while (late.length === 0) {
      await changeLeader()
      await changeFollower()
    }
    await changeFollower()
    const kept = await keptReports(server, 'follower')
    const { revision } = await readHead(server.database.session)
    const before = changes
    // On the ordinary way, and then when the leader believes again that no other server writes.
    late[0]?.()
    await changeLeader()
    optimistic = 0
    guarded.length = 0
    while (optimistic === 0) await changeLeader()
    late[0]?.()
    await changeLeader()
    expect(guarded).toEqual([0])
    expect((await readHead(server.database.session)).revision).toBe(revision + changes - before)
    expect(await keptReports(server, 'follower')).toBe(kept)
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
})
