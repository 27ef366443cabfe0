/** A webhook whose filter matches almost nothing: how far it has read is noted and visible, and a restart goes on from there. */
import { PgDialect } from 'drizzle-orm/pg-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { createOutgoing, type Outgoing } from '../../src/outlets/sinks/compose.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import type { Database, Session } from '../../src/store/database.ts'
import { lagsOf, listSinks } from '../../src/store/sinks/sinks.ts'
import { report } from '../support/clients/reports.ts'
import { stores } from '../support/databases/stores.ts'
import { createRoad } from '../support/servers/road.ts'
import { startReceiver } from '../support/systems/receiver.ts'

describe.each(stores)('a webhook with a rare filter on $name', (store) => {
  it('notes what it has read while nothing matches, and goes on from there after a restart', async () => {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const road = await createRoad(await empty.open())
    onTestFinished(() => road.close())
    const receiver = await startReceiver()
    onTestFinished(() => receiver.close())
    const { session } = road.database
    const { revision: start } = await readHead(session)
    const send = (reporter: string, code: string) =>
      road.writer.submit(recordReport(report({ reporter, state: 'FAILED', error: { code, message: '' } })))
    for (let n = 0; n < 4; n += 1) await Promise.all(Array.from({ length: 400 }, (_, i) => send(`d-${i}`, `${n}`)))
    const { revision: wanted } = await send('rare', '1')

    /** Where reads of the log began, and what happens before the next one. */
    const reads: number[] = []
    let before = async (): Promise<void> => {}
    const open = (): Outgoing => {
      const outgoing = createOutgoing({
        database: watching(road.database, async (after) => {
          reads.push(after)
          await before()
        }),
        feed: road.feed,
        allow: ['127.0.0.1'],
        aai: null,
        publicUrl: 'http://rollcall.test',
        clock: Date.now,
        noteInterval: 0,
      })
      onTestFinished(() => outgoing.stop())
      return outgoing
    }
    const first = open()
    const third = Promise.withResolvers<void>()
    const checked = Promise.withResolvers<void>()
    before = async () => {
      if (reads.length !== 3) return
      third.resolve()
      await checked.promise
    }
    const filter = { deviceIds: ['rare'] }
    await first.manager.createWebhook({ name: 'w', url: receiver.url, secret: null, filter, after: start })
    await third.promise
    const [sink] = await listSinks(session, ['WEBHOOK'], null)
    expect(sink?.cursor).toBe(reads[2])
    expect(sink?.cursor).toBeGreaterThan(start + 500)
    expect((await lagsOf(session, [sink?.key ?? 0])).get(sink?.key ?? 0)).toBe(wanted - (reads[2] ?? 0))
    const stopped = first.stop()
    checked.resolve()
    await stopped

    before = async () => {}
    reads.length = 0
    open()
    await receiver.until((all) => all.length > 0)
    expect(receiver.received.map(({ body }) => Number(body.id))).toEqual([wanted])
    expect(reads[0]).toBeGreaterThanOrEqual(sink?.cursor ?? Number.POSITIVE_INFINITY)
  })
})

/** Calls back with the revision after which the log is read. */
function watching(database: Database, reading: (after: number) => Promise<void>): Database {
  const dialect = new PgDialect()
  const rows: Session['rows'] = async (query) => {
    const { sql, params } = dialect.sqlToQuery(query)
    const [first] = params
    if (sql.includes('"change_log"') && typeof first === 'number') await reading(first - 1)
    return database.session.rows(query)
  }
  return { ...database, session: { ...database.session, rows } }
}
