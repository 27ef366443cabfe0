import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { declareDeployments } from '../../../../src/ingest/commands/declare.ts'
import type { Database } from '../../../../src/store/database.ts'
import { audit } from '../../../../src/store/read/counts/audit.ts'
import { writeCheckpoints } from '../../../../src/store/write/derived/checkpoints.ts'
import { type EmptyStore, everyStore } from '../../../support/databases/stores.ts'
import { inSnapshot, live, liveBy, watched } from '../history.ts'

describe.each(everyStore)('the audit on $name', (store) => {
  let empty: EmptyStore
  let database: Database

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    await live(database, 31, 60)
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  it('finds nothing after any life, however small its steps', async () => {
    for (const step of [1, 3, 5_000])
      expect(await inSnapshot(database, (snapshot) => audit(snapshot, step))).toEqual([])
    const { session, statements } = watched(database.session)
    await audit(session)
    expect(statements.length).toBeLessThanOrEqual(8)
  })

  it('reads as many rows for a fleet that is ten times as large', async () => {
    const { submit } = liveBy(database, Date.now() + 60_000)
    const grow = (from: number, to: number) =>
      submit(
        declareDeployments(
          { name: 'grown', project: null },
          Array.from({ length: to - from }, (_, n) => ({
            ...{ deviceId: `grown-${from + n}`, deploymentId: 'x' },
            ...{ application: null, applicationVersion: null, components: null },
          })),
        ),
      )
    const rowsRead = async (): Promise<number> => {
      let read = 0
      const { session } = database
      const counting: typeof session = Object.create(session, {
        rows: {
          value: async (query: Parameters<typeof session.rows>[0]) => {
            const rows = await session.rows(query)
            read += rows.length
            return rows
          },
        },
      })
      expect(await audit(counting)).toEqual([])
      return read
    }
    await grow(0, 40)
    const read = await rowsRead()
    await grow(40, 400)
    expect(await rowsRead()).toBe(read)
  })

  it('finds every checkpoint that is off', async () => {
    const rollouts = await database.session.run<{ key: number }>('select key from rollouts')
    const entries = await database.session.run<{ revision: number }>(
      'select last_revision as revision from change_log order by 1 limit 40',
    )
    const keys = [0, ...rollouts.map(({ key }) => key)]
    for (const { revision } of entries.filter((_, index) => index % 10 === 0))
      await writeCheckpoints(database, revision, keys)
    for (const step of [1, 5_000]) expect(await inSnapshot(database, (snapshot) => audit(snapshot, step))).toEqual([])
    const [wrong] = await database.session.run<{
      rollout_key: number
      revision: number
      counts: readonly { n: number }[]
    }>(
      'select * from deployment_checkpoints where json_array_length(counts) > 0 and rollout_key = 0 order by revision limit 1 offset 1',
    )
    await database.session.run(
      `update deployment_checkpoints set counts = '[]' where rollout_key = $1::bigint and revision = $2::bigint`,
      [wrong?.rollout_key, wrong?.revision],
    )
    const drift = await inSnapshot(database, (snapshot) => audit(snapshot))
    expect(drift.filter(({ counted }) => counted === 0).map(({ scope }) => scope)).toContain(
      `checkpoint:#0@${wrong?.revision}`,
    )
    expect(drift.every(({ scope }) => scope.startsWith('checkpoint:#0@'))).toBe(true)
    await database.session.run('delete from deployment_checkpoints')
  })

  it('finds every counter that is off', async () => {
    await database.transaction(async (session) => {
      await session.run('update log_head set failed = failed + 2')
      await session.run(`update rollouts set removing = removing + 1 where kind = 'DECLARED' and name = 'spring'`)
    })
    const drift = await inSnapshot(database, (snapshot) => audit(snapshot, 2))
    const off = drift.map(({ scope, field, counted, recounted }) => [scope, field, counted - recounted])
    expect(off.filter(([scope]) => scope === 'fleet')).toEqual([['fleet', 'failed', 2]])
    const springs = off.filter(([scope]) => scope !== 'fleet')
    expect(springs.length).toBeGreaterThan(0)
    for (const spring of springs) expect(spring).toEqual(['rollout:spring', 'removing', 1])
  })
})
