/** `npm run rollcall`: the API for terminals and scripts. The help lists its exit codes. */
import { escapeLine } from '../../domain/look-alike.ts'
import { build } from '../../platform/version.ts'
import { commandOf, exitCodes, UsageError } from '../../server/process/arguments.ts'
import { ApiError } from '../client/client.ts'
import { optionsByCommand } from './accepted-options.ts'
import { getAlerts } from './alerts.ts'
import { type Api, createApi, forTerminal, problemOf, until } from './api.ts'
import { parseCommandLine, requireWatchable, type Task } from './command-line.ts'
import { completionOf } from './completion.ts'
import { getCounts, getDeployment, getDeployments, getRollout, getRollouts } from './get.ts'
import { getClusters, getDevice, getDevices, getResources } from './get-targets.ts'
import type { Output } from './list.ts'
import { NotThereError } from './selection.ts'
import { findStoredSession } from './stored-sessions.ts'
import { exitWithoutOutput, terminalOf } from './terminal.ts'
import { usage } from './usage.ts'
import { wait } from './wait.ts'
import { watchLines, watchTable } from './watch.ts'

async function main(): Promise<number> {
  const { connection, task } = parseCommandLine(process.argv.slice(2), process.env)
  const { url, isJson } = connection
  const output = { terminal: terminalOf(process.stdout), isJson }
  const warn = (line: string): void => console.error(line)
  const interrupted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort())
  exitWithoutOutput(process.stdout)

  if (task.name === 'login' || task.name === 'logout') {
    const { [task.name]: act } = await import('./login.ts')
    await act(url, process.env, warn, interrupted.signal)
    return exitCodes.reached
  }
  const needsServer = !['help', 'version', 'completion'].includes(task.name)
  const open = async () => {
    const stored = needsServer && connection.token === undefined ? await findStoredSession(url, process.env) : null
    const token = connection.token ?? stored?.token
    return { token, api: until(interrupted.signal, createApi(url, token)) }
  }
  if (task.name === 'mcp') {
    const { serveAssistant } = await import('./mcp/mcp.ts')
    await serveAssistant(url, open, process.env, warn, interrupted.signal)
    return exitCodes.reached
  }
  const { api: client } = await open()
  const api = isJson ? client : forTerminal(client)
  if (task.name === 'wait') return exitCodes[await wait(api, output, task, warn, interrupted.signal)]
  if (task.name === 'watch') {
    // What a table shows is the present: it has no changes to resume.
    const isTable = output.terminal.isLive && !isJson && task.after === null
    if (!isTable) requireWatchable(task)
    await (isTable
      ? watchTable(api, output, task, interrupted.signal)
      : watchLines(api, output, task, warn, interrupted.signal))
    return exitCodes.interrupted
  }
  await show(api, output, task)
  return exitCodes.reached
}

type ShownTask = Exclude<Task, { readonly name: 'wait' | 'watch' | 'login' | 'logout' | 'mcp' }>

async function show(api: Api, output: Output, task: ShownTask): Promise<void> {
  switch (task.name) {
    case 'help':
      return console.log(usage)
    case 'version':
      return console.log(build.version)
    case 'get deployments':
      return getDeployments(api, output, task.selection, task.limit)
    case 'get deployment':
      return getDeployment(api, output, task.deploymentId, task.deviceId)
    case 'get rollouts':
      return getRollouts(api, output, task.selection, task.limit)
    case 'get rollout':
      return getRollout(api, output, task.key)
    case 'get devices':
      return getDevices(api, output, task.selection, task.limit)
    case 'get device':
      return getDevice(api, output, task.deviceId)
    case 'get clusters':
      return getClusters(api, output, task.limit)
    case 'get resources':
      return getResources(api, output, task.selection, task.limit)
    case 'completion':
      return void process.stdout.write(completionOf(task.shell, optionsByCommand))
    case 'counts':
      return getCounts(api, output, task.selection)
    case 'alerts':
      return getAlerts(api, output, task.isAll, task.limit)
  }
}

function explain(error: unknown): number {
  if ((error as Error).name === 'AbortError') return exitCodes.interrupted
  if (error instanceof UsageError) {
    console.error(`${error.message}\nFor all commands and options: ${commandOf('rollcall')} --help`)
    return exitCodes.usage
  }
  if (error instanceof NotThereError) {
    tell(error)
    return exitCodes.failed
  }
  if (!(error instanceof ApiError)) throw error
  // The API names its argument; here an option selects the device.
  tell(error.code === 'AMBIGUOUS' ? new Error(error.message.replace('Set deviceId', 'Add --device <id>')) : error)
  const problem = problemOf(error)
  if (problem === 'refused') return exitCodes.refused
  return problem === 'invalid' ? exitCodes.failed : exitCodes.unavailable
}

/** Names of objects are in messages, too. */
function tell({ message }: Error): void {
  console.error(message.split('\n').map(escapeLine).join('\n'))
}

process.exitCode = await main().catch(explain)
// The output, and its failure, may be late.
await new Promise<void>((resolve) => process.stdout.write('', () => setImmediate(resolve)))
process.exit()
