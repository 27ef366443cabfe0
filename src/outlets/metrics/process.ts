/** Metrics of the process: its version, processor time, memory, event loop and handles. */
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client'
import { build } from '../../platform/version.ts'

/**
 * Milliseconds between two looks at the event loop. Each is a timer, and wakes a server that has nothing to do. prom-client's 10 ms took half of
 * an idle server's processor time.
 */
const lookEvery = 100
/** prom-client's sums of gauges: Prometheus reserves the suffix for counters. The gauges by type remain. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

export function registerProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lookEvery })
  for (const name of misnamed) registry.removeSingleMetric(name)
  // By its labels, a query shows which servers an upgrade has not reached, and joins the version to other series.
  new Gauge({
    name: 'rollcall_build_info',
    help: '1, with the version of Rollcall and of Node.js.',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set(build, 1)
}
