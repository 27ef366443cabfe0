/** Sends orders to the server and wakes agents, at the pace of the plan, in sequence for each of them. */
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Api } from '../../cli/api.ts'
import { createNetwork } from '../delivery.ts'
import { registerAll } from '../register.ts'
import { type RetryOptions, sendWithRetry } from '../requests.ts'
import { createSchedule } from '../schedule.ts'
import type { Stage } from '../stage.ts'
import { type Agent, createAgent } from './agent.ts'
import { canPull, createGitFetcher, createRestFetcher } from './fetch.ts'
import { type AgentLedger, digestOf } from './ledger.ts'
import { type Order, playOrders, playWakes, type SimulatedAgent } from './plan.ts'

interface AgentsOptions extends RetryOptions {
  readonly api: Api
  /** The orchestrator's. */
  readonly token: string | undefined
  readonly seed: number
  readonly run: string
  readonly ledger: AgentLedger
}

export interface Agents {
  /** The number of agents with a repository. */
  readonly pulling: number
  play(stage: Stage): Promise<void>
  /** After the last order. */
  settle(): Promise<void>
  /** Removes their clones. */
  close(): void
}

interface Ordered {
  readonly data?: {
    readonly result: {
      readonly message?: string
      readonly deployments?: readonly Declared[]
    }
  }
  readonly errors?: readonly { readonly message: string }[]
}

interface Declared {
  readonly id: string
  readonly deploymentId: string
  readonly targetManifestVersion: string | null
  readonly desired: { readonly digest: string } | null
}

const fields = 'deployments { id deploymentId targetManifestVersion desired { digest } }'
const declare = `mutation Declare($input: DeclareDeploymentsInput!) {
  result: declareDeployments(input: $input) { ... on DeclareDeploymentsSuccess { ${fields} } ... on UserError { message } }
}`
const remove = `mutation Remove($input: RemoveDeploymentsInput!) {
  result: removeDeployments(input: $input) { ... on RemoveDeploymentsSuccess { ${fields} } ... on UserError { message } }
}`

export const rolloutName = (run: string): string => `cabinets-${run}`

export async function startAgents(options: AgentsOptions): Promise<Agents> {
  const { api, token: orchestratorToken, seed, run, ledger, ...retryOptions } = options
  const { url } = api
  const list = [...ledger.accounts.keys()]
  const { tokens } = await registerAll(api, { devices: list })
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-agents-'))
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true })
  // A demo whose database fails ends without closing anything.
  process.once('exit', removeFolder)
  const agents = new Map<SimulatedAgent, Agent>()
  let pulling = 0
  for (const agent of list) {
    const own = { url, token: tokens.get(agent.deviceId), agent, ...retryOptions }
    const pulls = agent.fetches === 'repositories' && (await canPull(own))
    const fetcher = pulls ? createGitFetcher(folder, own) : createRestFetcher(own)
    if (pulls) pulling += 1
    agents.set(agent, createAgent({ ...own, seed, fetcher, ledger }))
  }
  /** Node IDs, by which deployments are removed. */
  const ids = new Map<string, string>()

  async function order(what: Order): Promise<void> {
    const { agent, documents, reason } = what
    const declared = [...documents].flatMap(([deploymentId, document]) =>
      document === null ? [] : [{ deviceId: agent.deviceId, deploymentId, document }],
    )
    const input =
      declared.length > 0
        ? { rollout: { name: rolloutName(run) }, reason, deployments: declared }
        : { reason, ids: [...documents.keys()].map((id) => ids.get(id) ?? id) }
    const body = JSON.stringify({ query: declared.length > 0 ? declare : remove, variables: { input } })
    const answered = await sendWithRetry(
      { method: 'POST', url: `${url}/graphql`, body, token: orchestratorToken },
      retryOptions,
    )
    if (!answered) return ledger.unanswered(agent)
    const { data, errors } = (await answered.response.json().catch(() => ({}))) as Ordered
    const result = data?.result
    if (!result?.deployments) {
      ledger.differ(
        agent,
        `a valid order was refused: ${result?.message ?? errors?.[0]?.message ?? answered.response.status}`,
      )
      return ledger.unanswered(agent)
    }
    ledger.ordered(what)
    const version = String(ledger.accounts.get(agent)?.version)
    for (const { id, deploymentId, targetManifestVersion, desired } of result.deployments) {
      ids.set(deploymentId, id)
      const document = documents.get(deploymentId) ?? null
      const [found, expected] = [
        `${targetManifestVersion} ${desired?.digest}`,
        `${version} ${document === null ? undefined : digestOf(document)}`,
      ]
      if (found !== expected)
        ledger.differ(agent, `the desired digest of ${deploymentId} is ${found}, but should be ${expected}`)
    }
  }

  return {
    pulling,
    async play(stage) {
      const network = createNetwork(seed, 0.6)
      /** A busy agent is not woken. */
      const awake = new Set<SimulatedAgent>()
      const orders = stage.play(createSchedule(list.map((agent) => playOrders(agent, seed))), (due) => {
        for (const what of due) stage.enqueue(`orders of ${what.agent.deviceId}`, () => order(what))
      })
      const wakes = stage.play(createSchedule(list.map((agent) => playWakes(agent, seed))), (due) => {
        for (const { at, agent } of due) {
          if (awake.has(agent) || network.offlineUntil(agent.deviceId, at) !== null) continue
          awake.add(agent)
          stage.enqueue(agent.deviceId, async () => {
            await agents
              .get(agent)
              ?.wake()
              .finally(() => awake.delete(agent))
          })
        }
      })
      await Promise.all([orders, wakes])
    },
    async settle() {
      for (const agent of agents.values()) await agent.settle()
    },
    close() {
      process.off('exit', removeFolder)
      removeFolder()
    },
  }
}
