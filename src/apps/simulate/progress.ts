/** Shows the progress of a run: a few lines that are redrawn in a terminal, or a line from time to time elsewhere. */

import { type DeploymentState, deploymentStates } from '../../domain/values.ts'
import { exitCodes } from '../../server/process/arguments.ts'
import { type Api, createApi } from '../cli/api.ts'
import { createScreen, inStateColour, paint, stateBar, type Terminal, terminalOf, wrap } from '../cli/terminal.ts'
import type { ClusterLedger } from './clusters/ledger.ts'
import { waitForServer } from './register.ts'
import { type Findings, type Running, type SimulationOptions, simulate } from './simulation.ts'

interface Progress {
  begin(running: Running): void
  end(): void
}

type Counts = Readonly<Record<DeploymentState, number>>

const liveInterval = 250
const plainInterval = 5_000
/** The period over which the rate is measured. */
const rateSpan = 5_000

const countsQuery = /* GraphQL */ `
  subscription Counts($filter: DeploymentFilter!) {
    deploymentCounts(filter: $filter) {
      counts { ${deploymentStates.map((state) => state.toLowerCase()).join(' ')} }
    }
  }
`

interface ResourceCounts {
  readonly sync: Readonly<Record<string, number>>
  readonly readiness: Readonly<Record<string, number>>
}

const resourcesQuery = /* GraphQL */ `
  subscription Resources($filter: ResourceFilter!) {
    resourceCounts(filter: $filter) {
      counts { sync { applied pending retrying failed deleted } readiness { ready pending failed unknown } }
    }
  }
`

function createProgress(api: Api, terminal: Terminal, setting: string): Progress {
  const screen = createScreen(terminal)
  const ended = new AbortController()
  const samples: { readonly at: number; readonly reports: number }[] = []
  const began = Date.now()
  let running: Running | null = null
  let counts: Counts | null = null
  let resources: ResourceCounts | null = null
  let interruption: string | null = null
  let timer: NodeJS.Timeout | undefined

  function show(): void {
    if (!running) return
    const lines = describe(running)
    const elapsed = `${Math.round((Date.now() - began) / 1_000)} s`
    if (!terminal.isLive) {
      screen.print(`${elapsed}: ${lines.join('; ')}`)
      return
    }
    const title = `${running.deployments} deployments, ${setting}, ${elapsed}`
    const titled = wrap(title, terminal.columns).map((line) => paint(terminal, 'bold', line))
    screen.draw([...titled, ...lines.flatMap((line) => wrap(line, terminal.columns))])
  }

  function describe({ ledger, observer, clusters, agents, sent, failedTries, inFlight }: Running): string[] {
    const { APPLIED, UNCHANGED, STALE, REFUSED } = ledger.verdicts
    const reports = APPLIED + UNCHANGED + STALE
    return [
      `${reports} reports acknowledged in ${sent()} requests, ${rate(reports).toFixed(1)}/s, ${inFlight()} in flight, ${failedTries()} retried`,
      `${APPLIED} applied, ${UNCHANGED} unchanged, ${STALE} stale, ${REFUSED} refused; ${observer.received} changes received`,
      ...(counts ? bar(counts) : []),
      ...describeClusters(clusters.ledger),
      ...describeAgents(agents),
      ...(interruption === null ? [] : [paint(terminal, 'yellow', `disconnected: ${interruption}`)]),
      ...[...ledger.differences, ...clusters.ledger.differences, ...agents.ledger.differences]
        .slice(-2)
        .map((difference) => paint(terminal, 'red', difference)),
    ]
  }

  function describeClusters({ accounts, online, verdicts }: ClusterLedger): string[] {
    if (accounts.size === 0) return []
    const away = [...online.values()].filter((isOnline) => !isOnline).length
    const instances = [...accounts.values()].reduce((sum, account) => sum + account.instances.length, 0)
    const { APPLIED, UNCHANGED, STALE, REFUSED } = verdicts
    return [
      `${accounts.size} intent groups, ${instances} instances, ${online.size} clusters (${away} away)`,
      `their facts: ${APPLIED} applied, ${UNCHANGED} unchanged, ${STALE} stale, ${REFUSED} refused`,
      ...(resources
        ? [`their resources: ${inWords(resources.sync)}`, `all objects: ${inWords(resources.readiness)}`]
        : []),
    ]
  }

  function bar(shown: Counts): string[] {
    const numbers = deploymentStates
      .filter((state) => shown[state] > 0)
      .map((state) => inStateColour(terminal, state, `${shown[state]} ${state.toLowerCase()}`))
      .join(', ')
    return terminal.isLive ? [stateBar(terminal, shown, 40), numbers] : [numbers]
  }

  function rate(reports: number): number {
    const now = Date.now()
    samples.push({ at: now, reports })
    while ((samples[0]?.at ?? now) < now - rateSpan && samples.length > 2) samples.shift()
    const [first] = samples
    return first && now > first.at ? ((reports - first.reports) / (now - first.at)) * 1_000 : 0
  }

  function watchResources(rolloutIds: readonly string[]): void {
    api
      .follow<{ resourceCounts: { counts: ResourceCounts } }>(
        {
          query: resourcesQuery,
          variables: { filter: { rolloutIds } },
          next({ resourceCounts }) {
            resources = resourceCounts.counts
          },
        },
        ended.signal,
      )
      .catch((error: Error) => {
        interruption = error.message
      })
  }

  return {
    begin(run) {
      running = run
      const watching = api.follow<{ deploymentCounts: { counts: Record<string, number> } }>(
        {
          query: countsQuery,
          variables: { filter: { rolloutIds: run.rolloutIds } },
          next({ deploymentCounts }) {
            counts = Object.fromEntries(
              deploymentStates.map((state) => [state, deploymentCounts.counts[state.toLowerCase()] ?? 0]),
            ) as Counts
          },
          interrupted: (reason) => {
            interruption = reason
          },
        },
        ended.signal,
      )
      watching.catch((error: Error) => {
        interruption = error.message
      })
      if (run.clusters.rolloutIds.length > 0) watchResources(run.clusters.rolloutIds)
      show()
      timer = setInterval(show, terminal.isLive ? liveInterval : plainInterval)
    },
    end() {
      clearInterval(timer)
      ended.abort()
      show()
      screen.end()
    },
  }
}

function describeAgents({ ledger: { accounts, counts }, pulling }: Running['agents']): string[] {
  if (accounts.size === 0) return []
  const { orders, polls, fetched, reports } = counts
  const how = pulling > 0 ? ` (${pulling} with git)` : ''
  return [
    `${accounts.size} agents${how}: ${polls} polls, ${fetched} new versions, ${orders} orders, ${reports} reports`,
  ]
}

function inWords(numbers: Readonly<Record<string, number>>): string {
  const parts = Object.entries(numbers).flatMap(([name, n]) => (n > 0 ? [`${n} ${name}`] : []))
  return parts.length > 0 ? parts.join(', ') : 'none'
}

const mostShown = 20

function describeFindings({ differences, deployments, reports, changes, ...more }: Findings): string {
  const { groups, instances, resources } = more.clusters
  const uncertain = more.uncertain + more.clusters.uncertain + more.agents.uncertain
  const devices = `${deployments} deployments, ${reports} of their reports and ${changes} of their changes`
  const others = groups > 0 ? `, ${groups} intent groups with ${instances} instances and ${resources} resources` : ''
  const { agents, convergence } = more.agents
  const byConvergence = Object.entries(convergence).flatMap(([name, n]) => (n > 0 ? [`${n} ${name}`] : []))
  const fetching = agents > 0 ? `, ${agents} agents (${byConvergence.join(', ')})` : ''
  const checked = `Checked ${devices}${others}${fetching}`
  const allowance = uncertain > 0 ? ` (${uncertain} with more than one possible state, because an answer was lost)` : ''
  if (differences.length === 0)
    return `${checked}${allowance}. The server has everything that it acknowledged, and nothing else.`
  const rest = differences.length > mostShown ? [`… and ${differences.length - mostShown} more`] : []
  const list = [...differences.slice(0, mostShown), ...rest].map((difference) => `  ${difference}`)
  return [`${checked}${allowance}: ${differences.length} differences.`, ...list].join('\n')
}

/** Runs until the duration is over or a signal arrives, shows progress on stderr, and prints the findings. Returns the exit code. */
export async function runInTerminal(options: SimulationOptions): Promise<number> {
  const stop = new AbortController()
  const interrupt = (): void => {
    // A second signal skips the checks.
    if (stop.signal.aborted) process.exit(exitCodes.interrupted)
    stop.abort()
  }
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', interrupt)
  const { url, token, devices, rollouts, clusters, agents, seed, run } = options
  const setting = `${devices} devices, ${rollouts} rollouts, ${clusters} clusters, ${agents} agents, seed ${seed}, run ${run}, at ${url}`
  const api = createApi(url, token)
  await waitForServer(api, (problem) => console.error(`Waiting for the server: ${problem}`))
  const progress = createProgress(api, terminalOf(process.stderr), setting)
  const findings = await simulate(options, stop.signal, progress.begin).finally(progress.end)
  console.log(describeFindings(findings))
  return findings.differences.length === 0 ? exitCodes.reached : exitCodes.failed
}
