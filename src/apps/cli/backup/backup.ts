/**
 * `rollcall backup FILE`: has the server copy its embedded database into a file. The file is complete or not there: it gets its name when all of it is on
 * the disk. Then the server learns of it.
 */
import { mkdir, open, rename, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { dirname, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { escapeLine } from '../../../domain/look-alike.ts'
import { commandOf, exitCodes, UsageError, usageErrorOf } from '../../../server/process/arguments.ts'
import { createApi } from '../api.ts'
import { createAsk, explainFailure, FileError, findServer, ServerError, written } from '../download.ts'

const usage = `Usage: ${commandOf('rollcall')} backup <file> [options]

Backs up the embedded database of a server into a file, while the server works. \`rollcall restore\` makes a database of it.
The file contains credentials and secrets: only its owner may read it, and only an admin may make it.
With PostgreSQL, use pg_dump.

  --url <address>    address of the server (default: ROLLCALL_URL, or http://127.0.0.1:4000)
  --token <token>    API key or token, if the API requires one (default: ROLLCALL_TOKEN, or the session of login)
  --help, -h         show this help

Exit codes: 0 done · 1 not done · 64 wrong command line · 69 server unreachable · 77 not allowed
`

const options = {
  url: { type: 'string' },
  token: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

async function main(): Promise<number> {
  const { values, positionals } = parse()
  if (values.help) {
    console.log(usage)
    return exitCodes.reached
  }
  const [file, ...rest] = positionals
  if (file === undefined || rest.length > 0)
    throw new UsageError(`backup needs one file${file === undefined ? '' : `, but has "${positionals.join(' ')}"`}`)
  const { address, token } = await findServer(values)
  const answer = await createAsk(address, token)('/backup')
  const { 'rollcall-at': at, 'rollcall-revision': revision } = answer.headers
  if (at === undefined || revision === undefined) throw new ServerError(0, 'this server makes no backups')
  const bytes = await save(answer, resolve(file))
  console.log(`${file}: ${bytes} bytes, with all changes up to revision ${escapeLine(String(revision))}`)
  await createApi(address, token)
    .ask('mutation RecordBackup($input: RecordBackupInput!) { recordBackup(input: $input) { __typename } }', {
      input: { at, revision: String(revision) },
    })
    .catch((error: Error) => console.error(`the server could not record it: ${escapeLine(error.message)}`))
  return exitCodes.reached
}

function parse() {
  try {
    return parseArgs({ args: process.argv.slice(2), allowPositionals: true, options })
  } catch (error) {
    throw usageErrorOf(error, options)
  }
}

/** Returns its bytes. */
async function save(answer: IncomingMessage, file: string): Promise<number> {
  const part = `${file}.part`
  let size = 0
  try {
    await written(file, () => mkdir(dirname(file), { recursive: true }))
    // One of a command that was killed may have other rights.
    await written(file, () => rm(part, { force: true }))
    const handle = await written(file, () => open(part, 'wx', 0o600))
    try {
      for await (const bytes of answer as AsyncIterable<Buffer>) {
        await written(file, () => handle.appendFile(bytes))
        size += bytes.length
      }
      await written(file, () => handle.sync())
    } finally {
      await handle.close()
    }
    await written(file, () => rename(part, file))
    await written(file, () => syncFolder(dirname(file)))
    return size
  } catch (error) {
    answer.destroy()
    await rm(part, { force: true }).catch(() => undefined)
    if (error instanceof FileError) throw error
    throw new ServerError(0, 'the connection was lost: there is no backup')
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  // Some file systems refuse it, and need none.
  await folder.sync().catch(() => undefined)
  await folder.close()
}

process.exitCode = await main().catch(explainFailure('backup'))
