/** Runs of STALE reports from one reporter: its clock or its counter is wrong. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Verdict } from '../../domain/report.ts'

/** So many consecutive STALE reports are a run. */
const runLength = 10
const mostReporters = 50_000

/** Called with each verdict. */
export function registerStaleRuns(registers: Registry[]): (reporter: string, verdict: Verdict) => void {
  const staleRuns = new Counter({
    name: 'rollcall_stale_runs_total',
    help: `Times that a reporter has sent ${runLength} STALE reports in succession.`,
    registers,
  })
  const staleReporters = new Gauge({
    name: 'rollcall_stale_reporters',
    help: `Reporters whose last ${runLength} reports or more were all STALE.`,
    registers,
  })
  const runs = new Map<string, number>()
  return (reporter, verdict) => {
    if (verdict !== 'STALE' && runs.size === 0) return
    const before = runs.get(reporter) ?? 0
    const length = verdict === 'STALE' ? before + 1 : 0
    if (length === runLength) {
      staleRuns.inc()
      staleReporters.inc()
    }
    if (length === 0) {
      if (before >= runLength) staleReporters.dec()
      runs.delete(reporter)
    } else if (runs.size < mostReporters || runs.has(reporter)) runs.set(reporter, length)
  }
}
