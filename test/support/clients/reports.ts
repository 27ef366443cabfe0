import type { StatusReport } from '../../../src/domain/report.ts'

/** A report as a dialect would have parsed it, with what a test does not care about filled in. */
export function report(some: Partial<StatusReport> = {}): StatusReport {
  return {
    reporter: 'edge-1',
    deploymentId: 'd-1',
    deviceId: null,
    state: 'PENDING',
    error: null,
    components: [],
    adoptedManifestVersion: null,
    seq: null,
    boot: null,
    observedAt: null,
    dialect: 'test',
    ...some,
  }
}
