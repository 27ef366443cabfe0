import { afterEach, describe, expect, it } from 'vitest'
import { createRandom } from '../../src/apps/simulate/random.ts'
import { DomainError } from '../../src/domain/errors.ts'
import type { Command } from '../../src/ingest/command.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { deviationsOf } from '../../src/ingest/dialects/margo/deviations.ts'
import type { WriterOptions } from '../../src/ingest/writer-state.ts'
import { lost } from '../../src/store/connection/failure.ts'
import { readHead } from '../../src/store/connection/log-head.ts'
import type { Database } from '../../src/store/database.ts'
import { report } from '../support/clients/reports.ts'
import { expectSound } from '../support/databases/soundness.ts'
import { everyStore, postgresStores, type Store } from '../support/databases/stores.ts'
import { createRoad, type Road } from '../support/servers/road.ts'

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

/** With the deviations that it has. */
const recordSent = (some: Parameters<typeof report>[0]) => recordReport(report(some), null, deviationsOf(report(some)))

const poison: Command<object> = {
  needs: {},
  decide: () => ({}),
  statements: () => [{ text: 'select 1 / 0', parameters: [] }],
}

describe.each(everyStore)('the writer on $name', (store) => {
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
      append: (...asked) => {
        statements += 1
        return database.append(...asked)
      },
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
    const send = async (first: number, count: number, state: 'PENDING' | 'INSTALLED') => {
      statements = 0
      await Promise.all(
        Array.from({ length: count }, (_, n) =>
          road.writer.submit(
            recordReport(report({ reporter: `r-${first + n}`, deploymentId: `d-${first + n}`, state })),
          ),
        ),
      )
      return statements
    }
    // The first batch of a connection also checks the database's identity. After the second it is known that no other server writes.
    await send(0, 1, 'PENDING')
    await send(1, 1, 'PENDING')
    // Each half of a large batch is one statement, and reads what it has not cached.
    const one = await send(200, 1, 'PENDING')
    expect(await send(100, 100, 'PENDING')).toBe(2 * one)
    expect(await send(100, 100, 'INSTALLED')).toBe(2)
    expect(await send(200, 1, 'INSTALLED')).toBe(1)
  })

  it('makes of reports in one statement each what it makes of them in a transaction', async () => {
    const states = ['PENDING', 'INSTALLING', 'INSTALLED', 'FAILED', 'REMOVING', 'REMOVED'] as const
    const play = async (append: (database: Database) => Database['append']) => {
      const road = await open(store, { clock: () => 4_000_000_000_000 }, (database) => ({
        ...database,
        append: append(database),
      }))
      const { epochBase } = await readHead(road.database.session)
      const { pick, chance, index } = createRandom('reports')
      const verdicts: unknown[] = []
      for (let round = 0; round < 30; round += 1) {
        const commands = Array.from({ length: 12 }, () => {
          const n = index(5)
          const error = chance(0.3) ? { code: '1', message: 'say "\\no\u0001{,}" \n' } : null
          const component = { name: pick(['a', 'b "c"']), state: pick(states), error }
          return recordSent({
            reporter: `r-${n}`,
            deploymentId: `d-${n}`,
            state: pick(states),
            error,
            components: chance(0.5) ? [] : [component],
            adoptedManifestVersion: chance(0.2) ? String(round) : null,
            seq: chance(0.3) ? String(index(30)) : null,
            boot: pick([null, 'b "1"', 'b\\2\u001f\u0002', 'NULL', '']),
            observedAt: chance(0.3) ? 999_999_000_000 + round : null,
          })
        })
        const answers = await Promise.all(commands.map((command) => road.writer.submit(command)))
        for (const { revision: _, ...answer } of answers) verdicts.push(answer)
      }
      const tables = ['deployments', 'targets', 'rollouts', 'change_log', 'reports', 'device_deviations'].map((table) =>
        road.database.session.run<{ row: string }>(`select t::text as row from ${table} t order by 1`),
      )
      const rows = (await Promise.all(tables)).flat().map(({ row }) => row)
      expect(rows.length).toBeGreaterThan(300)
      // Where revisions begin is the only thing in which they may differ.
      return {
        verdicts,
        rows: rows.map((row) => row.replace(/\d{16}/g, (digits) => String(Number(digits) - epochBase))),
      }
    }
    let appended = 0
    const atOnce = await play((database) => (...asked) => {
      appended += 1
      return database.append(...asked)
    })
    expect(appended).toBeGreaterThan(20)
    // As if another server had written: nothing was done.
    const inTransactions = await play(() => async () => [])
    expect(atOnce).toEqual(inTransactions)
  })
})

describe.each(everyStore)('a batch on $name whose answer is lost', (store) => {
  it('is looked up, and answered as it was decided', async () => {
    let lostAnswers = 0
    let isBroken = false
    const road = await open(store, {}, (database) => ({
      ...database,
      append: (...asked) =>
        database.append<never>(...asked).then((rows) => {
          if (!isBroken) return rows
          lostAnswers += 1
          throw lost()
        }),
    }))
    const submit = (state: 'INSTALLING' | 'INSTALLED') => road.writer.submit(recordSent({ state }))
    for (const state of ['INSTALLING', 'INSTALLED', 'INSTALLING'] as const) await submit(state)
    isBroken = true
    const { revision } = await readHead(road.database.session)
    expect(await submit('INSTALLED')).toEqual({ verdict: 'APPLIED', revision: revision + 1 })
    expect(lostAnswers).toBe(1)
    expect((await readHead(road.database.session)).revision).toBe(revision + 1)
    expect(road.writer.newest).toBe(revision + 1)
    await expectSound(road.database)
  })

  it('is divided for the one command that the database refuses, if it was not written', async () => {
    let losses = 1
    const road = await open(store, {}, (database) => ({
      ...database,
      transaction: (work) => (losses-- > 0 ? Promise.reject(lost()) : database.transaction(work)),
    }))
    const answers = await Promise.allSettled([poison, recordSent({})].map((command) => road.writer.submit(command)))
    expect(answers).toMatchObject([
      { status: 'rejected', reason: { code: '22012' } },
      { status: 'fulfilled', value: { verdict: 'APPLIED' } },
    ])
  })
})

describe.each(everyStore)('a batch on $name that comes late', (store) => {
  it('is nothing, also when as much has been written as it expects', async () => {
    const sent: { readonly text: string; readonly parameters: readonly unknown[] }[] = []
    let isBroken = false
    let late: unknown = null
    const road = await open(store, {}, (database) => ({
      ...database,
      append(connection, text, parameters) {
        if (!isBroken) return database.append(connection, text, parameters)
        sent.push({ text, parameters })
        return Promise.reject(lost())
      },
      async transaction(work) {
        const result = await database.transaction(work)
        // The first is written again by now, and the second not yet.
        const [, second] = isBroken ? sent.splice(0) : []
        isBroken = false
        if (second) late = await database.session.run(second.text, second.parameters)
        return result
      },
    }))
    const submit = (state: 'INSTALLING' | 'INSTALLED') =>
      Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          road.writer.submit(recordSent({ reporter: `r-${n}`, deploymentId: `d-${n}`, state })),
        ),
      )
    for (const state of ['INSTALLING', 'INSTALLED', 'INSTALLING'] as const) await submit(state)
    isBroken = true
    const outcomes = await submit('INSTALLED')
    expect(late).toEqual([])
    expect(new Set(outcomes.map(({ verdict }) => verdict))).toEqual(new Set(['APPLIED']))
    const counted = 'select count, count(*)::int as devices from device_deviations group by count'
    expect(await road.database.session.run(counted)).toEqual([{ count: 4, devices: 100 }])
    await expectSound(road.database)
  })
})

describe.each(postgresStores)('two writers on $name', (store) => {
  it('do nothing on what they knew before the other wrote', async () => {
    const empty = await store.create()
    closing.push(() => empty.drop())
    const [one, other] = [await createRoad(await empty.open()), await createRoad(await empty.open())]
    closing.push(one.close, other.close)
    const submit = ({ writer }: Road, state: 'INSTALLING' | 'INSTALLED') =>
      Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          writer.submit(recordReport(report({ reporter: `r-${n}`, deploymentId: `d-${n}`, state }))),
        ),
      )
    for (const state of ['INSTALLING', 'INSTALLED', 'INSTALLING', 'INSTALLED'] as const) await submit(one, state)
    await submit(other, 'INSTALLING')
    const [repeated, changed] = [await submit(one, 'INSTALLING'), await submit(one, 'INSTALLED')]
    expect(new Set(repeated.map(({ verdict }) => verdict))).toEqual(new Set(['UNCHANGED']))
    expect(new Set(changed.map(({ verdict }) => verdict))).toEqual(new Set(['APPLIED']))
    await expectSound(one.database)
  })
})
