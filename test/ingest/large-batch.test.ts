/** Small reports and a command about deployments with the largest texts: what one batch loads is bounded by bytes. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { forgetDeployments } from '../../src/ingest/commands/remove.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { leastMeasured } from '../../src/store/write/load/measured.ts'
import { report } from '../support/clients/reports.ts'
import { stores } from '../support/databases/stores.ts'
import { createWatchedRoad } from './commands/watched-road.ts'

describe.each(stores)('the writer on $name', (store) => {
  it('divides a batch or a command whose deployments are too large together, and writes all of it', async () => {
    const sizes: number[] = []
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const { road, largestHeld } = await createWatchedRoad(empty, { observe: ({ size }) => sizes.push(size) })
    onTestFinished(() => road.close())
    const message = 'x'.repeat(65_000)
    const components = ['a', 'b', 'c', 'd', 'e'].map((name) => ({
      ...{ name, state: 'FAILED' as const, error: { code: 'E', message } },
    }))
    const submitAll = (some: Partial<Parameters<typeof report>[0]>) =>
      Promise.all(
        Array.from({ length: 60 }, (_, n) =>
          road.writer.submit(recordReport(report({ ...some, deploymentId: `${n}` }))),
        ),
      )
    for (let n = 0; n < 60; n += 1)
      await road.writer.submit(recordReport(report({ deploymentId: `${n}`, state: 'FAILED', components })))
    const rows = await road.database.session.run<{ key: number }>('select key from deployments')
    const keys = rows.map(({ key }) => key)
    // Another server has written, so nothing is cached.
    await road.database.session.run('update log_head set writes = writes + 1')
    sizes.length = 0
    const written = await submitAll({ state: 'INSTALLING' })
    expect(written.map(({ verdict }) => verdict)).toEqual(Array.from({ length: 60 }, () => 'APPLIED'))
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(60)
    expect(Math.max(...sizes)).toBe(leastMeasured)
    await road.database.session.run('update log_head set writes = writes + 1')
    const loaded = await largestHeld(() => road.writer.submit(forgetDeployments(keys)))
    expect(loaded).toBeLessThan(20 * 5 * message.length)
    await road.database.session.run('update log_head set writes = writes + 1')
    await submitAll({ reporter: 'small', state: 'INSTALLED' })
    sizes.length = 0
    await submitAll({ reporter: 'small', state: 'FAILED' })
    expect(Math.max(...sizes)).toBeGreaterThan(leastMeasured)
  })
})
