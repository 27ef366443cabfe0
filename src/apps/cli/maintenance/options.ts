/** What `rollcall maintenance` accepts: its help, and its options. */
import { commandOf } from '../../../server/process/arguments.ts'

export const usage = `Usage: ${commandOf('rollcall')} maintenance [plan | end <id>] [options]

Without more, lists the windows that last or are to come; with --over, those that are over.

  plan                     plan downtime of the devices and clusters that the options select
  end <id>                 end a window early, with its further occurrences

plan:
  --label <key>=<value> *  --device <id> *       which devices (* can be repeated, and match any of their values)
  --cluster <name> *       which clusters, by their names
  --from <time>            when it begins, such as 2026-12-05T18:00:00Z (default: now)
  --to <time>              when it ends, or
  --for <duration>         how long it lasts, such as 90m, 12h
  --reason <text>          the reason, which is shown with the devices
  --repeat <rule>          FREQ=WEEKLY or FREQ=DAILY, with INTERVAL, BYDAY (for weeks) and UNTIL, as in RFC 5545
  --time-zone <name>       in which it is repeated, such as Europe/Berlin (default UTC)

  --over                   list the windows that are over
  --json                   print one JSON object per line
  --url <address>          address of the server (default: ROLLCALL_URL, or http://127.0.0.1:4000)
  --token <token>          API key or token (default: ROLLCALL_TOKEN, or the session of login)
  --help, -h               show this help

Exit codes: 0 done · 1 refused by its content · 64 wrong command line · 69 server unreachable · 77 not allowed
`

const one = { type: 'string' } as const
export const maintenanceOptions = {
  label: { type: 'string', multiple: true },
  device: { type: 'string', multiple: true },
  cluster: { type: 'string', multiple: true },
  ...{ from: one, to: one, for: one, reason: one, repeat: one, 'time-zone': one },
  over: { type: 'boolean' },
  json: { type: 'boolean' },
  url: one,
  token: one,
  help: { type: 'boolean', short: 'h' },
} as const
