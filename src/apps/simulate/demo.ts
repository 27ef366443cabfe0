/** `npm run demo`: an empty server, a simulated fleet that reports to it, and the dashboard's address. */

import { createLog } from '../../platform/log/log.ts'
import { createApp } from '../../server/app.ts'
import { parseConfig } from '../../server/config/config.ts'
import { commandOf, exitCodes, UsageError } from '../../server/process/arguments.ts'
import { endAtOnce } from '../../server/process/process-end.ts'
import { explain, withRemedy } from '../../server/process/startup-errors.ts'
import { openDatabase } from '../../store/open.ts'
import { ApiError } from '../client/client.ts'
import { parseOptions } from './options.ts'
import { runInTerminal } from './progress.ts'

const usage = `Usage: ${commandOf('demo')} [options]

Starts a server and simulates a fleet against it until Ctrl-C. Data is kept in memory, unless DATA_DIR or DATABASE_URL is set;
the server's other variables work too. It also has the options of simulate, except --url: see
${commandOf('simulate')} --help.
`

async function main(): Promise<number> {
  const options = parseOptions(['--devices', '200', ...process.argv.slice(2)], process.env, Date.now())
  if (options.isHelp) {
    console.log(usage)
    return exitCodes.reached
  }
  const config = parseConfig({ DATA_DIR: 'memory', LOG_LEVEL: 'warn', ...process.env })
  const database = await openDatabase(config.store)
  const app = await createApp({ config, database, log: createLog({ level: config.logLevel }) })
  // Otherwise the fleet would repeat its reports to a server that answers 503 for ever.
  database.gone?.then(() => {
    console.error('The database in memory has failed and its data is lost. DATA_DIR with a directory keeps data.')
    endAtOnce(exitCodes.unavailable)
  })
  try {
    const { port, host } = config.server
    const { url } = await app
      .listen()
      .catch(withRemedy(`the server cannot listen on port ${port} of ${host}`, 'stop the other server, or set PORT'))
    const address = config.server.publicUrl ?? url
    console.log(`Rollcall listens on ${url}\n\n  Open ${address}/ in a browser. Press Ctrl-C to stop everything.\n`)
    return await runInTerminal({ ...options, url })
  } finally {
    await app.close()
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof ApiError ? error.message : explain(error))
    process.exit(error instanceof UsageError ? exitCodes.usage : exitCodes.unavailable)
  },
)
