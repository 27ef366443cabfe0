/** What the commands that change something have in common: the choice of devices, the question to the server, and the exit code. */
import { escapeLine } from '../../../domain/look-alike.ts'
import { exitCodes, UsageError } from '../../../server/process/arguments.ts'
import { ApiError } from '../../client/client.ts'
import { type Api, createApi, forTerminal, problemOf } from '../api.ts'
import { findServer } from '../download.ts'
import { jsonLine } from '../show.ts'
import { exitWithoutOutput, terminalOf } from '../terminal.ts'

interface Chosen {
  readonly device?: readonly string[] | undefined
  readonly parent?: readonly string[] | undefined
  readonly label?: readonly string[] | undefined
}

/** Throws a UsageError if it would be all devices. */
export function filterOf({ device, parent, label }: Chosen, more: object = {}): object {
  const filter = {
    ...(device && { deviceIds: device }),
    ...(parent && { parents: parent }),
    ...(label && { labels: label.map(labelOf) }),
    ...more,
  }
  if (Object.keys(filter).length === 0) throw new UsageError('missing devices: say which ones')
  return filter
}

export function labelOf(text: string): object {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError(`--label must be <key>=<value>, but is ${JSON.stringify(text)}`)
  return { key: text.slice(0, at), value: text.slice(at + 1) }
}

interface Refused {
  readonly message: string
  readonly problems?: readonly { readonly path: readonly string[]; readonly message: string }[]
}

/** The fields of an error that the caller can correct. */
export const refusedFields = '... on InvalidInput { message problems { path message } } ... on UserError { message }'

export function explainRefusal({ message, problems = [] }: Refused): number {
  const parts = problems.map(({ path, message: why }) => `${path.join('.')} ${why}`)
  console.error(escapeLine([message, ...parts].join('; ')))
  return exitCodes.failed
}

interface Connected {
  readonly json?: boolean | undefined
  readonly url?: string | undefined
  readonly token?: string | undefined
}

/** `print`: an object with `--json`, otherwise its sentence. */
export async function connect(values: Connected): Promise<{ api: Api; print: (object: object, text: string) => void }> {
  const { address, token } = await findServer(values)
  const terminal = terminalOf(process.stdout)
  exitWithoutOutput(process.stdout)
  const api = createApi(address, token)
  return {
    api: values.json ? api : forTerminal(api),
    print: (object, text) => terminal.write(values.json ? jsonLine(object) : `${text}\n`),
  }
}

export function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

/** Runs a program, and ends the process with its exit code. */
export async function run(main: () => Promise<number>): Promise<never> {
  process.exitCode = await main().catch(fail)
  // The output, and its failure, may be late.
  await new Promise<void>((resolve) => process.stdout.write('', () => setImmediate(resolve)))
  process.exit()
}

function fail(error: unknown): number {
  if (!(error instanceof UsageError || error instanceof ApiError)) throw error
  console.error(error.message.split('\n').map(escapeLine).join('\n'))
  if (error instanceof UsageError) return exitCodes.usage
  const problem = problemOf(error)
  if (problem === 'refused') return exitCodes.refused
  return problem === 'invalid' ? exitCodes.failed : exitCodes.unavailable
}
