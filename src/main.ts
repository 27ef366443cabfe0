/** The program: environment → configuration → database → app. The only reader of process.env. */
import { randomUUID } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { createLog } from './platform/log/log.ts'
import { openLogLines } from './platform/log/log-lines.ts'
import { build } from './platform/version.ts'
import { parseConfig, variables } from './server/config/config.ts'
import { misspelled } from './server/config/misspelled.ts'
import { secretFileVariables } from './server/config/secret-files.ts'
import { logEpoch, logRestart } from './server/log/database-events.ts'
import { commandOf, exitCodes, parseFlags, UsageError } from './server/process/arguments.ts'
import { firstSteps } from './server/process/first-steps.ts'
import { endAsSignalled, endAtOnce } from './server/process/process-end.ts'
import { startQuickly } from './server/process/quick-start.ts'
import { explain, withRemedy, withStoreRemedy } from './server/process/startup-errors.ts'
import type { Database } from './store/database.ts'

// By default, V8 allocates a kind of object in the old generation once a hundred of them are in use, as the last requests of
// a hundred connections are. They are soon unused, but stay in memory until the next full collection, which was twice as frequent.
setFlagsFromString('--no-allocation-site-pretenuring')

startQuickly()

const usage = `Usage: ${commandOf('serve')} [options]

Applies the database migrations and starts the server. Environment variables configure it: docs/configuration.md lists them.

  --help, -h
`

/** Milliseconds that the end of the process waits for the reader of the log. */
const flushLimit = 1_000

async function main(): Promise<void> {
  const { help } = parseFlags(process.argv.slice(2), { help: { type: 'boolean', short: 'h', default: false } })
  if (help) {
    console.log(usage)
    return
  }
  const config = parseConfig(process.env)
  // A program that reads the first line may end then, as `head -1` does.
  process.stdout.on('error', () => undefined)
  const lines = openLogLines(2)
  const log = createLog({ level: config.logLevel, to: lines })
  log.info(build, `Rollcall ${build.version} starts`)
  for (const { name, meant } of misspelled(process.env, [...variables, ...secretFileVariables]))
    log.warn({ name, meant }, `unknown environment variable ${name}: did you mean ${meant}?`)
  const { store, server } = config
  console.log(store.url === null ? `Opening ${store.dataDir} …` : 'Connecting to PostgreSQL …')
  // Loading the server takes ten times as long as reading the configuration, so a mistake in the latter is reported first. Meanwhile the database opens.
  const { openDatabase } = await import('./store/open.ts')
  const [database, { createApp }] = await Promise.all([
    openDatabase(store, undefined, logEpoch(log), logRestart(log)).catch(withStoreRemedy(store)),
    import('./server/app.ts'),
  ])
  const app = await createApp({ config, database, log })

  let signals = 0
  const stop = (signal: NodeJS.Signals): void => {
    signals += 1
    if (signals > 1) {
      endAsSignalled()
      endAtOnce(1)
    }
    log.info({ signal }, 'shutting down')
    app.close().then(
      (isEnded) => {
        log.info('shut down')
        return end(isEnded, 0)
      },
      (error: unknown) => {
        log.error({ error }, 'the shutdown failed')
        return end(false, 1)
      },
    )
  }
  const end = async (isEnded: boolean, status: number): Promise<void> => {
    const isWritten = await lines.flush(flushLimit)
    if (isEnded && isWritten) process.exit(status)
    endAtOnce(status)
  }
  // Work failed whose promise nothing awaited. Everything else is intact, so the process continues. An
  // uncaught exception still ends the process: it interrupted synchronous code, perhaps between two changes of memory,
  // and committed data survives a restart.
  process.on('unhandledRejection', (error) => {
    const errorId = randomUUID()
    app.metrics.rejectionUnhandled()
    log.error({ errorId, error }, 'a promise was rejected and nothing waited for it')
  })
  // Nothing is left to recover. A supervisor that restarts the process gives callers an empty server, instead of a 503 for ever.
  database.gone?.then(() => {
    log.error(
      'the database in memory has failed and its data is lost: the process ends. DATA_DIR with a directory keeps data',
    )
    return end(false, 1)
  })
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  // A closing terminal sends SIGHUP too: a server that was started there, and has no TLS files to read again, ends.
  process.on('SIGHUP', async () => {
    if (await app.reload()) return
    if (process.stdout.isTTY) stop('SIGHUP')
    else log.info('SIGHUP: without TLS_CERT there is nothing to read again')
  })

  const { url } = await app.listen().catch(async (error: unknown) => {
    await app.close()
    return withRemedy(`the server cannot listen on port ${server.port} of ${server.host}`, 'set PORT or HOST')(error)
  })
  log.info({ url, store: database.kind }, 'listening')
  const address = server.publicUrl ?? url
  console.log(`Rollcall listens on ${url}\n${locationOf(database, store.isSynced)}`)
  if (address !== url) console.log(`PUBLIC_URL: ${address}`)
  if (process.stdout.isTTY) console.log(firstSteps(address, config.auth, server.graphiql))
}

function locationOf({ kind, location }: Pick<Database, 'kind' | 'location'>, isSynced?: boolean): string {
  if (kind === 'postgres') return `Data: PostgreSQL at ${location}`
  if (location === 'memory') return 'Data: in memory, until this process ends'
  const durability = isSynced ? 'one server' : 'DURABILITY=relaxed: a power cut may lose the last reports'
  return `Data: ${location} (embedded, ${durability})`
}

main().catch((error: unknown) => {
  console.error(explain(error))
  process.exit(error instanceof UsageError ? exitCodes.usage : 1)
})
