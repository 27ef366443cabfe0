/** One streaming standby: what a snapshot of it includes whichever server has its address, and what ends a wait or a snapshot. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { type LogPosition, readHead } from '../../../src/store/connection/log-head.ts'
import { openStandby, type Standby, type StandbyOptions } from '../../../src/store/connection/standbys/standby.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { report } from '../../support/clients/reports.ts'
import { findPostgres, type PostgresServer, startPostgres } from '../../support/databases/postgres-server.ts'
import { pause, runOn } from '../../support/databases/standby-pair.ts'
import { startWire } from '../../support/databases/wire.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'

const patient = { timeout: 60_000 }

describe.skipIf(!findPostgres())('a standby', () => {
  let primary: PostgresServer
  let road: Road
  const standbys: PostgresServer[] = []
  beforeAll(async () => {
    primary = await startPostgres()
    road = await createRoad(await openDatabase({ url: primary.url, dataDir: 'memory' }))
  })
  afterAll(async () => {
    await road.close()
    for (const server of [...standbys, primary]) await server.dispose()
  })

  async function start(...settings: string[]): Promise<PostgresServer> {
    const standby = await startPostgres({ primary, settings })
    standbys.push(standby)
    return standby
  }

  /** A standby that is used. */
  async function open(url: string, options: Partial<StandbyOptions> = {}): Promise<Standby> {
    const { epochBase } = await present()
    const standby = openStandby({ url, patience: 100, epochBase: () => epochBase, problemChanged() {}, ...options })
    onTestFinished(() => standby.close())
    await standby.check()
    expect(standby.problem()).toBeNull()
    return standby
  }

  const present = (): Promise<LogPosition> => readHead(road.database.session)

  async function isRead(standby: Standby, position: LogPosition): Promise<boolean> {
    const snapshot = await standby.snapshot(position)
    await snapshot?.close()
    return snapshot !== null
  }

  it('is not read where it is behind its check, or in another epoch: its address may lead to another server', async () => {
    const [level, behind] = [await start(), await start()]
    const known = await present()
    const wire = await startWire(level.url)
    onTestFinished(() => wire.close())
    let { epochBase } = known
    const standby = await open(wire.url, { epochBase: () => epochBase })
    await expect.poll(() => standby.reach(known), patient).toBe(true)
    await pause(behind)
    await road.writer.submit(recordReport(report()))
    const next = await present()
    await expect.poll(() => standby.reach(next), patient).toBe(true)
    wire.redirect(behind.url)
    expect(await isRead(standby, next)).toBe(false)
    const seen = { epochBase: 0, revision: known.revision, writes: 0 }
    expect(await isRead(standby, seen)).toBe(true)
    epochBase += 1
    expect(await isRead(standby, seen)).toBe(false)
  })

  it('keeps no reader waiting when it is lost', async () => {
    const server = await start()
    const standby = await open(server.url, { patience: 3_600_000 })
    await server.stop('immediate')
    const { revision, ...position } = await present()
    expect(await standby.reach({ ...position, revision: revision + 1 })).toBe(false)
    expect(standby.problem()).toBe('it cannot be reached')
  })

  it('is still read when it cancels a statement that blocks replay, and the reader gets the error', async () => {
    await runOn(primary, 'create table crowded as select generate_series(1, 1000) as n')
    const server = await start('hot_standby_feedback=off', 'max_standby_streaming_delay=0')
    const standby = await open(server.url, { readLimit: 60_000 })
    const position = { ...(await present()), revision: 0, writes: 0 }
    const snapshot = await standby.snapshot(position)
    if (!snapshot) throw new Error('it was not read')
    let isRunning = true
    const running = expect(
      snapshot.run('select pg_sleep(50)').finally(() => {
        isRunning = false
      }),
    ).rejects.toMatchObject({ code: '40001' })
    const others = `select pid from pg_stat_activity where query = 'select pg_sleep(50)' and state = 'active'`
    await expect
      .poll(async () => {
        const other = await standby.snapshot(position)
        const found = await other?.run(others).finally(other.close)
        return found?.length
      }, patient)
      .toBe(1)
    await runOn(primary, 'delete from crowded')
    // One alone removes nothing while another transaction of the primary, such as an automatic ANALYZE, may see the rows.
    const vacuum = async () => {
      await runOn(primary, 'vacuum crowded')
      return isRunning
    }
    await expect.poll(vacuum, patient).toBe(false)
    await running
    expect(snapshot.isStandbyLost?.()).toBe(true)
    await snapshot.close()
    expect(standby.problem()).toBeNull()
    expect(await isRead(standby, position)).toBe(true)
  })
})
