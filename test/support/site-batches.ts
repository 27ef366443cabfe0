/** Batches of a site's server. */
import type { RolloutName } from '../../src/domain/rollout.ts'
import type { Batch, SitePosition, SiteState } from '../../src/domain/sites/batch.ts'

export const position = (revision: number, writes = 1, epoch = 100): SitePosition => ({ epoch, revision, writes })

const unnamed = { project: null, compositeApp: null, compositeAppVersion: null, provider: null }
export const rollout: RolloutName = { kind: 'DECLARED', name: 'pumps', ...unnamed }

export const batchOf = (more: Partial<Batch>): Batch => ({
  ...{ protocol: 1, version: '0.1.0', sentAt: 1_700_000_000_000, after: null, upTo: position(101), backlog: 0 },
  ...more,
})

/** A snapshot in one part. */
export const snapshotOf = (states: readonly SiteState[], more: Partial<Batch> = {}): Batch =>
  batchOf({ snapshot: { after: 0, to: 1_000, states, isLast: true }, ...more })

export const press = { key: 7, kind: 'DEVICE', name: 'press-1', labels: [{ key: 'hall', value: '3' }] } as const

export const stateOf = (
  key: number,
  deploymentId: string,
  { target = 7, ...more }: { target?: number } & Partial<SiteState['image']> = {},
): SiteState => ({
  ...{ key, named: { deploymentId, reporter: 'press-1' }, target, rollout },
  image: {
    ...{ isCurrent: true, application: null, applicationVersion: null, state: 'INSTALLED', derivedState: null },
    ...{ consistent: true, error: null, failureStage: null, readiness: 'UNKNOWN', attempt: 1, components: [] },
    ...{ adoptedManifestVersion: null, targetManifestVersion: null, documentDigest: null, convergence: 'UNKNOWN' },
    ...{ stalled: false, reportedAt: null, changedAt: 0, revision: 100, forgottenAt: null },
    ...more,
  },
})
