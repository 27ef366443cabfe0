/**
 * What is recorded until the power goes, in a process of its own, of it or of the PostgreSQL at POWER_URL: the first start of a database, reports under load, checkpoints, an orderly end, a second
 * start, a migration, and reports again. Writes to POWER_RESULT what each device was answered, and how long the record was then.
 */
import { fstatSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { migrate, readMigrations } from '../../../src/store/migration/migrate.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { type Played, startFleet } from '../clients/fleet.ts'
import { createRoad } from '../servers/road.ts'

/** `marks`: the length of the record at each outcome. */
export type MarkedPlay = Played & { readonly marks: readonly number[] }

/** Lengths of the record at the beginning of each phase. */
export interface Result {
  readonly phases: Readonly<Record<string, number>>
  readonly played: readonly MarkedPlay[]
}

const { POWER_ROOT = '', POWER_LOG = '', POWER_RESULT = '', POWER_REPORTS = '0', POWER_SYNCED = '' } = process.env
const { POWER_URL: url = null } = process.env
const log = openSync(POWER_LOG, 'r')
const length = (): number => fstatSync(log).size
const phases: Record<string, number> = {}
const begin = (phase: string): void => {
  phases[phase] = length()
}
const config = { url, dataDir: join(POWER_ROOT, 'a', 'data'), isSynced: POWER_SYNCED !== 'no' }
const enough = Number(POWER_REPORTS)
const marks = new Map<string, number[]>()

begin('first start')
let road = await createRoad(await openDatabase(config))
begin('load')
const fleet = startFleet(12, () => async (said) => {
  // While the database is closed, a device tries again.
  const outcome = await road.writer.submit(recordReport(said)).catch(() => null)
  if (outcome) marks.set(said.reporter, [...(marks.get(said.reporter) ?? []), length()])
  return outcome
})
await until(enough)
begin('checkpoint')
await road.database.session.run('checkpoint')
begin('load after a checkpoint')
await until(2 * enough)
begin('end')
await road.close()
begin('second start')
road = await createRoad(await openDatabase(config))
begin('migration')
const index = 'create index reports_next on reports (key, next)'
const text = `alter table reports add column next text; alter table deployments add column next int not null default 7; ${index}`
const next = { tag: '9999_next', text: text.replaceAll('; ', '--> statement-breakpoint\n') }
await migrate(road.database, [...(await readMigrations()), next])
// The log goes on in a new file.
await road.database.session.run('select pg_switch_wal()')
begin('load after a migration')
await until(3 * enough)
const played = await fleet.finish()
begin('last end')
await road.close()
const result: Result = {
  phases,
  played: played.map((each) => ({ ...each, marks: marks.get(each.reporter) ?? [] })),
}
writeFileSync(POWER_RESULT, JSON.stringify(result))

async function until(count: number): Promise<void> {
  while (fleet.acknowledged < count) await new Promise((resolve) => setTimeout(resolve, 1))
}
