/**
 * Which options each command reads. Any other one is refused: if `get devices --state failed` ignored the state, its list would
 * look filtered, and a script would act on the whole fleet.
 */
import { UsageError } from '../../server/process/arguments.ts'
import { objects } from './completion.ts'
import { options as exportOptions } from './export-options.ts'
import { filterOptionNames } from './filter-options.ts'
import { maintenanceOptions } from './maintenance/options.ts'
import { reinstateOptions, retireOptions } from './retirement/options.ts'
import type { options } from './usage.ts'

type Option = keyof typeof options

const everywhere: readonly Option[] = ['json', 'url', 'token', 'help']
const rollout: readonly Option[] = ['rollout', 'project', 'composite-app', 'composite-app-version', 'provider']
const labels: readonly Option[] = ['label', 'selector']
const deployments: readonly string[] = [...rollout, 'deployment', 'device', ...labels, ...filterOptionNames]
const named = (...own: readonly Option[]): readonly string[] => own

const accepted: Readonly<Record<string, readonly string[]>> = {
  watch: [...deployments, ...named('after')],
  counts: deployments,
  alerts: named('all', 'limit'),
  wait: [...deployments, ...named('for', 'timeout', 'tolerate', 'no-alerts')],
  login: [],
  logout: [],
  mcp: [],
  completion: [],
  'get deployments': [...deployments, ...named('limit')],
  'get deployment': named('deployment', 'device'),
  'get rollouts': named(...labels, 'rollout-selector', 'limit'),
  'get rollout': rollout,
  'get devices': named(...labels, 'limit'),
  'get device': named('device'),
  'get clusters': named('limit'),
  'get resources': named(...labels, 'limit'),
}

const simulateOptions = [
  'mqtt',
  'devices',
  'rollouts',
  'clusters',
  'agents',
  'seed',
  'speed',
  'duration',
  'run',
  'token',
  'help',
]

/** The options of each command, by its name or by `get` and the object: also of those that are programs of their own. */
export const optionsByCommand = new Map<string, readonly string[]>([
  ...Object.entries(accepted).map(([command, own]) => [command, [...own, ...everywhere]] as const),
  ['export', Object.keys(exportOptions)],
  ['maintenance', Object.keys(maintenanceOptions)],
  ['retire', Object.keys(retireOptions)],
  ['reinstate', Object.keys(reinstateOptions)],
  ['serve', ['help']],
  ['demo', simulateOptions],
  ['simulate', ['url', ...simulateOptions]],
  ['new-epoch', ['yes', 'help']],
  ['migrate', ['help']],
  ['rebuild', ['help']],
])

/** Throws a UsageError. Unknown commands are refused elsewhere. */
export function refuseUnused(verb: string | undefined, noun: string | undefined, given: readonly string[]): void {
  const command = verb === 'get' && objects.some((known) => known === noun) ? `get ${noun}` : (verb ?? '')
  const used = accepted[command]
  const unused = used && given.find((name) => ![...everywhere, ...used].some((known) => known === name))
  if (!unused) return
  const list = used.map((name) => `--${name}`).join(', ')
  throw new UsageError(`${command} does not use --${unused}${list === '' ? '' : `: use ${list}`}`)
}
