import { expect } from 'vitest'
import type { Convergence } from '../../../src/domain/desired.ts'
import type { Database } from '../../../src/store/database.ts'
import { readLog } from '../../../src/store/read/changes/changes.ts'
import { audit } from '../../../src/store/read/counts/audit.ts'
import { countConvergence } from '../../../src/store/read/counts/deployment-counts.ts'
import { documentsAt, findBundle, manifestHistory, newestManifests } from '../../../src/store/read/desired/desired.ts'
import { targetByName } from '../../../src/store/read/targets/targets.ts'
import { type DeploymentRecord, toDeployment } from '../../../src/store/sql/rows.ts'
import { foldAll } from '../../store/read/history.ts'
import { bundle, type Model } from './desired-model.ts'

export async function expectManifests({ session }: Database, model: Model): Promise<void> {
  for (const [owner, { version, past }] of model.manifests) {
    const target = await targetByName(session, 'DEVICE', '', owner)
    const key = target?.key ?? -1
    expect((await newestManifests(session, [key])).get(key)?.version ?? 1).toBe(version)
    const replayed = new Map<string, string>()
    const history = await manifestHistory(session, key)
    expect(history.map((one) => one.version)).toEqual([...past.keys()])
    for (const one of history) {
      for (const { deploymentId, content } of one.changes)
        if (content === null) replayed.delete(deploymentId)
        else replayed.set(deploymentId, content)
      const listed = await documentsAt(session, key, one.version)
      expect(new Map(listed.map(({ deploymentId, content }) => [deploymentId, content]))).toEqual(past.get(one.version))
      expect(replayed).toEqual(past.get(one.version))
      expect(one).toMatchObject({ caller: 'operator', why: 'because' })
      const made = listed.length === 0 ? null : bundle(listed)
      expect([one.bundleDigest, one.bundleSize]).toEqual([made?.digest ?? null, made?.size ?? null])
      if (made) expect((await findBundle(session, key, made.digest))?.bundleSize).toBe(made.size)
    }
  }
}

export async function expectCounts(database: Database): Promise<void> {
  const snapshot = await database.snapshot()
  try {
    expect(await audit(snapshot)).toEqual([])
    const counted = (await countConvergence(snapshot, { of: 'fleet' }, {}, null)).get(0)
    // A text filter is counted from the rows, not read from the counters.
    const listed = (await countConvergence(snapshot, { of: 'fleet' }, { text: '' }, null)).get(0)
    expect(counted).toEqual(listed)
    const stale = (await countConvergence(snapshot, { of: 'fleet' }, { convergence: ['STALE'] }, null)).get(0)
    expect(stale).toEqual({ converged: 0, applying: 0, failed: 0, stale: listed?.stale, unknown: 0 })
  } finally {
    await snapshot.close()
  }
}

/** Each change of convergence names the state before it, and all changes together give the present. */
export async function expectLog({ session }: Database, start: number): Promise<void> {
  const changes = await readLog(session, start, 100_000)
  const last = new Map<number, Convergence>()
  for (const change of changes) {
    const key = change.deploymentKey ?? -1
    if (change.kind === 'DEPLOYMENT_STATE_CHANGED' && change.from === null) last.set(key, 'UNKNOWN')
    if (change.kind !== 'CONVERGENCE_CHANGED') continue
    expect(change.from).toBe(last.get(key) ?? 'UNKNOWN')
    last.set(key, change.to)
  }
  const rows = await session.run<DeploymentRecord>('select * from deployments')
  const present = new Map(rows.map(toDeployment).map((deployment) => [deployment.key, deployment]))
  for (const [key, { convergence, targetManifestVersion, documentDigest }] of foldAll(changes, Infinity))
    expect(present.get(key)).toMatchObject({ convergence, targetManifestVersion, documentDigest })
}
