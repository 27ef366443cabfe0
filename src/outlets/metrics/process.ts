/** Metrics of the process: its processor time, memory, event loop and handles. */
import { collectDefaultMetrics, type Registry } from 'prom-client'

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
}
