/**
 * One run: registers and declares devices, creates intent groups, plays the plans at the pace of the wall clock, waits for requests in
 * flight, and checks the server. A reporter sends its requests one after the other; different reporters send in parallel.
 */
import { type Api, createApi } from '../cli/api.ts'
import { type AgentFindings, checkAgents } from './agents/check.ts'
import { type AgentLedger, createAgentLedger } from './agents/ledger.ts'
import { planAgents } from './agents/plan.ts'
import { type Agents, startAgents } from './agents/play.ts'
import type { Report } from './bodies.ts'
import { checkServer, type DeviceFindings } from './check.ts'
import { type ClusterFindings, checkClusters } from './clusters/check.ts'
import { type ClusterLedger, createClusterLedger } from './clusters/ledger.ts'
import { createGroups, createOrchestrator, playClusters } from './clusters/orchestrator.ts'
import { planGroups } from './clusters/plan.ts'
import { createNetwork, type Delivery, planDeliveries } from './delivery.ts'
import { type Fleet, type FleetSize, planFleet } from './fleet.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { createMqttSender } from './mqtt-sender.ts'
import { type Observer, observe } from './observer.ts'
import { registerFleet } from './register.ts'
import { createSchedule } from './schedule.ts'
import { createSender, type Sent } from './sender.ts'
import { createStage, type Stage } from './stage.ts'

export interface Findings extends DeviceFindings {
  readonly clusters: ClusterFindings
  readonly agents: AgentFindings
}

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

/** The state of a run in progress. */
export interface Running {
  readonly rolloutIds: readonly string[]
  readonly ledger: Ledger
  readonly observer: Observer
  readonly deployments: number
  readonly clusters: { readonly ledger: ClusterLedger; readonly rolloutIds: readonly string[] }
  readonly agents: { readonly ledger: AgentLedger; readonly pulling: number }
  /** Requests that devices sent, and attempts that ended without an answer or with 429 or 5xx. */
  readonly sent: () => number
  readonly failedTries: () => number
  readonly inFlight: () => number
}

/** How long the end of a run waits for requests in flight. */
const drainTimeout = 30_000

/** `stop` ends the sending. The checks follow. */
export async function simulate(
  options: SimulationOptions,
  stop: AbortSignal,
  started: (running: Running) => void = () => undefined,
): Promise<Findings> {
  const { url, token, seed, speed, duration } = options
  const api = createApi(url, token)
  const fleet = planFleet(options)
  const ledger = createLedger(fleet.deployments)
  const groups = planGroups(options)
  const clusterLedger = createClusterLedger(groups)
  const agentLedger = createAgentLedger(planAgents(options))
  const { tokens, rolloutIds, revision, declaredRevision, unreachable } = await registerFleet(api, fleet)
  for (const deviceId of unreachable) ledger.foundUnreachable(deviceId)

  const ended = new AbortController()
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
    const observer = observe(api, revision, rolloutIds, ended.signal)
    const orchestrator = createOrchestrator({ url: api.url, token, ledger: clusterLedger, ...retryOptions })
    const groupIds = await createGroups(api, orchestrator, groups)
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
    agents = await startAgents({ api, token, seed, run: options.run, ledger: agentLedger, ...retryOptions })
    const over = duration === null ? stop : AbortSignal.any([stop, AbortSignal.timeout(duration)])
    const stage = createStage(speed, over)
    const send = async (reports: readonly Report[], isHeld: boolean): Promise<void> => {
      sent += 1
      const answer = await sender.send(reports, isHeld)
      if (answer) note(ledger, reports, answer)
      else ledger.unanswered(reports)
    }
    started({
      rolloutIds,
      ledger,
      observer,
      deployments: fleet.deployments.length,
      clusters: { ledger: clusterLedger, rolloutIds: [...groupIds.values()] },
      agents: { ledger: agentLedger, pulling: agents.pulling },
      sent: () => sent,
      failedTries: () => failedTries,
      inFlight: () => stage.inFlight,
    })
    await Promise.all([
      playFleet(stage, fleet, seed, send),
      playClusters(stage, groups, seed, orchestrator),
      agents.play(stage),
    ])
    const late = setTimeout(() => abandon.abort(), drainTimeout)
    await stage
      .drain()
      .then(() => agents?.settle())
      .finally(() => clearTimeout(late))
    await observer.reach(Math.max(ledger.newestRevision, declaredRevision), drainTimeout)
    const found = await checkServer(api, rolloutIds, ledger, observer)
    const clusters = await checkClusters(api, groupIds, clusterLedger)
    const fetching = await checkAgents(api, agentLedger, options.run)
    const differences = [...found.differences, ...clusters.differences, ...fetching.differences]
    return { ...found, differences, clusters, agents: fetching }
  } finally {
    ended.abort()
    agents?.close()
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
    for (const { reports, isHeld, losesAnswer } of groupHeld(due)) {
      const reporter = reports[0]?.deployment.device.reporter ?? ''
      stage.enqueue(reporter, () => send(reports, isHeld))
      if (losesAnswer) stage.enqueue(reporter, () => send(reports, isHeld))
    }
  })
}

interface Job {
  readonly reports: Report[]
  readonly isHeld: boolean
  readonly losesAnswer: boolean
}

/** Reports that waited for the same reporter's network go in one request; every other report has its own. */
function groupHeld(deliveries: readonly Delivery[]): readonly Job[] {
  const jobs: Job[] = []
  const backlogs = new Map<string, Job>()
  for (const { at, report, isHeld, losesAnswer } of deliveries) {
    const name = `${report.deployment.device.reporter} ${at}`
    const backlog = isHeld ? backlogs.get(name) : undefined
    if (backlog) backlog.reports.push(report)
    else {
      const job = { reports: [report], isHeld, losesAnswer }
      jobs.push(job)
      if (isHeld) backlogs.set(name, job)
    }
  }
  return jobs
}

function note(ledger: Ledger, reports: readonly Report[], { results, isRepeat }: Sent): void {
  reports.forEach((report, index) => {
    const result = results[index]
    if (!result) ledger.refused(report, 'no answer for this item of the backlog')
    else if (result.verdict === 'REFUSED') ledger.refused(report, result.reason)
    else ledger.acknowledged(report, { ...result, isRepeat, isBacklog: reports.length > 1 })
  })
}

async function rotateToken(api: Api, deviceId: string): Promise<string | undefined> {
  const { rotateDeviceToken: result } = await api.ask<{ rotateDeviceToken: { token?: string } }>(
    `mutation Renew($input: RotateDeviceTokenInput!) {
      rotateDeviceToken(input: $input) { ... on RotateDeviceTokenSuccess { token } }
    }`,
    { input: { deviceId } },
  )
  return result.token
}
