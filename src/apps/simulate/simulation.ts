/**
 * One run: registers and declares devices, creates intent groups, plays the plans at the pace of the wall clock, and waits for requests
 * in flight. A reporter sends its requests one after the other; different reporters send in parallel.
 */
import { type Api, createApi } from '../cli/api.ts'
import { createRestFetcher, type FetcherOf } from './agents/fetch.ts'
import { planAgents, type SimulatedAgent } from './agents/plan.ts'
import { type Agents, startAgents } from './agents/play.ts'
import type { Report } from './bodies.ts'
import { createGroups, createOrchestrator, playClusters } from './clusters/orchestrator.ts'
import { planGroups, type SimulatedGroup } from './clusters/plan.ts'
import { createNetwork, type Delivery, planDeliveries } from './delivery.ts'
import { type Fleet, type FleetSize, planFleet } from './fleet.ts'
import { createMqttSender } from './mqtt-sender.ts'
import { createTally, type Records, type ReportRecord } from './records.ts'
import { type RegisteredFleet, registerFleet, rotateToken } from './register.ts'
import { createSender, type Sent } from './sender.ts'
import { createSchedule, createStage, type Stage } from './stage.ts'

export interface SimulationOptions extends FleetSize {
  /** Clusters on which an orchestrator rolls out composite applications. 0: no orchestrator. */
  readonly clusters: number
  /** Devices that fetch their desired state. 0: none. */
  readonly agents: number
  readonly url: string
  /** The broker through which the devices of rollouts report. Absent: they report over HTTP. */
  readonly mqtt?: string
  /** For the GraphQL API, if it requires authentication. */
  readonly token?: string
  /** The speed, as a multiple of the pace of people and networks. */
  readonly speed: number
  /** Milliseconds. Null: until the signal. */
  readonly duration: number | null
}

export interface Plan {
  readonly fleet: Fleet
  readonly groups: readonly SimulatedGroup[]
  readonly agents: readonly SimulatedAgent[]
}

/** The state of a run in progress. */
export interface Running {
  readonly api: Api
  readonly plan: Plan
  readonly records: Records
  readonly registered: RegisteredFleet
  /** The rollout of each group. */
  readonly groupIds: ReadonlyMap<SimulatedGroup, string>
  /** Requests that devices sent, and attempts that ended without an answer or with 429 or 5xx. */
  readonly sent: () => number
  readonly failedTries: () => number
  readonly inFlight: () => number
}

interface Parts {
  readonly recordsOf: (plan: Plan) => Records
  readonly fetcherOf: FetcherOf
}

/** How long the end of a run waits for requests in flight. */
const drainTimeout = 30_000

/** `stop` ends the sending. */
export async function simulate(
  options: SimulationOptions,
  stop: AbortSignal,
  started: (running: Running) => void,
  { recordsOf, fetcherOf }: Parts = { recordsOf: createTally, fetcherOf: createRestFetcher },
): Promise<void> {
  const { url, token, seed, speed, duration } = options
  const api = createApi(url, token)
  const plan: Plan = { fleet: planFleet(options), groups: planGroups(options), agents: planAgents(options) }
  const records = recordsOf(plan)
  const registered = await registerFleet(api, plan.fleet)
  const { tokens } = registered

  const abandon = new AbortController()
  let sent = 0
  let failedTries = 0
  let agents: Agents | undefined
  let closeSender: (() => Promise<void>) | undefined
  const tryFailed = (): void => {
    failedTries += 1
  }
  const retryOptions = { tryFailed, signal: abandon.signal }
  try {
    const orchestrator = createOrchestrator({ url: api.url, token, record: records.facts, ...retryOptions })
    const groupIds = await createGroups(api, orchestrator, plan.groups)
    const senderOptions = {
      url: options.mqtt ?? api.url,
      tokenOf: (reporter: string) => tokens.get(reporter),
      obtainToken: async (reporter: string) => {
        const renewed = await rotateToken(api, reporter)
        if (renewed) tokens.set(reporter, renewed)
      },
      ...retryOptions,
    }
    const byMqtt = options.mqtt === undefined ? null : await createMqttSender(senderOptions)
    closeSender = byMqtt?.close
    const sender = byMqtt ?? createSender(senderOptions)
    const own = { api, token, seed, run: options.run, record: records.agents, fetcherOf }
    agents = await startAgents(plan.agents, { ...own, ...retryOptions })
    const over = duration === null ? stop : AbortSignal.any([stop, AbortSignal.timeout(duration)])
    const stage = createStage(speed, over)
    const send = async (reports: readonly Report[], isHeld: boolean): Promise<void> => {
      sent += 1
      const answer = await sender.send(reports, isHeld)
      if (answer) note(records.reports, reports, answer)
      else records.reports.unanswered(reports)
    }
    started({
      ...{ api, plan, records, registered, groupIds },
      sent: () => sent,
      failedTries: () => failedTries,
      inFlight: () => stage.inFlight,
    })
    await Promise.all([
      playFleet(stage, plan.fleet, seed, send),
      playClusters(stage, plan.groups, seed, orchestrator),
      agents.play(stage),
    ])
    const late = setTimeout(() => abandon.abort(), drainTimeout)
    await stage
      .drain()
      .then(() => agents?.settle())
      .finally(() => clearTimeout(late))
  } finally {
    abandon.abort()
    await closeSender?.()
  }
}

async function playFleet(
  stage: Stage,
  { deployments }: Fleet,
  seed: number,
  send: (reports: readonly Report[], isHeld: boolean) => Promise<void>,
): Promise<void> {
  const network = createNetwork(seed)
  const plans = deployments.map((deployment) => planDeliveries(deployment, seed, network, stage.clockOf))
  await stage.play(createSchedule<Delivery>(plans), (due) => {
    // Reports that waited for the same reporter's network go in one request; every other report has its own.
    const requests = Map.groupBy(due, (one) =>
      one.isHeld ? `${one.report.deployment.device.reporter} ${one.at}` : one,
    )
    for (const [{ report, isHeld, losesAnswer }, ...others] of requests.values() as Iterable<
      [Delivery, ...Delivery[]]
    >) {
      const { reporter } = report.deployment.device
      const reports = [report, ...others.map((other) => other.report)]
      stage.enqueue(reporter, () => send(reports, isHeld))
      if (losesAnswer) stage.enqueue(reporter, () => send(reports, isHeld))
    }
  })
}

function note(record: ReportRecord, reports: readonly Report[], { results, isRepeat }: Sent): void {
  reports.forEach((report, index) => {
    const result = results[index]
    if (!result) record.refused(report, 'no answer for this item of the backlog')
    else if (result.verdict === 'REFUSED') record.refused(report, result.reason)
    else record.acknowledged(report, { ...result, isRepeat, isBacklog: reports.length > 1 })
  })
}
