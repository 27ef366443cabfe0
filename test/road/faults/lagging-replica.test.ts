/** A replica that is behind the database, and subscribers who have been further elsewhere. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { StatementError } from '../../../src/store/connection/failure.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import type { Database } from '../../../src/store/database.ts'
import { follow } from '../../support/clients/follow.ts'
import { report } from '../../support/clients/reports.ts'
import { postgresStores } from '../../support/databases/stores.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'

describe.each(postgresStores)('a replica that is still reading the log on $name', (store) => {
  async function open() {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const [ahead, behind] = [await empty.open(), await empty.open()]
    const slow = slowly(behind)
    const roads = [await createRoad(ahead), await createRoad(slow.database)] as const
    onTestFinished(async () => void (await Promise.all(roads.map((road) => road.close()))))
    const [one, other] = roads
    return { one, other, slow }
  }

  it('waits for what a subscriber has heard elsewhere already', async () => {
    const { one, other, slow } = await open()
    // A replica without subscribers does not read the log.
    const bystander = follow(other, (await readHead(one.database.session)).revision)
    await expect.poll(() => other.feed.hub.size).toBe(2)
    const reading = slow.hold()
    await change(one, 1)
    await reading
    await change(one, 2)
    // It knows of the second change, and the replica it comes to does not yet.
    const { revision } = await readHead(one.database.session)
    const follower = follow(other, revision)
    await slow.asked(/epochs/)
    slow.release()
    await change(one, 3)
    await expect.poll(() => follower.revisions()).toEqual([revision + 1])
    await expect.poll(() => bystander.revisions().at(-1)).toBe(revision + 1)
    await Promise.all([follower.leave(), bystander.leave()])
  })

  it('tries again when it cannot read on, and makes nothing of it', async () => {
    const { one, other, slow } = await open()
    const { revision } = await readHead(one.database.session)
    const follower = follow(other, revision)
    await expect.poll(() => other.feed.hub.size).toBe(2)
    const reading = slow.hold()
    await change(one, 1)
    await reading
    // Its own batch comes after one that it is still reading: it has to read this one too, and cannot.
    await change(other, 2)
    const failed = slow.fail()
    slow.release()
    await failed
    slow.recover()
    await expect.poll(() => follower.revisions()).toEqual([revision + 1, revision + 2])
    await follower.leave()
  })
})

function change({ writer }: Road, n: number): Promise<unknown> {
  return writer.submit(recordReport(report({ state: n % 2 ? 'INSTALLING' : 'INSTALLED' })))
}

/** Answers about the log can be held back: they are then of the time at which they were asked for. */
function slowly(database: Database) {
  let admission: Promise<void> | null = null
  let open = (): void => {}
  let isHeld = (): void => {}
  let asked: { readonly pattern: RegExp; readonly resolve: () => void } | null = null
  const rows: Database['session']['rows'] = async (query) => {
    const answer = await database.session.rows(query)
    if (admission) isHeld()
    await admission
    return answer as never
  }
  let tellFailed: (() => void) | null = null
  const run: Database['session']['run'] = async (text, parameters) => {
    if (tellFailed) {
      setImmediate(tellFailed)
      throw new StatementError('the connection was lost', '08006')
    }
    const answer = await database.session.run(text, parameters)
    if (asked?.pattern.test(text)) setImmediate(asked.resolve)
    return answer as never
  }
  return {
    database: { ...database, session: { ...database.session, rows, run } },
    /** Resolves when an answer is there and held. */
    hold(): Promise<void> {
      admission = new Promise((resolve) => (open = resolve))
      return new Promise((resolve) => (isHeld = resolve))
    },
    asked: (pattern: RegExp) => new Promise<void>((resolve) => (asked = { pattern, resolve })),
    /** Resolves when a caller has got the failure. */
    fail: () => new Promise<void>((resolve) => (tellFailed = resolve)),
    recover() {
      tellFailed = null
    },
    release() {
      admission = null
      open()
    },
  }
}
