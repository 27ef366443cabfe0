/** `rollcall export`: writes an export to a file, with a manifest beside it. Continues after an interruption, and checks what it has written. */
import { stat } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { escapeHidden, escapeLine } from '../../domain/look-alike.ts'
import { exitCodes, UsageError, usageErrorOf } from '../../server/process/arguments.ts'
import {
  type Ask,
  createAsk,
  explainFailure,
  FileError,
  findServer,
  mayPass,
  read,
  ServerError,
  written,
} from './download.ts'
import { exportFile, type Part } from './export-file.ts'
import { kinds, options, parameters, usage } from './export-options.ts'
import { exitWithoutOutput } from './terminal.ts'

/** Further attempts, with pauses of up to this many milliseconds. */
const attempts = 5
const longestPause = 5_000

async function main(): Promise<number> {
  const { values, positionals } = parse()
  const [kind, ...rest] = positionals
  if (values.help) {
    console.log(usage)
    return exitCodes.reached
  }
  if (kind === undefined || rest.length > 0 || !kinds.includes(kind))
    throw new UsageError(
      `export needs one kind: ${kinds.join(', ')}${kind === undefined ? '' : `, but has "${positionals.join(' ')}"`}`,
    )
  const { address, token } = await findServer(values)
  const ask = createAsk(address, token)
  const request = requestOf(kind, values)
  exitWithoutOutput(process.stdout)
  if (values.output === undefined && process.stdout.isTTY && values.format === 'parquet')
    throw new UsageError('Parquet is not text: write it to a file with --output')
  if (values.output === undefined) return print(await ask(request))
  await requireFile(values.output)
  return save(ask, request, values.output)
}

/** The complete export replaces the file of that name. If that were a device, such as /dev/null, it would be gone for all programs. */
async function requireFile(output: string): Promise<void> {
  const there = await stat(output).catch(() => null)
  if (there && !there.isFile())
    throw new UsageError(`--output must be a file, but ${output} is not: leave it out to write to the standard output`)
}

function parse() {
  try {
    return parseArgs({ args: process.argv.slice(2), allowPositionals: true, options })
  } catch (error) {
    throw usageErrorOf(error, options)
  }
}

function requestOf(kind: string, values: ReturnType<typeof parse>['values']): string {
  const query = new URLSearchParams({ format: 'ndjson' })
  for (const name of Object.keys(parameters) as (keyof typeof parameters)[]) {
    const value = values[name]
    if (value !== undefined)
      query.set(
        name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
        value,
      )
  }
  return `/export/${encodeURIComponent(kind)}?${query}`
}

/** A file or another program gets the exact bytes. A terminal needs no carriage return. */
async function print(rows: IncomingMessage): Promise<number> {
  const decoder = new TextDecoder()
  const shown = (bytes: Uint8Array) =>
    process.stdout.isTTY ? escapeHidden(decoder.decode(bytes, { stream: true }).replaceAll('\r', '')) : bytes
  try {
    for await (const bytes of rows)
      if (!process.stdout.write(shown(bytes))) await new Promise((resolve) => process.stdout.once('drain', resolve))
  } catch {
    throw new ServerError(0, 'the connection was lost: the output is incomplete')
  }
  return exitCodes.reached
}

async function save(ask: Ask, request: string, output: string): Promise<number> {
  const file = exportFile(output)
  let part = (await written(output, () => file.find(request))) ?? (await begin())

  async function begin(): Promise<Part> {
    // A GET has a body that explains a refusal.
    const answer = await ask(request, 'HEAD').catch(() => ask(request))
    answer.destroy()
    const location = answer.headers['content-location']
    if (location === undefined) throw new ServerError(0, 'this server has no exports')
    await written(output, () => file.begin(request, location))
    return { location, cursor: null }
  }

  async function writeRows(): Promise<void> {
    const after = part.cursor === null ? '' : `&after=${encodeURIComponent(part.cursor)}`
    for await (const bytes of await ask(part.location + after)) await written(output, () => file.append(bytes))
  }

  /** Writes all rows, and returns the manifest of the server. */
  async function complete(): Promise<Readonly<Record<string, unknown>>> {
    let hasRows = false
    for (let failures = 0; ; ) {
      try {
        if (!hasRows) await writeRows()
        hasRows = true
        return (await read(await ask(part.location.replace('?', '/manifest?')))) as Record<string, unknown>
      } catch (error) {
        failures += 1
        await pauseAfter(error, failures, output)
        if (hasRows) continue
        const found = await written(output, () => file.find(request))
        if ((found?.cursor ?? null) !== part.cursor) failures = 0
        part = found ?? part
      }
    }
  }

  const manifest = await complete()
  const { bytes, sha256 } = await file.figures()
  if (manifest.sha256 !== sha256 || manifest.bytes !== bytes) {
    await file.discard()
    throw new ServerError(409, `the file differs from what the server has now, so it was removed: export it again`)
  }
  await written(output, () => file.finish(manifest))
  console.log(`${output}: ${escapeLine(String(manifest.rows))} rows, ${bytes} bytes, sha256 ${sha256}`)
  return exitCodes.reached
}

/** Throws an error that does not pass, and one after too many others. */
async function pauseAfter(error: unknown, failures: number, output: string): Promise<void> {
  if (error instanceof FileError) throw error
  // The body of an answer breaks off with errors of other classes.
  const failure = error instanceof ServerError ? error : new ServerError(0, 'the connection was lost')
  if (!mayPass(failure) || failures > attempts) throw failure
  console.error(`the connection was lost: continuing ${output}`)
  await sleep(Math.min(200 * 2 ** failures, longestPause))
}

process.exitCode = await main().catch(explainFailure('export'))
