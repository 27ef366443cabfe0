/** Shows the progress of a run: a few lines that are redrawn in a terminal, or a line from time to time elsewhere. */

import { type DeploymentState, deploymentStates } from '../../domain/values.ts'
import { exitCodes } from '../../server/process/arguments.ts'
import { createApi } from '../cli/api.ts'
import { createScreen, inStateColour, paint, stateBar, type Terminal, terminalOf, wrap } from '../cli/terminal.ts'
import { waitForServer } from './register.ts'
import { type Running, type SimulationOptions, simulate } from './simulation.ts'

type Counts = Readonly<Record<string, number>>

const liveInterval = 250
const plainInterval = 5_000
/** The period over which the rate is measured. */
const rateSpan = 5_000

const countsQuery = /* GraphQL */ `
  subscription Counts($filter: DeploymentFilter!) {
    found: deploymentCounts(filter: $filter) {
      counts { ${deploymentStates.map((state) => state.toLowerCase()).join(' ')} }
    }
  }
`

const resourcesQuery = /* GraphQL */ `
  subscription Resources($filter: ResourceFilter!) {
    found: resourceCounts(filter: $filter) {
      counts { sync { applied pending retrying failed deleted } readiness { ready pending failed unknown } }
    }
  }
`

/** Returns what ends it. */
function showProgress(running: Running, terminal: Terminal, setting: string): () => void {
  const { api, plan, records, sent, failedTries, inFlight } = running
  const screen = createScreen(terminal)
  const ended = new AbortController()
  const samples: { readonly at: number; readonly reports: number }[] = []
  const began = Date.now()
  let counts: Counts | null = null
  let resources: Readonly<Record<'sync' | 'readiness', Counts>> | null = null
  let interruption: string | null = null

  function show(): void {
    const lines = describe()
    const elapsed = `${Math.round((Date.now() - began) / 1_000)} s`
    if (!terminal.isLive) {
      screen.print(`${elapsed}: ${lines.join('; ')}`)
      return
    }
    const title = `${plan.fleet.deployments.length} deployments, ${setting}, ${elapsed}`
    const titled = wrap(title, terminal.columns).map((line) => paint(terminal, 'bold', line))
    screen.draw([...titled, ...lines.flatMap((line) => wrap(line, terminal.columns))])
  }

  function describe(): string[] {
    const reports = acknowledgedOf(running)
    const { groups, agents } = plan
    const { orders, polls, fetched, reports: ownReports } = records.agents.counts
    return [
      `${reports} reports acknowledged in ${sent()} requests, ${rate(reports).toFixed(1)}/s, ${inFlight()} in flight, ${failedTries()} retried`,
      inWords(records.reports.verdicts),
      ...(counts ? bar(counts) : []),
      ...(groups.length > 0 ? [`${groups.length} intent groups, their facts: ${inWords(records.facts.verdicts)}`] : []),
      ...(resources
        ? [`their resources: ${inWords(resources.sync)}`, `all objects: ${inWords(resources.readiness)}`]
        : []),
      ...(agents.length > 0
        ? [`${agents.length} agents: ${polls} polls, ${fetched} new versions, ${orders} orders, ${ownReports} reports`]
        : []),
      ...(interruption === null ? [] : [paint(terminal, 'yellow', `disconnected: ${interruption}`)]),
      ...differencesOf(running)
        .slice(-2)
        .map((difference) => paint(terminal, 'red', difference)),
    ]
  }

  function bar(found: Counts): string[] {
    const shown = deploymentStates.map((state) => [state, found[state.toLowerCase()] ?? 0] as const)
    const numbers = shown
      .flatMap(([state, n]) => (n > 0 ? [inStateColour(terminal, state, `${n} ${state.toLowerCase()}`)] : []))
      .join(', ')
    return terminal.isLive
      ? [stateBar(terminal, Object.fromEntries(shown) as Record<DeploymentState, number>, 40), numbers]
      : [numbers]
  }

  function rate(reports: number): number {
    const now = Date.now()
    samples.push({ at: now, reports })
    while ((samples[0]?.at ?? now) < now - rateSpan && samples.length > 2) samples.shift()
    const [first] = samples
    return first && now > first.at ? ((reports - first.reports) / (now - first.at)) * 1_000 : 0
  }

  function watch<T>(query: string, rolloutIds: readonly string[], take: (counts: T) => void): void {
    const interrupted = (reason: string | null): void => {
      interruption = reason
    }
    const next = ({ found }: { found: { counts: T } }): void => take(found.counts)
    api
      .follow({ query, variables: { filter: { rolloutIds } }, next, interrupted }, ended.signal)
      .catch((error: Error) => interrupted(error.message))
  }

  watch<Counts>(countsQuery, running.registered.rolloutIds, (found) => {
    counts = found
  })
  if (plan.groups.length > 0)
    watch<typeof resources>(resourcesQuery, [...running.groupIds.values()], (found) => {
      resources = found
    })
  show()
  const timer = setInterval(show, terminal.isLive ? liveInterval : plainInterval)
  return () => {
    clearInterval(timer)
    ended.abort()
    show()
    screen.end()
  }
}

function inWords(numbers: Counts): string {
  const parts = Object.entries(numbers).flatMap(([name, n]) => (n > 0 ? [`${n} ${name.toLowerCase()}`] : []))
  return parts.length > 0 ? parts.join(', ') : 'none'
}

function acknowledgedOf({ records }: Running): number {
  const { APPLIED, UNCHANGED, STALE } = records.reports.verdicts
  return APPLIED + UNCHANGED + STALE
}

const differencesOf = ({ records: { reports, facts, agents } }: Running): readonly string[] => [
  ...reports.differences,
  ...facts.differences,
  ...agents.differences,
]

const mostShown = 20

/** `summary`: ends with a full stop if there are no differences. */
export function describeDifferences(summary: string, differences: readonly string[]): string {
  const rest = differences.length > mostShown ? [`… and ${differences.length - mostShown} more`] : []
  return [summary, ...[...differences.slice(0, mostShown), ...rest].map((difference) => `  ${difference}`)].join('\n')
}

interface Ended {
  readonly text: string
  readonly isRight: boolean
}

export type Play = (
  options: SimulationOptions,
  stop: AbortSignal,
  started: (running: Running) => void,
) => Promise<Ended>

const playOnly: Play = async (options, stop, started) => {
  let running: Running | undefined
  await simulate(options, stop, (begun) => {
    running = begun
    started(begun)
  })
  if (!running) return { text: 'Nothing was sent.', isRight: false }
  const differences = differencesOf(running)
  const answered = `${acknowledgedOf(running)} reports acknowledged`
  const text =
    differences.length === 0
      ? `${answered}. The server accepted everything that it was sent.`
      : describeDifferences(`${answered}. The server refused what is valid, or answered wrongly:`, differences)
  return { text, isRight: differences.length === 0 }
}

/** Runs until the duration is over or a signal arrives, shows progress on stderr, and prints the result. Returns the exit code. */
export async function runInTerminal(options: SimulationOptions, play: Play = playOnly): Promise<number> {
  const stop = new AbortController()
  const interrupt = (): void => {
    // A second signal does not wait for requests in flight.
    if (stop.signal.aborted) process.exit(exitCodes.interrupted)
    stop.abort()
  }
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', interrupt)
  const { url, token, devices, rollouts, clusters, agents, seed, run } = options
  const setting = `${devices} devices, ${rollouts} rollouts, ${clusters} clusters, ${agents} agents, seed ${seed}, run ${run}, at ${url}`
  await waitForServer(createApi(url, token), (problem) => console.error(`Waiting for the server: ${problem}`))
  let end = (): void => undefined
  const { text, isRight } = await play(options, stop.signal, (running) => {
    end = showProgress(running, terminalOf(process.stderr), setting)
  }).finally(() => end())
  console.log(text)
  return isRight ? exitCodes.reached : exitCodes.failed
}
