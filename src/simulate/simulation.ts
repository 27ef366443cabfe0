/**
 * One run: devices registered and declared, the plan played at the wall clock's pace, what is under way finished, the server checked.
 * A reporter sends one request after the other; different ones send at once.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Api, createApi } from '../cli/api.ts'
import type { Report } from './bodies.ts'
import { checkServer, type Findings } from './check.ts'
import { createNetwork, type Delivery, planDeliveries } from './delivery.ts'
import { type FleetSize, planFleet } from './fleet.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { type Observer, observe } from './observer.ts'
import { enrol } from './register.ts'
import { createSchedule } from './schedule.ts'
import { createSender, type Sent } from './sender.ts'

export interface SimulationOptions extends FleetSize {
  readonly url: string
  /** For the GraphQL API, where it asks who one is. */
  readonly token?: string
  /** How many times as fast as people and networks are. */
  readonly speed: number
  /** Milliseconds; null: until the signal. */
  readonly duration: number | null
}

/** What can be seen of a run while it goes on. */
export interface Running {
  readonly rolloutIds: readonly string[]
  readonly ledger: Ledger
  readonly observer: Observer
  readonly deployments: number
  /** Requests sent, and tries that ended without an answer or with "not now". */
  readonly sent: () => number
  readonly failedTries: () => number
  readonly underWay: () => number
}

/** How long what is under way is waited for in the end. */
const patience = 30_000

/** `stop` ends the sending, in good order; the checks follow. */
export async function simulate(
  options: SimulationOptions,
  stop: AbortSignal,
  started: (running: Running) => void = () => undefined,
): Promise<Findings> {
  const api = createApi(options.url, options.token)
  const fleet = planFleet(options)
  const ledger = createLedger(fleet.deployments)
  const { tokens, rolloutIds, revision, declaredRevision, unreachable } = await enrol(api, fleet)
  for (const deviceId of unreachable) ledger.foundUnreachable(deviceId)

  const ended = new AbortController()
  try {
    const observer = observe(api, revision, rolloutIds, ended.signal)
    await play(options, api, { fleet, ledger, observer, tokens, rolloutIds }, stop, started)
    await observer.reach(Math.max(ledger.newestRevision, declaredRevision), patience)
    return await checkServer(api, rolloutIds, ledger, observer)
  } finally {
    ended.abort()
  }
}

interface Cast {
  readonly fleet: ReturnType<typeof planFleet>
  readonly ledger: Ledger
  readonly observer: Observer
  readonly tokens: Map<string, string>
  readonly rolloutIds: readonly string[]
}

async function play(
  { seed, speed, duration }: SimulationOptions,
  api: Api,
  { fleet, ledger, observer, tokens, rolloutIds }: Cast,
  stop: AbortSignal,
  started: (running: Running) => void,
): Promise<void> {
  const began = Date.now()
  const network = createNetwork(seed)
  const clockOf = (at: number): number => began + at / speed
  const schedule = createSchedule<Delivery>(
    fleet.deployments.map((deployment) => planDeliveries(deployment, seed, network, clockOf)),
  )
  const abandon = new AbortController()
  let sent = 0
  let failedTries = 0
  const sender = createSender({
    url: api.url,
    tokenOf: (reporter) => tokens.get(reporter),
    obtainToken: async (reporter) => {
      const token = await rotateToken(api, reporter)
      if (token) tokens.set(reporter, token)
    },
    tryFailed: () => {
      failedTries += 1
    },
    signal: abandon.signal,
  })

  async function send(reports: readonly Report[], isHeld: boolean): Promise<void> {
    sent += 1
    const answer = await sender.send(reports, isHeld)
    if (answer) note(ledger, reports, answer)
    else ledger.unanswered(reports)
  }

  /** By reporter: the end of what it has to send. */
  const queues = new Map<string, Promise<void>>()
  let underWay = 0
  const over = duration === null ? stop : AbortSignal.any([stop, AbortSignal.timeout(duration)])
  const enqueue = (reporter: string, job: () => Promise<void>): void => {
    underWay += 1
    const turn = (queues.get(reporter) ?? Promise.resolve())
      // What has not been begun by the end never was.
      .then(() => (over.aborted ? undefined : job()))
      .finally(() => {
        underWay -= 1
      })
    queues.set(reporter, turn)
  }

  started({
    rolloutIds,
    ledger,
    observer,
    deployments: fleet.deployments.length,
    sent: () => sent,
    failedTries: () => failedTries,
    underWay: () => underWay,
  })
  while (!over.aborted) {
    const due = schedule.until((Date.now() - began) * speed)
    for (const { reports, isHeld, losesAnswer } of groupHeld(due)) {
      const reporter = reports[0]?.deployment.device.reporter ?? ''
      enqueue(reporter, () => send(reports, isHeld))
      if (losesAnswer) enqueue(reporter, () => send(reports, isHeld))
    }
    const wait = Math.min(Math.max(clockOf(schedule.next) - Date.now(), 1), 1_000)
    await delay(wait, undefined, { signal: over }).catch(() => undefined)
  }
  const late = setTimeout(() => abandon.abort(), patience)
  await Promise.all(queues.values())
  clearTimeout(late)
}

interface Job {
  readonly reports: Report[]
  readonly isHeld: boolean
  readonly losesAnswer: boolean
}

/** What waited for the same reporter's network goes in one request; everything else in one of its own. */
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
