/** The reports of a backlog, over an outage that lies between its batches. */
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Series } from '../../src/ingest/command.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { batchSize } from '../../src/ingest/writer-state.ts'
import { lost } from '../../src/store/connection/failure.ts'
import type { Database } from '../../src/store/database.ts'
import { report } from '../support/clients/reports.ts'
import { openFresh } from '../support/databases/databases.ts'
import { everyStore } from '../support/databases/stores.ts'
import { createRoad } from '../support/servers/road.ts'

describe.each(everyStore)('the writer on $name', (store) => {
  it('writes no report of a backlog after one that could not be written, and those of others', async () => {
    let isDown = false
    const fail = (): void => {
      if (isDown) throw lost()
    }
    const database = await openFresh(store)
    const failing: Database = {
      ...database,
      async append(...asked) {
        fail()
        return database.append(...asked)
      },
      async transaction(work) {
        fail()
        return database.transaction(work)
      },
    }
    const road = await createRoad(failing, { writer: { commitTimeout: 0, isTransient: () => true } })
    onTestFinished(() => road.feed.close())
    isDown = true
    const others = Array.from({ length: batchSize }, (_, n) =>
      recordReport(report({ reporter: `r-${n}`, deploymentId: `d-${n}` })),
    )
    const series: Series = { isBroken: false }
    const [one, two] = (['INSTALLING', 'INSTALLED'] as const).map((state, n) => ({
      ...recordReport(report({ reporter: 'press', deploymentId: 'pump', state, boot: 'b', seq: `${n + 1}` })),
      series,
    }))
    if (!one || !two) return expect.unreachable()
    const answers = [one, ...others, two].map((command) => road.writer.submit(command))
    await expect(answers[0]).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    isDown = false
    await expect(answers.at(-1)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    const outcomes = await Promise.allSettled(answers)
    expect(outcomes.at(-2)).toMatchObject({ status: 'fulfilled' })
    const again = await Promise.all(
      [one, two].map((command) => road.writer.submit({ ...command, series: { isBroken: false } })),
    )
    expect(again.map(({ verdict }) => verdict)).toEqual(['APPLIED', 'APPLIED'])
  })
})
