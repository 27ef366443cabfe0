/** Callers that report again when they are answered form two groups, which alternate: one is decided while the other is written. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordReport } from '../../src/ingest/commands/report.ts'
import type { Database } from '../../src/store/database.ts'
import { report } from '../support/clients/reports.ts'
import { openFresh } from '../support/databases/databases.ts'
import { stores } from '../support/databases/stores.ts'
import { createRoad } from '../support/servers/road.ts'

const callers = 96

/** Turns of the event loop after which no other batch is coming. */
const patience = 300

/** A database that answers each statement when the next one has been sent. `overlapped`: whether it was, or the writer waited for the answer. */
function slow(database: Database, overlapped: boolean[]): Database {
  let sent = 0
  return {
    ...database,
    async append<Row extends object>(connection: number, text: string, parameters: readonly unknown[]) {
      sent += 1
      const mine = sent
      const rows = await database.append<Row>(connection, text, parameters)
      for (let turn = 0; sent === mine && turn < patience; turn += 1) await new Promise(setImmediate)
      overlapped.push(sent > mine)
      return rows
    },
  }
}

describe.each(stores)('callers that report again and again, on $name', (store) => {
  it.each([
    { of: 'that came at different times', late: (n: number) => n >= 20, leaves: () => false },
    { of: 'of which some pause for a while', late: () => false, leaves: (n: number) => n % 7 === 0 },
  ])('form two equal groups that overlap: callers $of', async ({ late, leaves }) => {
    const overlapped: boolean[] = []
    const sizes: number[] = []
    const road = await createRoad(slow(await openFresh(store), overlapped), {
      writer: { observe: ({ size }) => sizes.push(size) },
    })
    onTestFinished(() => road.feed.close())
    const send = (n: number, turn: number) =>
      road.writer.submit(
        recordReport(
          report({ reporter: `r-${n}`, deploymentId: `d-${n}`, state: turn % 2 === 0 ? 'INSTALLING' : 'INSTALLED' }),
        ),
      )
    const all = Array.from({ length: callers }, (_, n) => n)
    await Promise.all(all.map((n) => send(n, 0)))
    await Promise.all(all.map((n) => send(n, 1)))
    overlapped.length = sizes.length = 0
    const pause = Promise.withResolvers<void>()
    const work = async (n: number): Promise<void> => {
      if (late(n)) await send(0, 2)
      for (let turn = 2; turn < 50; turn += 1) {
        if (turn === 8 && leaves(n)) await pause.promise
        // An answer and the next request are messages: callers of a batch do not report again at once.
        for (let hop = 0; hop < 2; hop += 1) await new Promise(setImmediate)
        await send(n, turn)
        if (turn === 12) pause.resolve()
      }
    }
    await Promise.all(all.map(work))
    await road.writer.drain()
    // Some turns after the groups were disturbed, and some before the first callers are done.
    const calm = sizes.slice(-34, -24)
    expect(calm.length).toBe(10)
    for (const size of calm) expect([calm, Math.abs(size - callers / 2) <= 2]).toEqual([calm, true])
    expect(overlapped.slice(-34, -24)).toEqual(Array.from({ length: 10 }, () => true))
  })
})
