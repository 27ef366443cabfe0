/** The program: environment → configuration → database → app. The only reader of process.env. */
import { randomUUID } from 'node:crypto'
import { createApp } from './app.ts'
import { exitCodes, parseFlags, UsageError } from './cli/arguments.ts'
import { ConfigError, parseConfig } from './config.ts'
import { DomainError } from './domain/errors.ts'
import { createLog } from './log.ts'
import { openDatabase } from './store/open.ts'

const usage = `Usage: npm start

Starts the server, after it has brought its database to its tables. Environment variables configure it: the README lists them.

  --help, -h
`

async function main(): Promise<void> {
  const { help } = parseFlags(process.argv.slice(2), { help: { type: 'boolean', short: 'h', default: false } })
  if (help) {
    console.log(usage)
    return
  }
  const config = parseConfig(process.env)
  const log = createLog({ level: config.logLevel })
  const { store, server } = config
  const database = await openDatabase(store).catch(
    store.url === null
      ? because(`the data directory ${store.dataDir} cannot be used`, 'set DATA_DIR to another one')
      : because('the database cannot be reached', 'check DATABASE_URL'),
  )
  const app = await createApp({ config, database, log })

  let signals = 0
  const stop = (signal: NodeJS.Signals): void => {
    signals += 1
    if (signals > 1) process.exit(1)
    log.info({ signal }, 'shutting down')
    app.close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ error }, 'the shutdown was not orderly')
        process.exit(1)
      },
    )
  }
  // One piece of work failed whose promise nothing awaited. Everything else is intact, so the process continues. An
  // uncaught exception still ends the process: it interrupted synchronous code, perhaps between two changes of memory,
  // and committed data survives a restart.
  process.on('unhandledRejection', (error) => {
    const errorId = randomUUID()
    app.metrics.rejectionUnhandled()
    log.error({ errorId, error }, 'a promise was rejected and nothing waited for it')
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
    return because(`the server cannot listen on port ${server.port} of ${server.host}`, 'set PORT or HOST')(error)
  })
  log.info({ url, store: database.kind }, 'listening')
  console.log(welcome(server.publicUrl ?? url, database.kind, database.location, server.graphiql))
}

function welcome(url: string, kind: 'postgres' | 'pglite', location: string, graphiql: boolean): string {
  const where =
    kind === 'postgres'
      ? `PostgreSQL at ${location}`
      : location === 'memory'
        ? 'in memory: it ends with this process'
        : `in ${location} (embedded: a killed process loses nothing, a power cut may; production sets DATABASE_URL)`
  return `
Rollcall listens on ${url}
Its data is ${where}

Try, in another terminal:
  report  curl -X POST ${url}/device/edge-1/deployment/hello/status -H 'Content-Type: application/json' -d '{"deploymentId":"hello","status":{"state":"installing"},"components":[]}'
  ask     curl ${url}/graphql -H 'Content-Type: application/json' -d '{"query":"{ deployments { nodes { deploymentId state } } revision }"}'
  watch   curl -N ${url}/graphql -H 'Accept: text/event-stream' -H 'Content-Type: application/json' -d '{"query":"subscription { changes { cursor change { kind } } }"}'
${graphiql ? `Or open ${url}/graphql in a browser.\n` : ''}`
}

/** One sentence for errors that the operator can correct, a stack for all others. */
function explain(error: unknown): string {
  if (error instanceof ConfigError || error instanceof DomainError || error instanceof UsageError) return error.message
  const { code, message, stack, cause } = error as NodeJS.ErrnoException
  return code === undefined && cause === undefined ? (stack ?? message) : message
}

/** Adds to an error of the system what the server was doing, and the remedy. */
function because(what: string, remedy: string): (error: unknown) => never {
  return (cause) => {
    const { code, message } = cause as NodeJS.ErrnoException
    if (cause instanceof DomainError || code === undefined) throw cause
    throw new Error(`${what} (${message || code}): ${remedy}`, { cause })
  }
}

main().catch((error: unknown) => {
  console.error(explain(error))
  process.exit(error instanceof UsageError ? exitCodes.usage : 1)
})
