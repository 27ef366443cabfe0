import { describe, expect, it } from 'vitest'
import { decodeNodeId } from '../../../src/api/graphql/objects/node.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../../src/ingest/commands/devices/register.ts'
import { forgetDeployments } from '../../../src/ingest/commands/remove.ts'
import { transports } from '../clients.ts'
import { useSubscriptions } from '../subscribing.ts'

describe.each(transports)('subscriptions over $name', (transport) => {
  const { api, newId, watch } = useSubscriptions(transport)

  describe('deployment', () => {
    const query = `subscription ($id: String!, $device: String) { deployment(deploymentId: $id, deviceId: $device) {
      cursor coalesced deployment { state reporter revision forgottenAt device { deploymentCounts { total installed } } } changes { kind revision }
    } }`

    it('starts with null if it does not exist yet, and shows its complete first report', async () => {
      const id = newId()
      const stream = watch(query, { id })
      const { deployment: first } = await stream.data()
      expect(first).toMatchObject({ coalesced: 0, deployment: null, changes: [] })
      await api().report({ deploymentId: newId() })
      await api().report({
        deploymentId: id,
        state: 'INSTALLED',
        reporter: id,
        components: [{ name: 'web', state: 'INSTALLED', error: null }],
      })
      const { deployment: second } = await stream.data()
      expect(second).toMatchObject({
        coalesced: 0,
        deployment: {
          state: 'INSTALLED',
          reporter: id,
          forgottenAt: null,
          device: { deploymentCounts: { total: 1, installed: 1 } },
        },
        changes: [{ kind: 'DEPLOYMENT_STATE_CHANGED' }, { kind: 'COMPONENT_STATE_CHANGED' }],
      })
      expect(second.cursor).toBe(second.deployment.revision)
      expect(Number(second.cursor)).toBeGreaterThan(Number(first.cursor))
    })

    it('sends null when it is forgotten, and sends it again when it is reported again', async () => {
      const id = newId()
      await api().report({ deploymentId: id })
      const stream = watch(query, { id })
      expect((await stream.data()).deployment.deployment).toMatchObject({ state: 'PENDING' })
      const { deployment } = await api().ask('query ($id: String!) { deployment(deploymentId: $id) { id } }', { id })
      await api().road.writer.submit(forgetDeployments([decodeNodeId(deployment.id)?.key ?? 0]))
      expect((await stream.data()).deployment).toMatchObject({
        deployment: null,
        changes: [{ kind: 'DEPLOYMENT_FORGOTTEN' }],
      })
      await api().report({ deploymentId: id, state: 'INSTALLING' })
      expect((await stream.data()).deployment).toMatchObject({ deployment: { state: 'INSTALLING' } })
    })

    it('reports an ambiguous ID and continues; a selected one excludes changes of the others', async () => {
      const id = newId()
      const any = watch(query, { id })
      const chosen = watch(query, { id, device: 'edge-b' })
      expect((await any.data()).deployment.deployment).toBeNull()
      expect((await chosen.data()).deployment.deployment).toBeNull()
      await api().report({ deploymentId: id, reporter: 'edge-a' })
      expect((await any.data()).deployment.deployment).toMatchObject({ reporter: 'edge-a' })
      await api().report({ deploymentId: id, reporter: 'edge-b' })
      const ambiguous = await any.next()
      expect(ambiguous?.data.deployment).toMatchObject({
        deployment: null,
        changes: [{ kind: 'DEPLOYMENT_STATE_CHANGED' }],
      })
      expect(ambiguous?.errors).toMatchObject([
        { path: ['deployment', 'deployment'], extensions: { code: 'AMBIGUOUS', matches: [{}, {}] } },
      ])
      expect((await chosen.data()).deployment).toMatchObject({ deployment: { reporter: 'edge-b' }, changes: [{}] })
      await api().report({ deploymentId: id, reporter: 'edge-a', state: 'FAILED' })
      await api().report({ deploymentId: id, reporter: 'edge-b', state: 'REMOVED' })
      expect((await chosen.data()).deployment).toMatchObject({ deployment: { state: 'REMOVED' }, changes: [{}] })
    })
  })

  describe('deploymentCounts', () => {
    const query = `subscription ($filter: DeploymentFilter) { deploymentCounts(filter: $filter) {
      cursor coalesced counts { total pending installing installed revision }
    } }`

    it('starts with the present, and sends only if a count changes', async () => {
      const id = newId()
      const stream = watch(query, { filter: { reporters: [id] } })
      const { deploymentCounts: first } = await stream.data()
      expect(first).toMatchObject({ coalesced: 0, counts: { total: 0, pending: 0 } })
      expect(first.counts.revision).toBe(first.cursor)
      await api().report({ deploymentId: newId() })
      await api().report({ deploymentId: id, reporter: id })
      expect((await stream.data()).deploymentCounts).toMatchObject({ counts: { total: 1, pending: 1 } })
      await api().report({
        deploymentId: id,
        reporter: id,
        components: [{ name: 'web', state: 'PENDING', error: null }],
      })
      await api().report({ deploymentId: id, reporter: id, error: { code: 'WAIT', message: 'for its turn' } })
      await api().report({ deploymentId: id, reporter: id, state: 'INSTALLING' })
      expect((await stream.data()).deploymentCounts).toMatchObject({ counts: { total: 1, pending: 0, installing: 1 } })
    })

    it.each([
      ['device', (id: string) => ({ deviceIds: [id] })],
      ['deploymentId', (id: string) => ({ deploymentIds: [id] })],
      ['component', (id: string) => ({ components: [id] })],
      ['connectivity and deploymentId', (id: string) => ({ deploymentIds: [id], connectivity: ['ONLINE'] })],
    ])('follows a filter by %s', async (_, filter) => {
      const id = newId()
      await api().road.writer.submit(
        registerDevices([
          { deviceId: id, name: null, labels: null, parent: null, expectedInterval: 60, tokenHash: id },
        ]),
      )
      const stream = watch(query, { filter: filter(id) })
      expect((await stream.data()).deploymentCounts.counts.total).toBe(0)
      await api().report({ deploymentId: id, reporter: id, components: [{ name: id, state: 'PENDING', error: null }] })
      expect((await stream.data()).deploymentCounts.counts.total).toBe(1)
    })
  })

  describe('rollout', () => {
    const query = `subscription ($id: ID, $key: RolloutKey) { rollout(id: $id, key: $key) {
      cursor coalesced rollout { name kind deploymentCounts { total pending installed } } changes { kind revision }
    } }`

    it('starts with null if it does not exist yet, and shows a declared one with its first changes', async () => {
      const name = newId()
      const stream = watch(query, { key: { name, project: 'p' } })
      expect((await stream.data()).rollout).toMatchObject({ coalesced: 0, rollout: null, changes: [] })
      await api().report({ deploymentId: newId() })
      await api().road.writer.submit(
        declareDeployments({ name, project: 'p' }, [
          { deviceId: name, deploymentId: name, application: null, applicationVersion: null, components: ['web'] },
        ]),
      )
      const { rollout: born } = await stream.data()
      expect(born).toMatchObject({ rollout: { name, kind: 'DECLARED', deploymentCounts: { total: 1, pending: 1 } } })
      expect(born.changes.map(({ kind }: { kind: string }) => kind)).toEqual(
        expect.arrayContaining(['DEPLOYMENT_STATE_CHANGED', 'COMPONENT_STATE_CHANGED']),
      )
      await api().report({ deploymentId: name, reporter: name, state: 'INSTALLED' })
      expect((await stream.data()).rollout).toMatchObject({
        rollout: { deploymentCounts: { total: 1, installed: 1 } },
        changes: [{ kind: 'DEPLOYMENT_STATE_CHANGED' }],
      })
    })

    it('shows an undeclared rollout from its first report', async () => {
      const name = newId()
      const stream = watch(query, { key: { name } })
      expect((await stream.data()).rollout.rollout).toBeNull()
      await api().report({
        deploymentId: name,
        reporter: name,
        components: [{ name: 'web', state: 'PENDING', error: null }],
      })
      expect((await stream.data()).rollout).toMatchObject({
        rollout: { name, kind: 'MARGO_DEPLOYMENT', deploymentCounts: { total: 1, pending: 1 } },
        changes: [{ kind: 'DEPLOYMENT_STATE_CHANGED' }, { kind: 'COMPONENT_STATE_CHANGED' }],
      })
    })

    it('is found by its ID, and refuses an ID of no rollout', async () => {
      const name = newId()
      await api().report({ deploymentId: name })
      const { rollout } = await api().ask('query ($key: RolloutKey) { rollout(key: $key) { id } }', { key: { name } })
      const stream = watch(query, { id: rollout.id })
      expect((await stream.data()).rollout).toMatchObject({ rollout: { name }, changes: [] })
      await api().report({ deploymentId: name, state: 'INSTALLED' })
      expect((await stream.data()).rollout).toMatchObject({
        rollout: { deploymentCounts: { installed: 1 } },
        changes: [{}],
      })
      for (const variables of [{ id: 'garbage' }, {}, { id: rollout.id, key: { name } }]) {
        const refused = watch(query, variables)
        const errors = await refused.next().then(
          (result) => result?.errors,
          (errors: unknown) => errors,
        )
        expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
      }
    })
  })
})
