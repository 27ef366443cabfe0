/** What the orchestrator declared as desired, and what each agent did. The final check compares the server with it. */
import { createHash } from 'node:crypto'
import type { Order, SimulatedAgent } from './plan.ts'

export type Outcome = 'INSTALLED' | 'FAILED' | 'REMOVED'

/** The desired state of one deployment. */
export interface Wanted {
  /** The version of the manifest that changed it. */
  readonly version: number
  /** Null: withdrawn. */
  readonly digest: string | null
}

/** What an agent applied and reported. */
export interface Applied {
  readonly version: number
  /** Null: it was removed. */
  readonly digest: string | null
  readonly outcome: Outcome
}

export interface AgentAccount {
  readonly agent: SimulatedAgent
  /** The version of its manifest. */
  version: number
  readonly wanted: Map<string, Wanted>
  readonly applied: Map<string, Applied>
  /** False: an order or a report was not answered before the end, so more than one state is correct. */
  isCertain: boolean
}

export interface AgentLedger {
  readonly accounts: ReadonlyMap<SimulatedAgent, AgentAccount>
  readonly differences: readonly string[]
  readonly counts: {
    orders: number
    reports: number
    /** How often an agent asked and received a new version. */
    polls: number
    fetched: number
  }
  ordered(order: Order): void
  applied(agent: SimulatedAgent, deploymentId: string, applied: Applied): void
  unanswered(agent: SimulatedAgent): void
  differ(agent: SimulatedAgent, what: string): void
}

const mostDifferences = 1_000

export function createAgentLedger(agents: readonly SimulatedAgent[]): AgentLedger {
  const accounts = new Map(
    agents.map((agent): [SimulatedAgent, AgentAccount] => [
      agent,
      { agent, version: 1, wanted: new Map(), applied: new Map(), isCertain: true },
    ]),
  )
  const differences: string[] = []
  const counts = { orders: 0, reports: 0, polls: 0, fetched: 0 }

  function accountOf(agent: SimulatedAgent): AgentAccount {
    const account = accounts.get(agent)
    if (!account) throw new Error(`unplanned agent ${agent.deviceId}`)
    return account
  }

  return {
    accounts,
    differences,
    counts,
    ordered({ agent, documents }) {
      counts.orders += 1
      const account = accountOf(agent)
      account.version += 1
      for (const [id, document] of documents)
        account.wanted.set(id, { version: account.version, digest: document === null ? null : digestOf(document) })
    },
    applied(agent, deploymentId, applied) {
      accountOf(agent).applied.set(deploymentId, applied)
    },
    unanswered(agent) {
      accountOf(agent).isCertain = false
    },
    differ({ deviceId }, what) {
      if (differences.length < mostDifferences) differences.push(`${deviceId}: ${what}`)
    },
  }
}

export function digestOf(content: string | Uint8Array): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`
}
