import { describe, expect, it } from 'vitest'
import { declare as declareDocuments, documentOf } from '../support/clients/desired.ts'
import { casesOf, isWhole } from '../support/runner/depth.ts'
import { declare, report, rollcall, useServer } from './harness.ts'

const server = useServer()

async function forget(...deploymentIds: readonly string[]): Promise<void> {
  const { deployments } = await server().query(
    'query ($filter: DeploymentFilter) { deployments(filter: $filter) { nodes { id } } }',
    { filter: { deploymentIds } },
  )
  const ids = deployments.nodes.map(({ id }: { id: string }) => id)
  await server().query(
    'mutation ($input: ForgetDeploymentsInput!) { forgetDeployments(input: $input) { __typename } }',
    { input: { ids } },
  )
}

describe('rollcall wait', () => {
  it('exits with 0 when the whole rollout is installed, even if it was declared after the wait began', async () => {
    const child = rollcall('wait', '--for=installed', '--rollout', 'waited', '--json')
    await declare('waited', 'wait-1', 'wait-2')
    await report('wait-1', 'installing')
    await report('wait-2', 'installed')
    await report('wait-1', 'installed')
    expect(await child.ended).toBe(0)
    expect(JSON.parse(child.lines.at(-1) ?? '')).toMatchObject({
      result: 'reached',
      counts: { total: 2, INSTALLED: 2 },
    })
  })

  it('exits with 1 as soon as one deployment has failed, and prints which and why', async () => {
    await declare('failing', 'fail-1', 'fail-2')
    const child = rollcall('wait', '--for=installed', '--rollout', 'failing')
    await report('fail-1', 'failed', { code: '507', message: 'disk full' })
    expect(await child.ended).toBe(1)
    expect(child.lines).toEqual([
      'failed to reach INSTALLED: 2 deployments: 1 pending, 1 failed',
      '  fail-1 on edge-fail-1  507: disk full',
    ])
  })

  it.runIf(isWhole)('tolerates up to --tolerate failures', async () => {
    await declare('tolerant', 'tol-1', 'tol-2')
    await report('tol-1', 'failed')
    await report('tol-2', 'installed')
    expect(await rollcall('wait', '--for=installed', '--rollout', 'tolerant', '--tolerate', '1').ended).toBe(0)
  })

  it('waits for convergence: INSTALLED on an older version does not count', async () => {
    const meant = (id: string, revision: string) => ({
      deviceId: `edge-${id}`,
      deploymentId: id,
      document: documentOf(id, revision),
    })
    const told = async (id: string, adoptedManifestVersion: number, state: string): Promise<void> => {
      const body = { deploymentId: id, adoptedManifestVersion, status: { state }, components: [] }
      expect((await server().post(`/device/edge-${id}/deployment/${id}/status`, body)).status).toBe(201)
    }
    await declareDocuments(server(), [meant('meant-1', '1'), meant('meant-2', '1')])
    await told('meant-1', 2, 'installed')
    await told('meant-2', 2, 'installed')
    await declareDocuments(server(), [meant('meant-1', '2')])
    const chosen = ['--deployment', 'meant-1', '--deployment', 'meant-2']
    const stale = rollcall('get', 'deployments', '--convergence', 'stale', ...chosen)
    expect(await stale.ended).toBe(0)
    expect(stale.lines.slice(1)).toEqual([expect.stringMatching(/^meant-1 +edge-meant-1 +INSTALLED +STALE 2 → 3 /)])
    expect(await rollcall('wait', '--for=installed', ...chosen).ended).toBe(0)
    expect(await rollcall('wait', '--for=converged', '--timeout=1s', ...chosen).ended).toBe(2)

    const all = rollcall('wait', '--for=converged', '--json', ...chosen)
    const one = rollcall('wait', '--for=converged', '--deployment', 'meant-1')
    await told('meant-1', 3, 'installing')
    await told('meant-1', 3, 'installed')
    expect([await all.ended, await one.ended]).toEqual([0, 0])
    expect(JSON.parse(all.lines.at(-1) ?? '').counts.convergence).toMatchObject({ CONVERGED: 2, STALE: 0 })
    await told('meant-1', 3, 'failed')
    expect(await rollcall('wait', '--for=converged', ...chosen).ended).toBe(1)
    expect(await rollcall('wait', '--for=converged', '--tolerate=1', ...chosen).ended).toBe(0)
  })

  it('waits for one deployment, and for a filter', async () => {
    const one = rollcall('wait', '--for=installed', '--deployment', 'wait-alone')
    const some = rollcall('wait', '--for=installed', '--device', 'edge-wait-alone')
    await report('wait-alone', 'installing')
    await report('wait-alone', 'installed')
    expect([await one.ended, await some.ended]).toEqual([0, 0])
  })

  it.each(
    casesOf(1, [
      ['a deployment', ['--deployment', 'gone-1'], ['gone-1']],
      ['a rollout', ['--rollout', 'going'], ['gone-2', 'gone-3']],
      ['devices', ['--device', 'edge-gone-4', '--device', 'edge-gone-5'], ['gone-4', 'gone-5']],
    ]),
  )('counts forgotten deployments as removed: %s', async (_, selected, ids) => {
    await declare('going', 'gone-2', 'gone-3')
    for (const id of ids) await report(id, 'removing')
    const child = rollcall('wait', '--for=removed', ...selected)
    await expect.poll(() => server().app.metrics.print()).toMatch(/subscribers\{kind="state"\} [1-9]/)
    await forget(...ids)
    expect(await child.ended).toBe(0)
    await expect.poll(() => server().app.metrics.print()).toMatch(/subscribers\{kind="state"\} 0/)
  })

  it.runIf(isWhole)(
    'does not take a deployment for removed that is in another state than the selected one',
    async () => {
      await report('moving', 'installed')
      const child = rollcall('wait', '--for=removed', '--device', 'edge-moving', '--state', 'installed', '--timeout=3s')
      await expect.poll(() => server().app.metrics.print()).toMatch(/subscribers\{kind="state"\} [1-9]/)
      await report('moving', 'removing')
      expect(await child.ended).toBe(2)
    },
  )

  it.runIf(isWhole)('says at the timeout which options select a rollout of that name', async () => {
    const ofLine: readonly object[] = [{ deploymentId: 'assembly-1', deviceId: 'edge-assembly-1' }]
    const input = { rollout: { name: 'assembly', project: 'plant' }, deployments: ofLine }
    await server().query(
      `mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) { __typename } }`,
      { input },
    )
    const child = rollcall('wait', '--for=installed', '--rollout', 'assembly', '--timeout', '3s')
    expect(await child.ended).toBe(2)
    expect(child.lines.at(-1)).toBe('timeout: rollout not found: assembly; there is one with --project plant')
  })

  it('exits with 2 at the timeout, and prints the counts', async () => {
    await declare('slow', 'slow-1')
    const child = rollcall('wait', '--for=installed', '--rollout', 'slow', '--timeout', '3s')
    expect(await child.ended).toBe(2)
    expect(child.lines).toEqual(['timeout: 1 deployment: 1 pending'])
  })
})
