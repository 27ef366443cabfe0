/** The duties that index deployments look up only those whose names, errors or places have changed, as the entries of the log say. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { step } from '../../src/store/projection.ts'
import { searchProjection } from '../../src/store/write/derived/search-entries.ts'
import { report } from '../support/clients/reports.ts'
import { openFresh } from '../support/databases/databases.ts'
import { type Store, stores } from '../support/databases/stores.ts'
import { createRoad } from '../support/servers/road.ts'

async function start(store: Store) {
  const road = await createRoad(await openFresh(store))
  onTestFinished(() => road.writer.drain())
  onTestFinished(() => road.feed.close())
  const { session } = road.database
  const { database } = road
  /** What the first step read. */
  const follow = async (limit = 100): Promise<string> => {
    const texts: string[] = []
    const run: typeof session.run = (text, parameters) => {
      texts.push(text)
      return session.run(text, parameters)
    }
    while ((await step({ ...database, session: { ...session, run } }, searchProjection, limit))?.hasMore);
    const [first] = texts.filter((text) => text.includes('with turn as'))
    return first?.includes('found_by_changed') ? 'log' : 'deployments'
  }
  return {
    database,
    session,
    follow,
    send: (n: number, some: Partial<Parameters<typeof report>[0]> = {}) =>
      road.writer.submit(
        recordReport(
          report({
            reporter: `edge-${n}`,
            deploymentId: `app-${n}`,
            state: 'INSTALLING',
            components: [{ name: 'web', state: 'INSTALLING', error: null }],
            ...some,
          }),
        ),
      ),
    /** Marks all rows of the index: those that are written again lose the mark. */
    mark: () => session.run("update deployment_search set text = 'marked'"),
    async rewritten() {
      const rows = await session.run<{ id: string; terms: string }>(
        `select d.deployment_id as id, s.terms::text from deployment_search s join deployments d on d.key = s.deployment_key
         where s.text is distinct from 'marked' order by 1`,
      )
      return rows.map(({ id, terms }) => `${id} ${terms}`)
    },
  }
}

const installed = { state: 'INSTALLED', components: [{ name: 'web', state: 'INSTALLED', error: null }] } as const
const disk = { code: 'E_DISK', message: 'full' }

describe.each(stores)('the index of what deployments are found by, on $name', (store) => {
  it('skips deployments whose states alone have changed, and finds every other change', async () => {
    const { send, follow, mark, rewritten } = await start(store)
    for (let n = 0; n < 6; n += 1) await send(n)
    expect(await follow()).toBe('deployments')
    await mark()
    for (let n = 0; n < 6; n += 1) await send(n, installed)
    expect(await follow()).toBe('log')
    expect(await rewritten()).toEqual([])

    await send(0, { ...installed, components: [{ name: 'api', state: 'INSTALLED', error: null }] })
    await send(1, { ...installed, state: 'FAILED', error: disk })
    await send(2, { ...installed, state: 'FAILED', components: [{ name: 'web', state: 'FAILED', error: disk }] })
    await send(3, { reporter: 'edge-3', deviceId: 'edge-3-child' })
    await send(7)
    expect(await follow()).toBe('log')
    expect(await rewritten()).toEqual([
      'app-0 {c:api}',
      'app-1 {c:web}',
      'app-2 {c:web}',
      'app-3 {c:web}',
      'app-7 {c:web}',
    ])
  })

  it('reads steps of a few deployments, of which each is looked up once it has changed', async () => {
    const { send, follow, rewritten } = await start(store)
    for (let n = 0; n < 9; n += 1) await send(n)
    await follow(2)
    for (let n = 0; n < 9; n += 1) await send(n, installed)
    for (let n = 0; n < 9; n += 1)
      await send(n, { components: [{ name: `part-${n}`, state: 'INSTALLING', error: null }] })
    expect(await follow(2)).toBe('log')
    expect(await rewritten()).toEqual(Array.from({ length: 9 }, (_, n) => `app-${n} {c:part-${n}}`))
  })

  it('follows the log only when all deployments were read', async () => {
    const { send, follow, rewritten, database } = await start(store)
    for (let n = 0; n < 3; n += 1) await send(n)
    expect(await step(database, searchProjection, 2)).toMatchObject({
      hasMore: true,
    })
    // Its entry says that it is found as before, and it was not read yet.
    await send(2, installed)
    expect(await follow()).toBe('deployments')
    expect(await rewritten()).toEqual(['app-0 {c:web}', 'app-1 {c:web}', 'app-2 {c:web}'])
    await send(1, installed)
    expect(await follow()).toBe('log')
  })

  it('does not follow the log where retention has removed a part of it', async () => {
    const { send, follow, session } = await start(store)
    for (let n = 0; n < 3; n += 1) await send(n)
    await follow()
    await send(1, installed)
    await session.run('update log_head set tail = revision')
    expect(await follow()).toBe('deployments')
  })
})
