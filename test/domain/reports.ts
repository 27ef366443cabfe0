import type { StatusReport } from '../../src/domain/report.ts'
import type { Moment } from '../../src/domain/transition-result.ts'

export const place = { key: 1, targetKey: 2, rolloutKey: 3 }
export const moment = (revision: number): Moment => ({ now: 1_000 + revision, at: 1_000 + revision, revision })

export const report = (some: Partial<StatusReport> = {}): StatusReport => ({
  reporter: 'edge-1',
  deploymentId: 'd',
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
})
