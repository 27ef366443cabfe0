/** Compares the server with the agents' ledger: what is desired of each agent, what it has applied, and what has converged. */

import type { Api } from '../../../../src/apps/cli/api.ts'
import { rolloutName } from '../../../../src/apps/simulate/agents/play.ts'
import type { Applied } from '../../../../src/apps/simulate/records.ts'
import { type Convergence, convergences } from '../../../../src/domain/desired.ts'
import type { AgentAccount, AgentLedger, Wanted } from './ledger.ts'

export interface AgentFindings {
  readonly differences: readonly string[]
  readonly agents: number
  readonly convergence: Readonly<Record<Convergence, number>>
  /** Not compared, because a request was not answered. */
  readonly uncertain: number
}

interface DeviceData {
  readonly device: {
    readonly manifestVersion: string | null
    readonly deployments: {
      readonly nodes: readonly {
        readonly deploymentId: string
        readonly state: string
        readonly convergence: Convergence
        readonly targetManifestVersion: string | null
        readonly adoptedManifestVersion: string | null
        readonly desired: { readonly digest: string } | null
      }[]
    }
  } | null
}

const deviceQuery = `query Agent($deviceId: String!) {
  device(deviceId: $deviceId) {
    manifestVersion
    deployments(first: 100) {
      nodes { deploymentId state convergence targetManifestVersion adoptedManifestVersion desired { digest } }
    }
  }
}`

const countsQuery = `query Counts($key: RolloutKey!) {
  rollout(key: $key) { deploymentCounts { convergence { ${convergences.map((name) => name.toLowerCase()).join(' ')} } } }
}`

export async function checkAgents(api: Api, ledger: AgentLedger, run: string): Promise<AgentFindings> {
  const differences = [...ledger.differences]
  const convergence = Object.fromEntries(convergences.map((name) => [name, 0])) as Record<Convergence, number>
  let uncertain = 0
  for (const account of ledger.accounts.values()) {
    if (!account.isCertain) {
      uncertain += 1
      continue
    }
    for (const [id, wanted] of account.wanted) convergence[expectedOf(wanted, account.applied.get(id))] += 1
    differences.push(...compareApplied(account))
    const { device } = await api.ask<DeviceData>(deviceQuery, { deviceId: account.agent.deviceId })
    differences.push(...(device ? compareDevice(account, device) : [`${account.agent.deviceId} does not exist`]))
  }
  if (ledger.accounts.size > 0 && uncertain === 0) differences.push(...(await compareCounts(api, run, convergence)))
  return { differences, agents: ledger.accounts.size, convergence, uncertain }
}

/** Derived from the desired state and the reports, and not by the server's own rule. */
function expectedOf(wanted: Wanted, applied: Applied | undefined): Convergence {
  if (!applied) return 'UNKNOWN'
  if (applied.version < wanted.version) return 'STALE'
  return applied.outcome === 'FAILED' ? 'FAILED' : 'CONVERGED'
}

/** An agent that does not stay on its first version has applied exactly what is desired of it. */
function compareApplied({ agent, wanted, applied }: AgentAccount): string[] {
  if (agent.isKeptBack) return []
  return [...wanted].flatMap(([id, { digest }]) => {
    const done = applied.get(id)
    // A document that was withdrawn before the agent fetched it was never applied.
    if (digest === (done?.digest ?? null)) return []
    return [
      `${agent.deviceId}: for ${id} it has applied ${done?.digest ?? 'nothing'}, but ${digest ?? 'nothing'} is desired`,
    ]
  })
}

function compareDevice(account: AgentAccount, device: NonNullable<DeviceData['device']>): string[] {
  const { agent, wanted, applied, version } = account
  const found = new Map(device.deployments.nodes.map((node) => [node.deploymentId, node]))
  const differences = [
    ...differ(agent.deviceId, 'manifest version', device.manifestVersion, String(version)),
    ...differ(
      agent.deviceId,
      'deployments',
      [...found.keys()].toSorted().join(' '),
      [...wanted.keys()].toSorted().join(' '),
    ),
  ]
  for (const [id, meant] of wanted) {
    const node = found.get(id)
    if (!node) continue
    const done = applied.get(id)
    const name = `${agent.deviceId}, ${id}`
    differences.push(
      ...differ(name, 'target version', node.targetManifestVersion, String(meant.version)),
      ...differ(name, 'document', node.desired?.digest ?? null, meant.digest),
      ...differ(name, 'adopted version', node.adoptedManifestVersion, done ? String(done.version) : null),
      ...differ(name, 'state', node.state, done?.outcome ?? 'PENDING'),
      ...differ(name, 'convergence', node.convergence, expectedOf(meant, done)),
    )
  }
  return differences
}

async function compareCounts(
  api: Api,
  run: string,
  expected: Readonly<Record<Convergence, number>>,
): Promise<string[]> {
  const { rollout } = await api.ask<{
    rollout: { deploymentCounts: { convergence: Readonly<Record<string, number>> } } | null
  }>(countsQuery, { key: { name: rolloutName(run) } })
  const found = rollout?.deploymentCounts.convergence ?? {}
  return convergences.flatMap((name) =>
    differ(rolloutName(run), `number of ${name}`, String(found[name.toLowerCase()] ?? 0), String(expected[name])),
  )
}

function differ(name: string, what: string, found: string | null, expected: string | null): string[] {
  return found === expected ? [] : [`${name}: its ${what} is ${found}, but should be ${expected}`]
}
