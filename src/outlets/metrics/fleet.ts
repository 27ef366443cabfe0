/**
 * Metrics of the fleet for Prometheus. The number of series is bounded: 12 for each of METRICS_ROLLOUTS rollouts, 12 for all others
 * together, 7 for the fleet, and one for each of 50 rules with alerts that fire and 3 for all others.
 */
import { Gauge, type Registry } from 'prom-client'
import { type Counter, convergenceCounter, counters, stateCounter } from '../../domain/counters.ts'
import { convergences } from '../../domain/desired.ts'
import { connectivities } from '../../domain/target.ts'
import { deploymentStates, type Millis } from '../../domain/values.ts'
import { countFiringByRule } from '../../store/alerts/alerts.ts'
import type { Database } from '../../store/database.ts'
import {
  countConnectivity,
  type FleetFigures,
  type RolloutFigures,
  readFleetFigures,
  unfinishedStates,
} from '../../store/read/monitoring/fleet-figures.ts'

/** The sum of all rollouts without series of their own. */
const others = '(others)'
/** Rules and severities with series of their own. */
const mostRules = 50
/** Milliseconds between two counts of all devices. */
const countDevicesEvery = 60_000
/** Milliseconds that a scrape waits for the database. */
const scrapeTimeout = 2_000

export interface FleetMetricsDeps {
  readonly registry: Registry
  readonly database: Database
  /** Rollouts with series of their own, the newest first. */
  readonly rollouts: number
  readonly clock: () => Millis
}

export function registerFleetMetrics({ registry, database, rollouts, clock }: FleetMetricsDeps): void {
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]): Gauge<Label> =>
    new Gauge({ name, help, labelNames, registers: [registry], collect: () => refresh() })
  const byRollout = {
    state: gauge(
      'rollcall_deployments',
      `Deployments by rollout and state; ${others}: all others.`,
      'rollout',
      'state',
    ),
    convergence: gauge(
      'rollcall_deployment_convergence',
      'Deployments by rollout and convergence with their desired state.',
      'rollout',
      'convergence',
    ),
    stalled: gauge('rollcall_stalled_deployments', 'Deployments in progress for too long, by rollout.', 'rollout'),
  }
  const oldest = gauge(
    'rollcall_oldest_unfinished_seconds',
    'Seconds since the last change of the deployment that has been in the state the longest; 0 without one.',
    'state',
  )
  const devices = gauge(
    'rollcall_devices',
    'Devices in service, by connectivity. At most a minute old.',
    'connectivity',
  )
  const alerts = gauge(
    'rollcall_alerts_firing',
    `Alerts that fire, by rule and severity; ${others}: all other rules.`,
    'rule',
    'severity',
  )
  let devicesCountedAt = Number.NEGATIVE_INFINITY

  const refresh = shared(async () => {
    const figures = await readWithin(database, rollouts)
    // Without an answer of the database, the fleet has no series, because an old number would look current.
    for (const each of [...Object.values(byRollout), oldest]) each.reset()
    if (figures) {
      for (const rollout of [...figures.rollouts, othersOf(figures)]) show(rollout)
      for (const state of unfinishedStates) {
        const { [state]: since } = figures.oldest
        oldest.set({ state: state.toLowerCase() }, since === null ? 0 : Math.max(clock() - since, 0) / 1_000)
      }
    }
    await countDevices().catch(() => devices.reset())
    const firing = await countFiringByRule(database.session).catch(() => [])
    alerts.reset()
    for (const [index, { rule, severity, n }] of firing.entries())
      alerts.inc({ rule: index < mostRules ? rule : others, severity: severity.toLowerCase() }, n)
  })

  /** Rollouts of different kinds may have the same name. Their numbers are added. */
  function show({ name: rollout, counters: counts, stalled }: RolloutFigures): void {
    for (const state of deploymentStates)
      byRollout.state.inc({ rollout, state: state.toLowerCase() }, counts[stateCounter(state)])
    for (const each of convergences)
      byRollout.convergence.inc({ rollout, convergence: each.toLowerCase() }, counts[convergenceCounter(each)])
    byRollout.stalled.inc({ rollout }, stalled)
  }

  async function countDevices(): Promise<void> {
    const now = clock()
    if (now - devicesCountedAt < countDevicesEvery) return
    const counts = await countConnectivity(database.session)
    for (const each of connectivities) devices.set({ connectivity: each.toLowerCase() }, counts[each])
    devicesCountedAt = now
  }
}

/** Shares one read between all gauges of a scrape, which are collected at the same moment. */
export function shared(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  return () => {
    running ??= work().finally(() => {
      running = null
    })
    return running
  }
}

/** The counters of the fleet minus those of the named rollouts. */
function othersOf({ fleet, rollouts }: FleetFigures): RolloutFigures {
  const sum = (of: (figures: RolloutFigures) => number): number => rollouts.reduce((n, each) => n + of(each), 0)
  const rest = (counter: Counter): number => fleet.counters[counter] - sum((each) => each.counters[counter])
  return {
    name: others,
    counters: Object.fromEntries(counters.map((counter) => [counter, rest(counter)])) as RolloutFigures['counters'],
    stalled: fleet.stalled - sum((each) => each.stalled),
  }
}

/** Null: the database did not answer. */
async function readWithin(database: Database, rollouts: number): Promise<FleetFigures | null> {
  try {
    const snapshot = await database.snapshot(AbortSignal.timeout(scrapeTimeout), 'present')
    try {
      return await readFleetFigures(snapshot, rollouts)
    } finally {
      await snapshot.close()
    }
  } catch {
    return null
  }
}
