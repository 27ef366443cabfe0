import { afterEach, describe, expect, it } from 'vitest'
import { DomainError } from '../../src/domain/errors.ts'
import type { Command } from '../../src/ingest/command.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import type { WriterOptions } from '../../src/ingest/writer.ts'
import type { Database } from '../../src/store/database.ts'
import { readHead } from '../../src/store/log-head.ts'
import { report } from '../support/reports.ts'
import { createRoad, type Road } from '../support/road.ts'
import { type Store, stores } from '../support/stores.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function open(
  store: Store,
  writer: Partial<WriterOptions> = {},
  wrap: (database: Database) => Database = (database) => database,
): Promise<Road> {
  const empty = await store.create()
  closing.push(() => empty.drop())
  const road = await createRoad(wrap(await empty.open()), { writer })
  closing.push(() => road.close())
  return road
}

const poison: Command<object> = {
  needs: {},
  decide: () => ({}),
  also: () => [{ text: 'select 1 / 0', parameters: [] }],
}

describe.each(stores)('the writer on $name', (store) => {
  it('writes what queued while a batch was under way as the next one', async () => {
    const sizes: number[] = []
    const road = await open(store, { observe: ({ size }) => sizes.push(size) })
    const submit = (n: number) =>
      road.writer.submit(recordReport(report({ reporter: `r-${n}`, deploymentId: `d-${n}` })))
    const first = submit(0)
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    await Promise.all([first, ...Array.from({ length: 50 }, (_, n) => submit(n + 1))])
    expect(sizes).toEqual([1, 50])
  })

  it('fails the one command that the database refuses, and none of its batch-mates', async () => {
    const road = await open(store)
    const good: Command<object>[] = Array.from({ length: 9 }, (_, n) =>
      recordReport(report({ reporter: `r-${n}`, deploymentId: `d-${n}` })),
    )
    const answers = await Promise.allSettled(
      [...good.slice(0, 5), poison, ...good.slice(5)].map((c) => road.writer.submit(c)),
    )
    expect(answers.map(({ status }) => status)).toEqual([
      ...Array<string>(5).fill('fulfilled'),
      'rejected',
      ...Array<string>(4).fill('fulfilled'),
    ])
    const { revision, epochBase } = await readHead(road.database.session)
    expect(revision - epochBase).toBe(9)
  })

  it('hands a refusal to whom it concerns alone', async () => {
    const road = await open(store)
    const refusal: Command<never> = {
      needs: {},
      decide() {
        throw new DomainError('CONFLICT', 'no', { problems: [{ field: 'x', message: 'y' }] })
      },
    }
    const [refused, taken] = await Promise.allSettled([
      road.writer.submit(refusal),
      road.writer.submit(recordReport(report())),
    ])
    expect(refused).toMatchObject({
      status: 'rejected',
      reason: { code: 'CONFLICT', problems: [{ field: 'x', message: 'y' }] },
    })
    expect(taken).toMatchObject({ status: 'fulfilled', value: { verdict: 'APPLIED' } })
  })

  it('refuses more than may wait, and everything once it drains; what it took is decided', async () => {
    const road = await open(store, { capacity: 3 })
    const submit = () => road.writer.submit(recordReport(report()))
    const taken = [submit(), submit(), submit()]
    await expect(submit()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    const drained = road.writer.drain()
    await expect(submit()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await drained
    expect((await Promise.all(taken)).map(({ verdict }) => verdict)).toEqual(['APPLIED', 'UNCHANGED', 'UNCHANGED'])
  })

  it('uses as many statements for a hundred reports as for one', async () => {
    let statements = 0
    const road = await open(store, {}, (database) => ({
      ...database,
      transaction: (work) =>
        database.transaction((session) =>
          work({
            ...session,
            run: (text, parameters) => {
              statements += 1
              return session.run(text, parameters)
            },
          }),
        ),
    }))
    const send = async (count: number, state: 'PENDING' | 'INSTALLED') => {
      statements = 0
      await Promise.all(
        Array.from({ length: count }, (_, n) =>
          road.writer.submit(recordReport(report({ reporter: `r-${n}`, deploymentId: `d-${n}`, state }))),
        ),
      )
      return statements
    }
    // The first batch of a connection also looks which database it is.
    await send(100, 'PENDING')
    const many = await send(100, 'INSTALLED')
    expect(await send(1, 'PENDING')).toBe(many)
  })
})
