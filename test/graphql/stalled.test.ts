import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { markStalled } from '../../src/ingest/commands/stall.ts'
import { transports } from './clients.ts'
import { type Api, startApi } from './harness.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

describe('a stalled deployment', () => {
  it.each(transports)(
    'is sent, counted and found, and stays in the history after it continues: $name',
    async ({ name, watch }) => {
      const deploymentId = `slow over ${name}`
      const filter = { deploymentIds: [deploymentId] }
      const state = 'INSTALLING' as const
      await api.report({ deploymentId, state })
      const { revision } = await api.ask('{ revision }')
      const changes = watch(
        api.url,
        `subscription ($after: Revision!, $filter: ChangeFilter!) {
        changes(after: $after, filter: $filter) { change { kind ... on DeploymentStalled { stalled deployment { stalled state } } } }
      }`,
        { after: revision, filter: { ...filter, kinds: ['DEPLOYMENT_STALLED'] } },
      )
      const counts = watch(
        api.url,
        'subscription ($filter: DeploymentFilter!) { deploymentCounts(filter: $filter) { counts { total installing } } }',
        { filter: { ...filter, stalled: true } },
      )
      expect(await counts.data()).toMatchObject({ deploymentCounts: { counts: { total: 0 } } })

      const [row] = await api.road.database.session.run<{ key: number; revision: number }>(
        'select key, revision from deployments where deployment_id = $1',
        [deploymentId],
      )
      await api.road.writer.submit(markStalled(row ? [row] : []))
      const stalled = { kind: 'DEPLOYMENT_STALLED', stalled: true, deployment: { stalled: true, state } }
      expect(await changes.data()).toEqual({ changes: { change: stalled } })
      expect(await counts.data()).toEqual({ deploymentCounts: { counts: { total: 1, installing: 1 } } })
      const still = await api.ask('{ revision }')

      await api.report({ deploymentId, state: 'INSTALLED' })
      const goesOn = { kind: 'DEPLOYMENT_STALLED', stalled: false, deployment: { stalled: false, state: 'INSTALLED' } }
      expect(await changes.data()).toEqual({ changes: { change: goesOn } })
      expect(await counts.data()).toMatchObject({ deploymentCounts: { counts: { total: 0 } } })
      await changes.close()
      await counts.close()

      const asked = `query ($filter: DeploymentFilter!, $revision: Revision!) {
      now: deployments(filter: $filter) { nodes { deploymentId } }
      before: deployments(filter: $filter, atRevision: $revision) { nodes { deploymentId stalled } }
    }`
      expect(await api.ask(asked, { filter: { ...filter, stalled: true }, ...still })).toEqual({
        now: { nodes: [] },
        before: { nodes: [{ deploymentId, stalled: true }] },
      })
    },
  )
})
