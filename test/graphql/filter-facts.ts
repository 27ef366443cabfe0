/** Facts about one subject, which move rows into filters and out of them. */
import { expect } from 'vitest'
import { deploymentIntentGroup, type LifecycleRolloutName } from '../../src/domain/rollout.ts'
import { markSilent } from '../../src/ingest/commands/connectivity.ts'
import { declareDeployments } from '../../src/ingest/commands/declare.ts'
import { recordCapabilities } from '../../src/ingest/commands/devices/capabilities.ts'
import { registerDevices } from '../../src/ingest/commands/devices/register.ts'
import { recordActions } from '../../src/ingest/commands/lifecycle-actions.ts'
import { reportResources, reportStateSnapshot } from '../../src/ingest/commands/resources.ts'
import type { Api } from './harness.ts'
import { declare, documentOf } from './subscriptions/desired-operations.ts'

export type Facts = ReturnType<typeof createFacts>

/** `api` is started later. */
export function createFacts(api: () => Api) {
  const submit: Api['road']['writer']['submit'] = (command) => api().road.writer.submit(command)
  const part = (id: string, state: 'INSTALLED' | 'FAILED' = 'INSTALLED') => ({
    name: `part of ${id}`,
    state,
    error: null,
  })
  const report = (id: string, more: Parameters<Api['report']>[0] = {}) =>
    api().report({ deploymentId: id, reporter: id, state: 'INSTALLED', components: [part(id)], ...more })
  const error = { code: 'E_Disk', message: 'disk full' }
  const failing = (id: string) => report(id, { error: { ...error, code: id } })
  const register = (id: string, parent: string | null = null) => {
    const labels = [{ key: 'of', value: id }]
    return submit(registerDevices([{ deviceId: id, name: null, labels, parent, expectedInterval: 1, tokenHash: id }]))
  }
  const rowOf = async (id: string) => {
    const rows = await api().road.database.session.run<{ key: number; revision: number }>(
      'select key, revision from deployments where deployment_id = $1',
      [id],
    )
    return rows.slice(0, 1)
  }
  const nodeOf = async (id: string) => {
    const document =
      'query ($id: String!) { deployments(filter: { deploymentIds: [$id] }) { nodes { id rollout { id } } } }'
    return (await api().ask(document, { id })).deployments.nodes[0] as
      | { id: string; rollout: { id: string } }
      | undefined
  }
  const wanted = (id: string, version: string, application = `app of ${id}`) =>
    submit(
      declareDeployments({ name: `rollout of ${id}`, project: null }, [
        { deviceId: id, deploymentId: id, application, applicationVersion: version, components: null },
      ]),
    )
  const document = (id: string, revision: string) =>
    api().ask(declare, {
      input: { deployments: [{ deviceId: id, deploymentId: id, document: documentOf(revision, 'a') }] },
    })

  const groupOf = (id: string) => deploymentIntentGroup('p', 'app', 'v1', id) as LifecycleRolloutName
  const clusterOf = (id: string) => ({ kind: 'CLUSTER', provider: 'p', name: `cluster ${id}` }) as const
  const object = (id: string) => ({
    group: '',
    version: 'v1',
    kind: `Kind${id}`,
    name: `object ${id}`,
    namespace: `space ${id}`,
  })
  const instantiate = (id: string) => {
    const fact = { instanceId: null, at: null, timestamp: null, compositeProfile: null }
    return submit(
      recordActions(
        groupOf(id),
        [
          { ...fact, state: 'CREATED' },
          { ...fact, state: 'APPROVED' },
          { ...fact, state: 'INSTANTIATED', instanceId: id },
        ],
        'an operator',
      ),
    )
  }
  const apply = (id: string, sync: 'PENDING' | 'APPLIED' = 'PENDING') =>
    submit(
      reportResources(groupOf(id), id, [
        { ...object(id), component: `app ${id}`, target: clusterOf(id), showable: true, sync },
      ]),
    )
  const show = (id: string, reason = 'CrashLoopBackOff') =>
    submit(
      reportStateSnapshot(groupOf(id), {
        context: id,
        component: `app ${id}`,
        target: clusterOf(id),
        uid: null,
        resourceVersion: null,
        objects: [
          { ...object(id), assessment: { readiness: 'FAILED', reason, message: `because ${id}` }, detail: null },
        ],
        canShow: () => true,
      }),
    )
  const applied = async (id: string) => {
    await instantiate(id)
    await apply(id)
  }
  async function silent(id: string): Promise<void> {
    await expect
      .poll(async () => (await submit(markSilent([{ kind: 'DEVICE', provider: '', name: id }], 0))).marked)
      .toBe(1)
  }

  async function capable(id: string): Promise<void> {
    await register(id)
    const text = JSON.stringify({ properties: { vendor: id, modelNumber: id } })
    await submit(recordCapabilities(id, id, null, { text, generation: 'v1', labels: [] }))
  }

  async function fullOf(id: string): Promise<void> {
    await report(id, { error: { ...error, message: `disk full of ${id}` } })
  }

  async function resourceOf(id: string): Promise<string | undefined> {
    const found = await api().ask(
      'query ($id: String!) { resources(filter: { instanceIds: [$id] }) { nodes { id } } }',
      {
        id,
      },
    )
    return found.resources.nodes[0]?.id
  }

  async function rolloutOf(id: string): Promise<string | undefined> {
    const found = await api().ask('query ($id: String!) { rollouts(filter: { names: [$id] }) { nodes { id } } }', {
      id,
    })
    return found.rollouts.nodes[0]?.id
  }

  return {
    submit,
    part,
    error,
    report,
    failing,
    register,
    rowOf,
    nodeOf,
    rolloutOf,
    resourceOf,
    wanted,
    document,
    clusterOf,
    instantiate,
    apply,
    show,
    applied,
    silent,
    capable,
    fullOf,
  }
}
