/** `rollcall restore FILE`: makes an embedded database of a backup, in a data directory that is empty. */
import { parseArgs } from 'node:util'
import { parseConfig } from '../../../server/config/config.ts'
import { commandOf, exitCodes, UsageError, usageErrorOf } from '../../../server/process/arguments.ts'
import { conclude, withRemedy } from '../../../server/process/startup-errors.ts'
import { restoreBackup } from '../../../store/restore.ts'

const usage = `Usage: ${commandOf('rollcall')} restore <file>

Makes an embedded database of a file of \`rollcall backup\`, in DATA_DIR, which must be empty. It begins a new epoch: new revisions are
higher than all used ones, cursors newer than the backup expire, and devices fetch their manifests again. It also counts everything again.

  --help, -h  show this help

Exit codes: 0 restored · 1 nothing was restored · 64 wrong command line
`

const options = { help: { type: 'boolean', short: 'h' } } as const

async function main(): Promise<number> {
  const { values, positionals } = parse()
  if (values.help) {
    console.log(usage)
    return exitCodes.reached
  }
  const [file, ...rest] = positionals
  if (file === undefined || rest.length > 0)
    throw new UsageError(`restore needs one file${file === undefined ? '' : `, but has "${positionals.join(' ')}"`}`)
  const { store } = parseConfig(process.env)
  if (store.url !== null)
    throw new UsageError('DATABASE_URL is set: restore a dump of PostgreSQL with pg_restore, as docs/backup.md says')
  if (store.dataDir === 'memory')
    throw new UsageError('DATA_DIR is memory, which nothing can be restored into: set it to a directory')
  const { revision, base, drift } = await restoreBackup(file, store.dataDir).catch(
    withRemedy(`${file} cannot be restored into ${store.dataDir}`, 'nothing was restored'),
  )
  console.log(`${store.dataDir} has all changes up to revision ${revision}. A new epoch begins at ${base}.`)
  for (const { scope, field, counted, recounted } of drift)
    console.error(`${scope}: ${field} is ${counted}, but ${recounted} in a recount. Report this defect.`)
  return exitCodes.reached
}

function parse() {
  try {
    return parseArgs({ args: process.argv.slice(2), allowPositionals: true, options })
  } catch (error) {
    throw usageErrorOf(error, options)
  }
}

conclude(main(), usage)
