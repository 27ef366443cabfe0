import { describe, expect, it } from 'vitest'
import { digestOf } from '../../../src/platform/body/digest.ts'
import { stores } from '../../support/databases/stores.ts'
import { transports } from '../clients.ts'
import { declare, documentOf, useDesired } from './desired-operations.ts'

describe.each(stores)('desired state on $name', (store) => {
  const { api, run, say } = useDesired(store)

  it.each(transports)('is filtered, counted and streamed as it changes over $name', async ({ name, watch }) => {
    const rollout = `fleet over ${name}`
    const devices = ['a', 'b', 'c'].map((letter) => `${letter} ${name}`)
    const wanted = (revision: string) => ({
      rollout: { name: rollout },
      deployments: devices.map((deviceId) => ({
        deviceId,
        deploymentId: `of ${name}`,
        document: documentOf(revision, 'a'),
      })),
    })
    const { deployments, revision } = await run(declare, wanted('1'))
    const ids = deployments.map(({ id }: { id: string }) => id)
    const filter = { ids }
    const counts = watch(
      api().url,
      'subscription ($filter: DeploymentFilter) { deploymentCounts(filter: $filter) { counts { installed convergence { converged applying failed stale unknown } } } }',
      { filter },
    )
    const told = watch(
      api().url,
      `subscription ($after: Revision) { changes(after: $after, filter: { kinds: [CONVERGENCE_CHANGED] }) { change { kind ... on ConvergenceChanged {
        deploymentId fromConvergence toConvergence targetManifestVersion documentDigest deployment { device { deviceId } } } } } }`,
      { after: revision },
    )
    const seen = async () => (await counts.data()).deploymentCounts.counts
    expect(await seen()).toMatchObject({ convergence: { unknown: 3 } })
    await say(devices[0] ?? '', `of ${name}`, 'INSTALLED', '2')
    expect(await seen()).toEqual({
      installed: 1,
      convergence: { converged: 1, applying: 0, failed: 0, stale: 0, unknown: 2 },
    })
    await run(declare, wanted('2'))
    expect(await seen()).toEqual({
      installed: 1,
      convergence: { converged: 0, applying: 0, failed: 0, stale: 1, unknown: 2 },
    })
    const change = async () => (await told.data()).changes.change
    expect(await change()).toEqual({
      kind: 'CONVERGENCE_CHANGED',
      deploymentId: `of ${name}`,
      fromConvergence: 'UNKNOWN',
      toConvergence: 'CONVERGED',
      targetManifestVersion: '2',
      documentDigest: digestOf(Buffer.from(documentOf('1', 'a'))),
      deployment: { device: { deviceId: devices[0] } },
    })
    expect(await change()).toMatchObject({
      fromConvergence: 'CONVERGED',
      toConvergence: 'STALE',
      targetManifestVersion: '3',
    })
    // Only the desired state has changed.
    expect(await change()).toMatchObject({
      fromConvergence: 'UNKNOWN',
      toConvergence: 'UNKNOWN',
      targetManifestVersion: '3',
    })
    await Promise.all([counts.close(), told.close()])

    const answer = await api().ask(
      `query ($filter: DeploymentFilter) {
        deployments(filter: $filter) { totalCount nodes { convergence } }
        deploymentCounts(filter: $filter) { total convergence { stale unknown } }
        rollouts(filter: { names: ["${rollout}"] }) { nodes { convergence deploymentCounts { convergence { stale unknown } } } }
      }`,
      { filter: { ids, convergence: ['STALE'] } },
    )
    expect(answer).toEqual({
      deployments: { totalCount: 1, nodes: [{ convergence: 'STALE' }] },
      deploymentCounts: { total: 1, convergence: { stale: 1, unknown: 0 } },
      rollouts: { nodes: [{ convergence: 'STALE', deploymentCounts: { convergence: { stale: 1, unknown: 2 } } }] },
    })
    const past = await api().ask(
      `query ($at: Revision!, $filter: DeploymentFilter) {
        deploymentCounts(filter: $filter, atRevision: $at) { convergence { stale unknown } }
        deployments(filter: $filter, atRevision: $at) { nodes { targetManifestVersion desired { content } } } }`,
      { at: revision, filter },
    )
    expect(past.deploymentCounts.convergence).toEqual({ stale: 0, unknown: 3 })
    expect(past.deployments.nodes[0]).toEqual({
      targetManifestVersion: '2',
      desired: { content: documentOf('1', 'a') },
    })
  })
})
