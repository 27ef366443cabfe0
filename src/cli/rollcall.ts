/** `npm run rollcall`: the API for terminals and scripts. The help lists its exit codes. */
import { ApiError } from '../client/client.ts'
import { getAlerts } from './alerts.ts'
import { createApi, problemOf } from './api.ts'
import { commandOf, exitCodes, UsageError } from './arguments.ts'
import { parseCommandLine } from './command-line.ts'
import { completionOf } from './completion.ts'
import { getCounts, getDeployment, getDeployments, getRollout, getRollouts } from './get.ts'
import { getClusters, getDevice, getDevices } from './get-targets.ts'
import { NotThereError } from './selection.ts'
import { terminalOf } from './terminal.ts'
import { options, usage } from './usage.ts'
import { wait } from './wait.ts'
import { watchLines, watchTable } from './watch.ts'

async function main(): Promise<number> {
  const { connection, task } = parseCommandLine(process.argv.slice(2), process.env)
  const { url, token, isJson } = connection
  const api = createApi(url, token)
  const output = { terminal: terminalOf(process.stdout), isJson }
  const warn = (line: string): void => console.error(line)
  const interrupted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort())
  // The reader of stdout is gone, as with `| head`: exit without an error message.
  process.stdout.on('error', () => process.exit(exitCodes.interrupted))

  switch (task.name) {
    case 'help':
      console.log(usage)
      return exitCodes.reached
    case 'watch':
      await (output.terminal.isLive && !isJson
        ? watchTable(api, output, task, interrupted.signal)
        : watchLines(api, output, task, warn, interrupted.signal))
      return exitCodes.interrupted
    case 'get deployments':
      await getDeployments(api, output, task.selection, task.limit)
      return exitCodes.reached
    case 'get deployment':
      await getDeployment(api, output, task.deploymentId, task.deviceId)
      return exitCodes.reached
    case 'get rollouts':
      await getRollouts(api, output, task.limit)
      return exitCodes.reached
    case 'get rollout':
      await getRollout(api, output, task.key)
      return exitCodes.reached
    case 'get devices':
      await getDevices(api, output, task.limit)
      return exitCodes.reached
    case 'get device':
      await getDevice(api, output, task.deviceId)
      return exitCodes.reached
    case 'get clusters':
      await getClusters(api, output, task.limit)
      return exitCodes.reached
    case 'completion':
      process.stdout.write(completionOf(task.shell, Object.keys(options)))
      return exitCodes.reached
    case 'counts':
      await getCounts(api, output, task.selection)
      return exitCodes.reached
    case 'alerts':
      await getAlerts(api, output, task.isAll, task.limit)
      return exitCodes.reached
    case 'wait':
      return exitCodes[await wait(api, output, task, warn, interrupted.signal)]
  }
}

function explain(error: unknown): number {
  if (error instanceof UsageError) {
    console.error(`${error.message}\nFor all commands and options: ${commandOf('rollcall')} --help`)
    return exitCodes.usage
  }
  if (error instanceof NotThereError) {
    console.error(error.message)
    return exitCodes.failed
  }
  if (!(error instanceof ApiError)) throw error
  console.error(error.message)
  const problem = problemOf(error)
  if (problem === 'refused') return exitCodes.refused
  return problem === 'invalid' ? exitCodes.failed : exitCodes.unavailable
}

process.exitCode = await main().catch(explain)
process.exit()
