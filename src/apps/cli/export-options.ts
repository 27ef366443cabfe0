/** What `rollcall export` accepts: its help, and its options. */
import { commandOf } from '../../server/process/arguments.ts'

export const kinds: readonly string[] = ['changes', 'reports', 'deployments', 'devices', 'audit']

export const formats: readonly string[] = ['ndjson', 'csv', 'parquet']

export const usage = `Usage: ${commandOf('rollcall')} export ${kinds.join('|')} [options]

  -o, --output <file>          write <file> and <file>.manifest.json; without it, write the rows to the standard output
  --format <format>            ndjson (default), csv or parquet
  -l, --selector <conditions>  on labels: site=munich,env!=dev
  --where <json>               the argument where of GraphQL
  --at-revision <revision>     --as-of <time>           what the export reflects (default: the newest revision)
  --after-revision <revision>  only changes and reports after it
  --since <time>               --before <time>          when changes, reports and lines of the audit log were recorded
  --up-to <cursor>             the last line of the audit log
  --url <address>              address of the server (default: ROLLCALL_URL, or http://127.0.0.1:4000)
  --token <token>              API key or token, if the API requires one (default: ROLLCALL_TOKEN, or the session of login)
  --help, -h                   show this help

An interrupted export leaves <file>.part. The same command continues it; Parquet begins anew.

Exit codes: 0 written · 1 the file cannot be written or differs from the manifest, or the server refuses · 64 wrong command line · 69 server unreachable · 77 not allowed
`

const one = { type: 'string' } as const
/** Of the request, in the spelling of the command line. */
export const parameters = {
  format: one,
  selector: { type: 'string', short: 'l' },
  where: one,
  'at-revision': one,
  'as-of': one,
  'after-revision': one,
  since: one,
  before: one,
  'up-to': one,
} as const
export const options = {
  ...parameters,
  output: { type: 'string', short: 'o' },
  url: one,
  token: one,
  help: { type: 'boolean', short: 'h' },
} as const
