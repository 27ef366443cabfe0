/** What the command line accepts: its help, and its options. */
import { commandOf } from '../../server/process/arguments.ts'
import { filterUsage } from './filter-options.ts'

export const usage = `Usage: ${commandOf('rollcall')} <command> [options]

  watch                          follow changes: a live table in a terminal, otherwise one line per change
  get deployments                list deployments, last changed first
  get deployment <id>            show one deployment with its components and latest changes
  get rollouts                   list rollouts with their counts
  get rollout <name>             show one rollout
  get devices                    list devices
  get device <id>                show one device and count its deployments
  get clusters                   list clusters
  get resources                  list the resources of current instances on clusters
  counts                         count deployments by state
  alerts                         list the alerts that fire; with --all, resolved alerts too
  wait --for=<state>             wait until deployments reach a state
  export <kind>                  write the log, reports, deployments, devices or the audit log to a file; has its own --help
  maintenance [plan | end <id>]  list, plan and end planned downtime of devices; has its own --help
  retire | reinstate             take devices out of service that never come back, and undo that; each has its own --help
  login | logout                 sign in with the identity provider of the server; further commands use the session
  mcp                            let an assistant ask over standard input and output (Model Context Protocol)
  serve | demo | simulate        start a server, a server with a simulated fleet, or a fleet; each has its own --help
  backup <file>                  back up the embedded database while its server runs; has its own --help
  restore <file>                 make an embedded database of a backup; has its own --help
  new-epoch                      begin a new epoch in a restored database
  migrate                        apply the migrations without starting a server
  rebuild <name>                 have a server make again what it derives from the log; has its own --help
  completion bash|zsh|fish       print a completion script for the shell

Select deployments (options marked * can be repeated, and match any of their values):
  --rollout <name>               an intent group also needs --project, --composite-app and --composite-app-version,
                                 network intents of a cluster --provider
  --deployment <id> *            --device <id> *           --label <key>=<value> *
${filterUsage}
  -l, --selector <conditions>    on labels, all of which must hold: site=munich,env!=dev,ring in (a,b),tier notin (x),spare,!old;
                                 --label and -l also select what get rollouts, devices and resources list
  --rollout-selector <conditions>  with get rollouts: on the labels of the rollouts themselves, team=packaging

alerts:
  --all                          list resolved alerts too

wait:
  --for <state>                  pending, installing, installed, failed, removing or removed, of all selected deployments;
                                 or converged: all selected deployments have reached their target version
  --timeout <duration>           such as 90s, 5m or 1h (default 5m)
  --tolerate <n>                 ignore up to n failed deployments (default 0)
  --no-alerts                    fail if an alert of the rollout or the fleet fires when the state is reached

watch:
  --after <cursor>               print the changes after this cursor, without a gap; begin: everything that is kept
                                 (default: in a terminal a live table, otherwise the changes from now on)

Global options:
  --json                         print one JSON object per line
  --limit <n>                    print at most n rows (lists of get, alerts)
  --url <address>                address of the server (default: ROLLCALL_URL, or http://127.0.0.1:4000)
  --token <token>                API key or token, if the API requires one (default: ROLLCALL_TOKEN, or the session of login)
  --help                         show this help
  --version                      show the version of this command

Exit codes: 0 done, or state reached · 1 deployments failed, not found, or output lost · 2 timeout ·
  64 wrong command line · 69 server unreachable · 77 not allowed · 130 interrupted
`

const many = { type: 'string', multiple: true } as const
const one = { type: 'string' } as const

/** By name. filter-options.ts has the others. */
export const options = {
  rollout: one,
  project: one,
  'composite-app': one,
  'composite-app-version': one,
  provider: one,
  deployment: many,
  device: many,
  label: many,
  selector: { type: 'string', short: 'l' },
  'rollout-selector': one,
  for: one,
  timeout: one,
  tolerate: one,
  'no-alerts': { type: 'boolean' },
  all: { type: 'boolean' },
  after: one,
  limit: one,
  json: { type: 'boolean' },
  url: one,
  token: one,
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const
