/**
 * `rollcall rebuild <name>`: has a projection made again (src/store/projection.ts), such as an index that lost rows with a damaged disk. The command only
 * takes the cursor back. The server that performs the duty makes the rows, and so does it while reports come.
 */
import { parseConfig } from '../../server/config/config.ts'
import { commandOf, exitCodes, parseFlags, UsageError } from '../../server/process/arguments.ts'
import { conclude, withStoreRemedy } from '../../server/process/startup-errors.ts'
import { openDatabase } from '../../store/open.ts'
import { rebuild } from '../../store/projection.ts'
import { projections } from '../../store/projections.ts'

const known = projections.map(({ name }) => name).join(', ')
const usage = `Usage: ${commandOf('rollcall')} rebuild <name>

Has a server make again what it derives from the log, in the database of DATABASE_URL or DATA_DIR: ${known}.
Servers on PostgreSQL go on meanwhile. Stop the server of an embedded database first. Answers stay exact: those that use what is
made again may take longer. /readyz?verbose shows how far it is. standstill forgets durations from before what the log retains.

  --help, -h  show this help

Exit codes: 0 begun, 1 not begun, 64 wrong command line.
`

async function main(): Promise<number> {
  const given = process.argv.slice(2)
  const names = given.filter((argument) => !argument.startsWith('-'))
  const flags = given.filter((argument) => argument.startsWith('-'))
  if (parseFlags(flags, { help: { type: 'boolean', short: 'h', default: false } }).help) {
    console.log(usage)
    return exitCodes.reached
  }
  const projection = projections.find(({ name }) => name === names.join(' '))
  if (!projection) throw new UsageError(`rebuild needs one name: ${known}, but has "${names.join(' ')}"`)
  const { store } = parseConfig(process.env)
  const database = await openDatabase(store).catch(withStoreRemedy(store))
  try {
    await rebuild(database, projection)
    console.log(
      `${projection.name} of ${database.location} is made again: /readyz?verbose of a server shows how far it is.`,
    )
    return exitCodes.reached
  } finally {
    await database.close()
  }
}

conclude(main(), usage)
