/** Parses the command line of `npm run rollcall` before any request is sent. Pure. */
import { parseArgs } from 'node:util'
import { nearest } from '../../domain/edit-distance.ts'
import { parseLabelSelector } from '../../domain/selectors/label-selector.ts'
import { deploymentStates } from '../../domain/values.ts'
import { bearerToken, parseDuration, serverAddress, UsageError, usageErrorOf } from '../../server/process/arguments.ts'
import { refuseUnused } from './accepted-options.ts'
import { commands, objects, type Shell, shells } from './completion.ts'
import { filterFieldsOf, filterOptionNames, filterOptions, isChoice, wordOf } from './filter-options.ts'
import { type RolloutKey, type Selection, watchable } from './selection.ts'
import { options } from './usage.ts'
import type { Goal } from './wait.ts'

interface Connection {
  readonly url: string
  readonly token: string | undefined
  readonly isJson: boolean
}

interface WatchTask {
  readonly name: 'watch'
  readonly selection: Selection
  readonly after: string | null
  /** An option that the table can filter by, but not the changes. */
  readonly onlyInTable: string | null
}

export type Task =
  | { readonly name: 'help' }
  | { readonly name: 'version' }
  | { readonly name: 'login' }
  | { readonly name: 'logout' }
  | { readonly name: 'mcp' }
  | WatchTask
  | { readonly name: 'get deployments'; readonly selection: Selection; readonly limit: number }
  | { readonly name: 'get deployment'; readonly deploymentId: string; readonly deviceId: string | null }
  | {
      readonly name: 'get rollouts' | 'get devices' | 'get resources'
      readonly selection: Selection
      readonly limit: number
    }
  | { readonly name: 'get rollout'; readonly key: RolloutKey }
  | { readonly name: 'get device'; readonly deviceId: string }
  | { readonly name: 'get clusters'; readonly limit: number }
  | { readonly name: 'completion'; readonly shell: Shell }
  | { readonly name: 'counts'; readonly selection: Selection }
  | { readonly name: 'alerts'; readonly isAll: boolean; readonly limit: number }
  | {
      readonly name: 'wait'
      readonly selection: Selection
      readonly state: Goal
      /** Milliseconds. */
      readonly timeout: number
      readonly tolerate: number
      readonly noAlerts: boolean
    }

interface CommandLine {
  readonly connection: Connection
  readonly task: Task
}

/** Throws a UsageError. */
export function parseCommandLine(args: readonly string[], env: NodeJS.ProcessEnv): CommandLine {
  const { values, positionals } = parse(args)
  const connection = {
    url: serverAddress(values.url, env),
    token: bearerToken(values.token, env),
    isJson: values.json === true,
  }
  const [verb, noun, id, ...rest] = positionals
  if (values.help || verb === 'help') return { connection, task: { name: 'help' } }
  if (values.version || verb === 'version') return { connection, task: { name: 'version' } }
  const surplus = verb === 'get' ? rest : positionals.slice(verb === 'completion' ? 2 : 1)
  if (surplus.length > 0) throw new UsageError(`unexpected argument: ${surplus.join(' ')}`)
  return { connection, task: parseTask(verb, noun, id ?? null, values) }
}

function parseTask(verb: string | undefined, noun: string | undefined, id: string | null, values: Values): Task {
  const selection = selectionOf(values)
  if (selection.rolloutSelector.length > 0 && !(verb === 'get' && noun === 'rollouts'))
    throw new UsageError('--rollout-selector selects rollouts: use it with get rollouts')
  refuseUnused(verb, noun, Object.keys(values))
  switch (verb) {
    case 'watch':
      return {
        name: 'watch',
        selection,
        after: values.after === undefined ? null : revision(values.after),
        onlyInTable: filterOptionNames.find((name) => Object.hasOwn(values, name)) ?? null,
      }
    case 'counts':
      return { name: 'counts', selection }
    case 'alerts':
      return { name: 'alerts', isAll: values.all === true, limit: limitOf(values) }
    case 'wait':
      return {
        name: 'wait',
        selection: requireChoice(selection),
        state: goalOf(values.for),
        timeout: parseDuration('--timeout', values.timeout ?? '5m'),
        tolerate: wholeNumber('--tolerate', values.tolerate ?? '0', 0),
        noAlerts: values['no-alerts'] === true,
      }
    case 'get':
      return parseGet(noun, id, selection, limitOf(values))
    case 'login':
    case 'logout':
    case 'mcp':
      return { name: verb }
    case 'completion':
      return { name: 'completion', shell: shellOf(noun) }
    case undefined:
      throw new UsageError(`missing command: use ${commands.join(', ')}`)
    default:
      throw new UsageError(`unknown command \`${verb}\`: ${guess(verb, commands, `use ${commands.join(', ')}`)}`)
  }
}

function parseGet(noun: string | undefined, id: string | null, selection: Selection, limit: number): Task {
  if (objects.some((each) => each === noun && each.endsWith('s')) && id !== null)
    throw new UsageError(`get ${noun} takes no name: for one, use get ${noun?.slice(0, -1)} ${id}`)
  switch (noun) {
    case 'deployments':
      return { name: 'get deployments', selection, limit }
    case 'rollouts':
      return { name: 'get rollouts', selection, limit }
    case 'deployment': {
      const deploymentId = id ?? selection.deployments[0]
      if (deploymentId === undefined) throw new UsageError('missing deployment: use get deployment <id>')
      return { name: 'get deployment', deploymentId, deviceId: selection.devices[0] ?? null }
    }
    case 'rollout': {
      const key = id === null ? selection.rollout : { ...selection.rollout, name: id }
      if (!key) throw new UsageError('missing rollout: use get rollout <name>')
      return { name: 'get rollout', key }
    }
    case 'devices':
      return { name: 'get devices', selection, limit }
    case 'clusters':
      return { name: 'get clusters', limit }
    case 'resources':
      return { name: 'get resources', selection, limit }
    case 'device': {
      const deviceId = id ?? selection.devices[0]
      if (deviceId === undefined) throw new UsageError('missing device: use get device <id>')
      return { name: 'get device', deviceId }
    }
    case undefined:
      throw new UsageError(`missing object: use get ${objects.join(', ')}`)
    default:
      throw new UsageError(`unknown object \`${noun}\`: ${guess(noun, objects, `use get ${objects.join(', ')}`)}`)
  }
}

function guess(word: string, known: readonly string[], otherwise: string): string {
  const meant = nearest(word, known)
  return meant === null ? otherwise : `did you mean \`${meant}\`?`
}

function shellOf(text: string | undefined): Shell {
  const shell = shells.find((known) => known === text)
  if (shell) return shell
  throw new UsageError(`completion needs the shell: use completion ${shells.join(', ')}`)
}

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values']

/** The values of options that are conditions are among the others: filterFieldsOf reads them. */
function parse(args: readonly string[]): { readonly values: Values; readonly positionals: readonly string[] } {
  const all = { ...options, ...filterOptions }
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: all }) as {
      values: Values
      positionals: string[]
    }
  } catch (error) {
    throw usageErrorOf(error, all)
  }
}

function selectionOf(values: Values): Selection {
  return {
    rollout: rolloutOf(values),
    deployments: values.deployment ?? [],
    devices: values.device ?? [],
    labels: (values.label ?? []).map(labelOf),
    selector: values.selector === undefined ? [] : selectorOf('--selector', values.selector),
    rolloutSelector:
      values['rollout-selector'] === undefined ? [] : selectorOf('--rollout-selector', values['rollout-selector']),
    conditions: filterFieldsOf(values),
  }
}

/** `get rollout <name>` gives the name as an argument: it is filled in later. */
function rolloutOf(values: Values): RolloutKey | null {
  const parts = {
    ...(values.project === undefined ? {} : { project: values.project }),
    ...(values['composite-app'] === undefined ? {} : { compositeApp: values['composite-app'] }),
    ...(values['composite-app-version'] === undefined ? {} : { compositeAppVersion: values['composite-app-version'] }),
    ...(values.provider === undefined ? {} : { provider: values.provider }),
  }
  if (values.rollout !== undefined) return { name: values.rollout, ...parts }
  return Object.keys(parts).length > 0 ? { name: '', ...parts } : null
}

/** Throws a UsageError if an option can filter a table of deployments, but not changes. */
export function requireWatchable({ onlyInTable }: Pick<WatchTask, 'onlyInTable'>): void {
  if (onlyInTable === null) return
  throw new UsageError(
    `changes cannot be filtered by --${onlyInTable}, because its value changes over time: use ${watchable.map((name) => `--${name}`).join(', ')}, or a live table (in a terminal, without --json and --after)`,
  )
}

function requireChoice(selection: Selection): Selection {
  const { conditions, ...choosing } = selection
  if (isChoice(conditions) || Object.values(choosing).some((value) => value !== null && !isEmptyList(value)))
    return selection
  throw new UsageError(
    'missing selection: use --rollout, --deployment, --device, --label, --selector, --application or --text',
  )
}

function limitOf({ limit }: Values): number {
  return limit === undefined ? Number.POSITIVE_INFINITY : wholeNumber('--limit', limit, 1)
}

function isEmptyList(value: object): boolean {
  return Array.isArray(value) && value.length === 0
}

function goalOf(text: string | undefined): Goal {
  if (text === undefined) throw new UsageError('wait needs --for: a state, such as --for=installed, or --for=converged')
  return wordOf('--for', text, [...deploymentStates, 'CONVERGED'])
}

function labelOf(text: string): { key: string; value: string } {
  const at = text.indexOf('=')
  if (at > 0) return { key: text.slice(0, at), value: text.slice(at + 1) }
  throw new UsageError(`--label must be <key>=<value>, but is ${JSON.stringify(text)}`)
}

function selectorOf(name: string, text: string): Selection['selector'] {
  const selector = parseLabelSelector(text)
  if (selector) return selector
  throw new UsageError(`${name} must be conditions such as site=munich,env!=dev, but is ${JSON.stringify(text)}`)
}

function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least) return value
  throw new UsageError(`${name} must be a whole number of at least ${least}, but is ${JSON.stringify(text)}`)
}

function revision(text: string): string {
  if (/^(\d+|begin)$/.test(text)) return text
  throw new UsageError(`--after must be a cursor (digits only) or begin, but is ${JSON.stringify(text)}`)
}
