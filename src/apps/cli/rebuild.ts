/**
 * `rollcall rebuild <name>`: has a projection made again (src/store/projection.ts), such as an index that lost rows with a damaged disk. The command only
 * takes the cursor back. The server that performs the duty makes the rows, and so does it while reports come.
 */
import { parseArgs } from 'node:util'
import { parseConfig } from '../../server/config/config.ts'
import { commandOf, exitCodes, UsageError, usageErrorOf } from '../../server/process/arguments.ts'
import { explain, withStoreRemedy } from '../../server/process/startup-errors.ts'
import { openDatabase } from '../../store/open.ts'
import { rebuild } from '../../store/projection.ts'
import { projections } from '../../store/projections.ts'

const names = projections.map(({ name }) => name)
const usage = `Usage: ${commandOf('rollcall')} rebuild <name>

Has a server make again what it derives from the log, in the database of DATABASE_URL or DATA_DIR: ${names.join(', ')}.
Servers on PostgreSQL go on meanwhile. Stop the server of an embedded database first. Answers stay exact: those that use what is
made again may take longer. /readyz?verbose shows how far it is. standstill forgets durations from before what the log retains.

  --help, -h  show this help

Exit codes: 0 begun, 1 not begun, 64 wrong command line.
`
const options = { help: { type: 'boolean', short: 'h', default: false } } as const

async function main(): Promise<number> {
  const { values, positionals } = parse()
  if (values.help) {
    console.log(usage)
    return exitCodes.reached
  }
  const [name = '', surplus] = positionals
  const projection = projections.find((known) => known.name === name)
  if (!projection || surplus !== undefined)
    throw new UsageError(`rebuild needs one name: ${names.join(', ')}, but has "${positionals.join(' ')}"`)
  const { store } = parseConfig(process.env)
  const database = await openDatabase(store).catch(withStoreRemedy(store))
  try {
    await rebuild(database, projection)
    console.log(`${name} of ${database.location} is made again: /readyz?verbose of a server shows how far it is.`)
    return exitCodes.reached
  } finally {
    await database.close()
  }
}

function parse() {
  try {
    return parseArgs({ args: process.argv.slice(2), options, allowPositionals: true })
  } catch (error) {
    throw usageErrorOf(error, options)
  }
}

main().then(
  (code) => {
    process.exitCode = code
  },
  (error: unknown) => {
    console.error(explain(error))
    if (error instanceof UsageError) console.error(`\n${usage}`)
    process.exitCode = error instanceof UsageError ? exitCodes.usage : exitCodes.failed
  },
)
