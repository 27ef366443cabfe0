/**
 * `npm run new-epoch`: run it after restoring a copy of the data that the server cannot detect as a copy (a volume snapshot, a
 * copied data directory). Subscribers whose cursors are newer than the copy then get a reset instead of silence.
 *
 * The database is not opened, and so not migrated, before the operator confirms and every server is stopped: a running server
 * would assign revisions of the old epoch, and devices would get documents of both.
 */
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { parseConfig } from '../../server/config/config.ts'
import { commandOf, exitCodes, parseFlags, UsageError } from '../../server/process/arguments.ts'
import { conclude, withStoreRemedy } from '../../server/process/startup-errors.ts'
import { whyNotAlone } from '../../store/alone.ts'
import { readClock } from '../../store/connection/clock.ts'
import { beginEpoch } from '../../store/connection/epoch.ts'
import { openDatabase } from '../../store/open.ts'

const usage = `Usage: ${commandOf('new-epoch')} [options]

Begins a new epoch in the database of DATABASE_URL or DATA_DIR. Run it after restoring a copy of the database files.
New revisions are higher than all used ones, cursors newer than the copy expire, and devices fetch their manifests again.
The log's time restarts at the database's clock. This also ends a log time in the future, left by a clock that jumped.
Stop every server first: the command refuses to run while one is connected.

  --yes, -y   skip the confirmation
  --help, -h  show this help

Exit codes: 0 begun, 1 not begun, 64 wrong command line.
`

async function main(): Promise<number> {
  const { yes, help } = parseFlags(process.argv.slice(2), {
    yes: { type: 'boolean', short: 'y', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  })
  if (help) {
    console.log(usage)
    return exitCodes.reached
  }
  const { store } = parseConfig(process.env)
  const where = store.url === null ? store.dataDir : 'DATABASE_URL'
  const refusal = await whyNotAlone(store).catch(withStoreRemedy(store))
  if (refusal !== null) {
    console.error(`${refusal}. No epoch was begun.`)
    return exitCodes.failed
  }
  if (!yes && !(await isAgreed(`Begin a new epoch in ${where}? Cursors newer than the restored copy expire. [y/N] `))) {
    console.error('No epoch was begun.')
    return exitCodes.failed
  }
  const database = await openDatabase(store).catch(withStoreRemedy(store))
  try {
    const base = await database.transaction(async (session) =>
      beginEpoch(session, await readClock(session), { timeFromClock: true }),
    )
    console.log(`A new epoch begins at revision ${base} of ${database.location}; older cursors expire.`)
    return exitCodes.reached
  } finally {
    await database.close()
  }
}

async function isAgreed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw new UsageError('no terminal to confirm on: add --yes')
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    // Ctrl-C and Ctrl-D end the question with an error, and the end of the input does not end it.
    const nothing = once(terminal, 'close').then(() => '')
    const answer = await Promise.race([terminal.question(question), nothing]).catch(() => '')
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    terminal.close()
  }
}

conclude(main(), usage)
