/** What the orchestrator declared as desired, and what each agent did. The final check compares the server with it. */
import { digestOf } from '../../../../src/apps/simulate/agents/fetch.ts'
import type { SimulatedAgent } from '../../../../src/apps/simulate/agents/plan.ts'
import { type AgentRecord, type Applied, mostDifferences } from '../../../../src/apps/simulate/records.ts'

/** The desired state of one deployment. */
export interface Wanted {
  /** The version of the manifest that changed it. */
  readonly version: number
  /** Null: withdrawn. */
  readonly digest: string | null
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

export interface AgentLedger extends AgentRecord {
  readonly accounts: ReadonlyMap<SimulatedAgent, AgentAccount>
}

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

  function differ({ deviceId }: SimulatedAgent, what: string): void {
    if (differences.length < mostDifferences) differences.push(`${deviceId}: ${what}`)
  }

  return {
    accounts,
    differences,
    counts,
    ordered({ agent, documents }, answer) {
      counts.orders += 1
      const account = accountOf(agent)
      account.version += 1
      for (const [id, document] of documents)
        account.wanted.set(id, { version: account.version, digest: document === null ? null : digestOf(document) })
      for (const { deploymentId, targetManifestVersion, desired } of answer) {
        const document = documents.get(deploymentId) ?? null
        const found = `${targetManifestVersion} ${desired?.digest}`
        const expected = `${account.version} ${document === null ? undefined : digestOf(document)}`
        if (found !== expected)
          differ(agent, `the desired digest of ${deploymentId} is ${found}, but should be ${expected}`)
      }
    },
    applied(agent, deploymentId, applied) {
      accountOf(agent).applied.set(deploymentId, applied)
    },
    unanswered(agent) {
      accountOf(agent).isCertain = false
    },
    differ,
  }
}
