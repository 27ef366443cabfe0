/** Sends orders to the server and wakes agents, at the pace of the plan, in sequence for each of them. */
import type { Api } from '../../cli/api.ts'
import { createNetwork } from '../delivery.ts'
import type { AgentRecord, Ordered } from '../records.ts'
import { registerAll } from '../register.ts'
import { type RetryOptions, sendWithRetry } from '../requests.ts'
import { createSchedule, type Stage } from '../stage.ts'
import { type Agent, createAgent } from './agent.ts'
import type { FetcherOf } from './fetch.ts'
import { type Order, playOrders, playWakes, type SimulatedAgent } from './plan.ts'

interface AgentsOptions extends RetryOptions {
  readonly api: Api
  /** The orchestrator's. */
  readonly token: string | undefined
  readonly seed: number
  readonly run: string
  readonly record: AgentRecord
  readonly fetcherOf: FetcherOf
}

export interface Agents {
  play(stage: Stage): Promise<void>
  /** After the last order. */
  settle(): Promise<void>
}

interface Answer {
  readonly data?: {
    readonly result: {
      readonly message?: string
      readonly deployments?: readonly (Ordered & { readonly id: string })[]
    }
  }
  readonly errors?: readonly { readonly message: string }[]
}

const fields = 'deployments { id deploymentId targetManifestVersion desired { digest } }'
const declare = `mutation Declare($input: DeclareDeploymentsInput!) {
  result: declareDeployments(input: $input) { ... on DeclareDeploymentsSuccess { ${fields} } ... on UserError { message } }
}`
const remove = `mutation Remove($input: RemoveDeploymentsInput!) {
  result: removeDeployments(input: $input) { ... on RemoveDeploymentsSuccess { ${fields} } ... on UserError { message } }
}`

export const rolloutName = (run: string): string => `cabinets-${run}`

export async function startAgents(list: readonly SimulatedAgent[], options: AgentsOptions): Promise<Agents> {
  const { api, token: orchestratorToken, seed, run, record, fetcherOf, ...retryOptions } = options
  const { url } = api
  const { tokens } = await registerAll(api, { devices: list })
  const agents = new Map<SimulatedAgent, Agent>()
  for (const agent of list) {
    const own = { url, token: tokens.get(agent.deviceId), agent, ...retryOptions }
    agents.set(agent, createAgent({ ...own, seed, fetcher: await fetcherOf(own), record }))
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
    if (!answered) return record.unanswered(agent)
    const { data, errors } = (await answered.response.json().catch(() => ({}))) as Answer
    const result = data?.result
    if (!result?.deployments) {
      record.differ(
        agent,
        `a valid order was refused: ${result?.message ?? errors?.[0]?.message ?? answered.response.status}`,
      )
      return record.unanswered(agent)
    }
    record.ordered(what, result.deployments)
    for (const { id, deploymentId } of result.deployments) ids.set(deploymentId, id)
  }

  return {
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
  }
}
