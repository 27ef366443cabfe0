/** What `rollcall retire` and `rollcall reinstate` accept: their help, and their options. */
import { commandOf } from '../../../server/process/arguments.ts'

const choice = `  --device <id> *          --parent <id> *       which devices (* can be repeated, and match any of their values)
  --label <key>=<value> *`
const common = `  --with-children          the devices behind them, too
  --yes                    do it: without, only say what would change
  --json                   print one JSON object
  --url <address>          address of the server (default: ROLLCALL_URL, or http://127.0.0.1:4000)
  --token <token>          API key or token (default: ROLLCALL_TOKEN, or the session of login)
  --help, -h               show this help

Exit codes: 0 done, or would be · 1 refused by its content · 64 wrong command line · 69 server unreachable · 77 not allowed
`

export const retireUsage = `Usage: ${commandOf('rollcall')} retire [options]

Takes devices out of service that never come back, and closes their deployments.

${choice}
  --silent <duration>      heard once, and not for so long, such as 12d
  --reason <text>          the reason, which is shown with the devices
${common}`

export const reinstateUsage = `Usage: ${commandOf('rollcall')} reinstate [options]

Puts retired devices back in service: it undoes \`retire\`. Each gets a new token. Their deployments return when they are reported or declared.

${choice}
${common}`

const [one, flag] = [{ type: 'string' }, { type: 'boolean' }] as const
const many = { type: 'string', multiple: true } as const
export const reinstateOptions = {
  ...{ device: many, parent: many, label: many },
  ...{ 'with-children': flag, yes: flag, json: flag, url: one, token: one },
  help: { type: 'boolean', short: 'h' },
} as const
export const retireOptions = { ...reinstateOptions, silent: one, reason: one } as const
