import { describe, expect, it, onTestFinished } from 'vitest'
import { migrate } from '../../src/store/migration/migrate.ts'
import { openDatabase } from '../../src/store/open.ts'
import { dividePartition, listPartitions, partitionedTables } from '../../src/store/write/partitions.ts'
import { nextVersion } from '../support/databases/next-version.ts'
import { findPostgres, startPostgres } from '../support/databases/postgres-server.ts'

// It needs settings that only a server of its own may have.
describe.runIf(findPostgres())('an autovacuum that would take hours', () => {
  it('gives way to new partitions and to migrations', async () => {
    const server = await startPostgres({ settings: ['autovacuum_naptime=1s'] })
    onTestFinished(() => server.dispose())
    const database = await openDatabase({ url: server.url, dataDir: 'memory' })
    onTestFinished(() => database.close())
    const { session } = database
    await session.run(`insert into change_log (found_by_changed, first_revision, last_revision, at, changes)
      select true, revision + r, revision + r, now(), '[]' from log_head cross join generate_series(1, 300000) r`)
    await session.run('update log_head set revision = revision + 300000')
    const vacuum = async () => {
      // It waits a tenth of a second for each page.
      const slow = 'autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1'
      await session.run(`alter table change_log_first set (${slow}, autovacuum_vacuum_insert_threshold = 1)`)
      const running = `select 1 from pg_stat_progress_vacuum where relid = 'change_log_first'::regclass`
      await expect.poll(() => session.run(running)).not.toEqual([])
    }
    const [log] = partitionedTables
    const last = (await listPartitions(session, 'change_log')).at(-1)
    if (log?.name !== 'change_log' || !last) return expect.unreachable()

    await vacuum()
    const [head] = await session.run<{ revision: number }>('select revision from log_head')
    await dividePartition(database, log, last, (head?.revision ?? 0) + 1_000)
    expect(await listPartitions(session, 'change_log')).toHaveLength(2)

    await vacuum()
    await migrate(database, await nextVersion('alter table change_log add column newer int'))
    expect(await session.run('select newer from change_log limit 1')).toEqual([{ newer: null }])
  })
})
