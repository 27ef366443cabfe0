/** `rollcall migrate`: applies the migrations and ends. A server does the same at its start. As a step of its own, an upgrade can wait for it, and stop if it fails. */
import { parseConfig } from '../../server/config/config.ts'
import { commandOf, exitCodes, parseFlags } from '../../server/process/arguments.ts'
import { conclude, withStoreRemedy } from '../../server/process/startup-errors.ts'
import { openDatabase } from '../../store/open.ts'

const usage = `Usage: ${commandOf('rollcall')} migrate

Applies the migrations of this version to the database of DATABASE_URL or DATA_DIR, and ends. Servers on PostgreSQL go on meanwhile.
Each server does the same when it starts. Stop the server of an embedded database first.

  --help, -h  show this help

Exit codes: 0 the database is up to date, 1 it is not, 64 wrong command line.
`

async function main(): Promise<number> {
  const { help } = parseFlags(process.argv.slice(2), { help: { type: 'boolean', short: 'h', default: false } })
  if (help) {
    console.log(usage)
    return exitCodes.reached
  }
  const { store } = parseConfig(process.env)
  const database = await openDatabase(store).catch(withStoreRemedy(store))
  await database.close()
  console.log(`${database.location} has all migrations of this version`)
  return exitCodes.reached
}

conclude(main(), usage)
