/** A simulation whose answers go to ledgers. At its end, the server is compared with them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRestFetcher } from '../../../src/apps/simulate/agents/fetch.ts'
import {
  type Running as Playing,
  simulate as play,
  type SimulationOptions,
} from '../../../src/apps/simulate/simulation.ts'
import { type AgentFindings, checkAgents } from './agents/check.ts'
import { canPull, createGitFetcher } from './agents/git-fetcher.ts'
import { type AgentLedger, createAgentLedger } from './agents/ledger.ts'
import { checkServer, type DeviceFindings } from './check.ts'
import { type ClusterFindings, checkClusters } from './clusters/check.ts'
import { type ClusterLedger, createClusterLedger } from './clusters/ledger.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { type Observer, observe } from './observer.ts'

export interface Findings extends DeviceFindings {
  readonly clusters: ClusterFindings
  readonly agents: AgentFindings
}

export interface Running extends Playing {
  readonly ledger: Ledger
  readonly observer: Observer
  readonly deployments: number
  readonly clusters: { readonly ledger: ClusterLedger }
  /** `pulling`: those that fetch with git. */
  readonly agents: { readonly ledger: AgentLedger; readonly pulling: number }
}

const reachTimeout = 30_000

export async function simulate(
  options: SimulationOptions,
  stop: AbortSignal,
  started: (running: Running) => void = () => undefined,
): Promise<Findings> {
  const clones = mkdtempSync(join(tmpdir(), 'rollcall-agents-'))
  const ended = new AbortController()
  const ledgers: { reports?: Ledger; facts?: ClusterLedger; agents?: AgentLedger } = {}
  let running: Running | undefined
  let pulling = 0
  try {
    await play(
      options,
      stop,
      (playing) => {
        const { reports, facts, agents } = ledgers
        if (!reports || !facts || !agents) throw new Error('a simulation starts with its ledgers')
        const { api, plan, registered } = playing
        for (const deviceId of registered.unreachable) reports.foundUnreachable(deviceId)
        running = {
          ...playing,
          ledger: reports,
          observer: observe(api, registered.revision, registered.rolloutIds, ended.signal),
          deployments: plan.fleet.deployments.length,
          clusters: { ledger: facts },
          agents: { ledger: agents, pulling },
        }
        started(running)
      },
      {
        recordsOf({ fleet, groups, agents }) {
          const reports = createLedger(fleet.deployments)
          const facts = createClusterLedger(groups)
          return Object.assign(ledgers, { reports, facts, agents: createAgentLedger(agents) })
        },
        async fetcherOf(own) {
          if (own.agent.fetches !== 'repositories' || !(await canPull(own))) return createRestFetcher(own)
          pulling += 1
          return createGitFetcher(clones, own)
        },
      },
    )
    if (!running) throw new Error('the simulation did not start')
    const { api, registered, ledger, observer, groupIds, clusters, agents } = running
    await observer.reach(Math.max(ledger.newestRevision, registered.declaredRevision), reachTimeout)
    const devices = await checkServer(api, registered.rolloutIds, ledger, observer)
    const found = await checkClusters(api, groupIds, clusters.ledger)
    const fetching = await checkAgents(api, agents.ledger, options.run)
    const differences = [...devices.differences, ...found.differences, ...fetching.differences]
    return { ...devices, differences, clusters: found, agents: fetching }
  } finally {
    ended.abort()
    rmSync(clones, { recursive: true, force: true })
  }
}
