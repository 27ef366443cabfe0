/** Metrics of the server for Prometheus. Labels have fixed sets of values: no device or deployment becomes a time series. */
import { Counter, Gauge, Histogram, Registry, type RegistryContentType } from 'prom-client'
import { type DeviationKind, reportDeviationKinds } from '../../domain/deviation.ts'
import { errorCodes } from '../../domain/errors.ts'
import { deviceAuthMethods, refusalReasons } from '../../domain/refusal-reasons.ts'
import { type Verdict, verdicts } from '../../domain/report.ts'
import { type ClusterState, type ShownResults, snapshotVerdicts } from '../../ingest/clusters/clusters.ts'
import type { Dialect } from '../../ingest/dialects/dialect.ts'
import { dialects } from '../../ingest/dialects/index.ts'
import { type LimitName, limitNames } from '../../platform/limits/limits.ts'
import type { Standbys } from '../../store/database.ts'
import { sinkKinds } from '../../store/tables/columns.ts'
import { type FleetMetricsDeps, registerFleetMetrics, shared } from './fleet.ts'
import { printOpenMetrics } from './open-metrics.ts'
import { registerProcessMetrics } from './process.ts'
import { registerStaleRuns } from './stale-runs.ts'
import { registerStandbyMetrics } from './standbys.ts'

/** OpenMetrics allows 128 characters for all labels of an exemplar. */
const longestExemplar = 100

export interface Metrics {
  reportRecorded(report: {
    readonly verdict: Verdict
    readonly dialect: string
    readonly reporter: string
    readonly isNonConforming: boolean
    readonly deviations: readonly DeviationKind[]
  }): void
  reportRefused(status: number): void
  /** The deviation that a report was refused for. */
  deviated(kind: DeviationKind): void
  /** A caller exceeded a limit. */
  limited(limit: LimitName): void
  /** A promise was rejected and nothing waited for it: a defect of this program. */
  rejectionUnhandled(): void
  credentialRefused(refused: { readonly method: string; readonly reason: string }): void
  notified(outcome: { readonly kind: string; readonly isFailed: boolean }): void
  /** The results of custom resources that clusters showed. */
  clusterShown(shown: ShownResults): void
  batchCommitted(batch: { readonly size: number; readonly seconds: number; readonly revision: number }): void
  /** Read at each scrape. */
  observe(state: {
    queued(): number
    head(): number
    subscribers(): { readonly changes: number; readonly states: number }
    lag(): Promise<number>
    /** Seconds. */
    logAhead(): Promise<number>
    sinks(): Promise<readonly SinkState[]>
    /** Instances that are missing from the inventory because nothing announced them. */
    unannounced(): Promise<number>
    clusters(): readonly ClusterState[]
    duties(): Promise<readonly DutyMetrics[]>
    readonly standbys?: Standbys | undefined
    certificates(): readonly { readonly file: string; readonly days: number }[]
    readonly fleet: Omit<FleetMetricsDeps, 'registry'>
  }): void
  /** For metrics of parts that are loaded only where they are configured. */
  readonly registry: Registry
  readonly contentType: string
  print(): Promise<string>
  readonly openMetricsType: string
  /** With exemplars. */
  printOpenMetrics(): Promise<string>
}

/** One sink, from the view of this process. */
export interface SinkState {
  readonly key: number
  readonly kind: string
  readonly name: string
  /** Revisions that the sink has not received. */
  readonly lag: number
  /** Consecutive failures. */
  readonly failures: number
}

/** One background duty, on any replica. */
export interface DutyMetrics {
  readonly name: string
  /** Seconds since the duty was completed. Null: never. */
  readonly ageSeconds: number | null
  /** Consecutive failures. */
  readonly failures: number
  /** Seconds of the last round. */
  readonly seconds: number
}

export function createMetrics(spoken: readonly Dialect[] = dialects): Metrics {
  // prom-client refuses exemplars in a registry of the text format at that moment, although the text format only leaves them out.
  const registry = new Registry()
  const format = registry as Registry<RegistryContentType>
  format.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  const registers = [registry]
  registerProcessMetrics(registry)
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]): Counter<Label> =>
    new Counter({ name, help, labelNames, registers })
  const reports = new Counter<'verdict' | 'dialect' | 'reporter'>({
    ...{
      name: 'rollcall_reports_total',
      help: 'Acknowledged reports. Exemplar: the reporter of the latest STALE one.',
    },
    ...{ labelNames: ['verdict', 'dialect'], enableExemplars: true, registers },
  })
  const refused = counter('rollcall_reports_refused_total', 'Refused reports, by HTTP status.', 'status')
  const limited = counter('rollcall_limited_total', 'Requests refused by a limit, by limit.', 'limit')
  const rejections = counter(
    'rollcall_unhandled_rejections_total',
    'Promises that were rejected and that nothing waited for; each is in the log with an id.',
  )
  const credentials = counter(
    'rollcall_device_credentials_refused_total',
    'Credentials of devices that were refused, by kind and reason.',
    'method',
    'reason',
  )
  const deviating = counter(
    'rollcall_report_deviations_total',
    "Reports that deviate from Margo's specification, by kind; UNKNOWN_KIND: they were refused.",
    'kind',
  )
  const nonConforming = counter('rollcall_reports_nonconforming_total', 'Reports that said FAILED without an error.')
  const countRun = registerStaleRuns(registers)
  const batchSize = new Histogram({
    name: 'rollcall_batch_size',
    help: 'Reports and other commands in one transaction.',
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000],
    registers,
  })
  const commitSeconds = new Histogram<'revision'>({
    name: 'rollcall_commit_seconds',
    help: 'From the beginning of a transaction to the end of its COMMIT. Exemplars: the revision of the log after it.',
    enableExemplars: true,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
    registers,
  })
  const notifications = counter(
    'rollcall_notifications_total',
    'Rounds of outgoing notifications, by kind of sink and outcome.',
    'kind',
    'outcome',
  )
  const stateSnapshots = counter(
    'rollcall_cluster_pictures_total',
    'Snapshots of custom resources from a cluster, by verdict; DROPPED: of an unknown instance that stayed unknown for too long, or that had no room to wait.',
    'cluster',
    'verdict',
  )

  format.setContentType(Registry.PROMETHEUS_CONTENT_TYPE)

  // Every label from the start: a rate over a series that begins with 1 misses the first event.
  for (const verdict of verdicts)
    for (const dialect of spoken.flatMap(({ generations = [] }) => generations))
      reports.inc({ labels: { verdict, dialect }, value: 0 })
  for (const status of new Set([500, ...Object.values(errorCodes).map((code) => code.status)]))
    refused.inc({ status: String(status) }, 0)
  for (const limit of limitNames) limited.inc({ limit }, 0)
  for (const method of deviceAuthMethods) for (const reason of refusalReasons) credentials.inc({ method, reason }, 0)
  for (const kind of reportDeviationKinds) deviating.inc({ kind }, 0)
  for (const kind of sinkKinds) for (const outcome of ['sent', 'failed']) notifications.inc({ kind, outcome }, 0)

  return {
    reportRecorded({ verdict, dialect, reporter, isNonConforming, deviations }) {
      const labels = { verdict, dialect }
      if (verdict === 'STALE') reports.inc({ labels, exemplarLabels: { reporter: reporter.slice(0, longestExemplar) } })
      else reports.inc({ labels })
      if (isNonConforming) nonConforming.inc()
      for (const kind of deviations) deviating.inc({ kind })
      countRun(reporter, verdict)
    },
    deviated: (kind) => deviating.inc({ kind }),
    reportRefused: (status) => refused.inc({ status: String(status) }),
    limited: (limit) => limited.inc({ limit }),
    rejectionUnhandled: () => rejections.inc(),
    credentialRefused: ({ method, reason }) => credentials.inc({ method, reason }),
    notified: ({ kind, isFailed }) => notifications.inc({ kind, outcome: isFailed ? 'failed' : 'sent' }),
    clusterShown: ({ cluster, verdict, count }) => stateSnapshots.inc({ cluster, verdict }, count),
    batchCommitted({ size, seconds, revision }) {
      batchSize.observe(size)
      commitSeconds.observe({ value: seconds, exemplarLabels: { revision: String(revision) } })
    },
    observe(state) {
      registerFleetMetrics({ registry, ...state.fleet })
      registerStandbyMetrics(registry, state.standbys)
      const gauge = (name: string, help: string, read: () => number | Promise<number>): Gauge =>
        new Gauge({
          name,
          help,
          registers,
          async collect() {
            this.set(await read())
          },
        })
      gauge('rollcall_queue_length', 'Reports and other commands waiting for the next transaction.', state.queued)
      gauge('rollcall_feed_revision', 'The newest revision that this process has published.', state.head)
      gauge('rollcall_feed_lag_revisions', 'Revisions of the log that this process has not published yet.', state.lag)
      gauge(
        'rollcall_log_ahead_seconds',
        "How far the log's time is ahead of this server's clock: above 0 after a clock has jumped.",
        state.logAhead,
      )
      gauge(
        'rollcall_inventory_unannounced_instances',
        'Instances that no aai-update call and no announceInstance has announced: A&AI has none of their resources.',
        state.unannounced,
      )
      new Gauge({
        name: 'rollcall_subscribers',
        help: 'Subscriptions, by what they follow: the changes, or a state.',
        labelNames: ['kind'],
        registers,
        collect() {
          const { changes, states } = state.subscribers()
          this.set({ kind: 'changes' }, changes)
          this.set({ kind: 'state' }, states)
        },
      })
      const labelled =
        (labelNames: readonly string[], read: () => void | Promise<void>) => (name: string, help: string) =>
          new Gauge({ name, help, labelNames, registers, collect: read })
      // All gauges are collected at the same time, so those of one kind share one read.
      const readSinks = shared(async () => {
        const sinks = await state.sinks()
        for (const each of [sinkLag, sinkFailures]) each.reset()
        for (const { key, kind, name, lag, failures } of sinks) {
          const labels = { sink: String(key), kind, name }
          sinkLag.set(labels, lag)
          sinkFailures.set(labels, failures)
        }
      })
      const sinkGauge = labelled(['sink', 'kind', 'name'], readSinks)
      const sinkFailures = sinkGauge(
        'rollcall_sink_failures',
        'Failures in a row of each sink; the error is in GraphQL.',
      )
      const sinkLag = sinkGauge('rollcall_sink_lag_revisions', 'Revisions that each sink has not received.')
      const readDuties = shared(async () => {
        for (const { name: duty, ageSeconds, failures, seconds } of await state.duties()) {
          dutyAge.set({ duty }, ageSeconds ?? Number.POSITIVE_INFINITY)
          dutyFailures.set({ duty }, failures)
          dutySeconds.set({ duty }, seconds)
        }
      })
      const dutyGauge = labelled(['duty'], readDuties)
      const dutyAge = dutyGauge(
        'rollcall_duty_age_seconds',
        'Seconds since each background duty was last done, by whichever server does it.',
      )
      const dutyFailures = dutyGauge('rollcall_duty_failures', 'Failures in a row of each background duty.')
      const dutySeconds = dutyGauge('rollcall_duty_seconds', 'How long the last round of each background duty took.')
      new Gauge({
        name: 'rollcall_tls_days_left',
        help: 'Days until the first certificate of each file of TLS expires; less than 0 after that.',
        labelNames: ['file'],
        registers,
        collect() {
          for (const { file, days } of state.certificates()) this.set({ file }, days)
        },
      })
      const readClusters = (): void => {
        for (const each of [clusterWaiting, clusterFailures]) each.reset()
        for (const { cluster, failures, waiting } of state.clusters()) {
          clusterWaiting.set({ cluster }, waiting)
          clusterFailures.set({ cluster }, failures)
          for (const verdict of snapshotVerdicts) stateSnapshots.inc({ cluster, verdict }, 0)
        }
      }
      const clusterGauge = labelled(['cluster'], readClusters)
      const clusterFailures = clusterGauge(
        'rollcall_cluster_failures',
        'Failures in a row to watch each cluster that this process holds.',
      )
      const clusterWaiting = clusterGauge(
        'rollcall_cluster_waiting',
        'Custom resources of each cluster that this process holds whose instance is not known yet.',
      )
    },
    registry,
    contentType: registry.contentType,
    print: () => registry.metrics(),
    openMetricsType: Registry.OPENMETRICS_CONTENT_TYPE,
    printOpenMetrics: () => printOpenMetrics(registry),
  }
}
