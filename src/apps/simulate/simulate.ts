/** `npm run simulate`: a fleet against a running server. */
import { exitCodes, UsageError } from '../../server/process/arguments.ts'
import { ApiError } from '../client/client.ts'
import { parseOptions, usage } from './options.ts'
import { runInTerminal } from './progress.ts'

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2), process.env, Date.now())
  if (options.isHelp) {
    console.log(usage)
    return exitCodes.reached
  }
  return runInTerminal(options)
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    if (!(error instanceof UsageError || error instanceof ApiError)) throw error
    console.error(error.message)
    if (error instanceof UsageError) console.error(`\n${usage}`)
    process.exit(error instanceof UsageError ? exitCodes.usage : exitCodes.unavailable)
  },
)
