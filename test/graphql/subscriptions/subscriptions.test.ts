import { describe, expect, it } from 'vitest'
import { transports } from '../clients.ts'
import { useSubscriptions } from '../subscribing.ts'

const changeFields = `cursor reset { reason } change { __typename kind revision at
  ... on DeploymentStateChanged { deploymentId from to deployment { state revision } }
  ... on ComponentStateChanged { component cfrom: from cto: to }
}`

describe.each(transports)('subscriptions over $name', (transport) => {
  const { api, newId, watch, headNow } = useSubscriptions(transport)

  describe('changes', () => {
    it('sends past changes after a revision, then live ones, without a gap', async () => {
      const after = await headNow()
      const deploymentId = newId()
      await api().report({ deploymentId, state: 'PENDING' })
      const stream = watch(`subscription ($after: Revision) { changes(after: $after) { ${changeFields} } }`, { after })
      const { changes: first } = await stream.data()
      expect(first).toMatchObject({
        reset: null,
        change: { __typename: 'DeploymentStateChanged', deploymentId, from: null, to: 'PENDING' },
      })
      expect(first.cursor).toBe(first.change.revision)
      expect(Number(first.cursor)).toBe(Number(after) + 1)
      await api().report({
        deploymentId,
        state: 'INSTALLED',
        components: [{ name: 'web', state: 'INSTALLED', error: null }],
      })
      const { changes: second } = await stream.data()
      const { changes: third } = await stream.data()
      expect(second).toMatchObject({ change: { from: 'PENDING', to: 'INSTALLED', deployment: { state: 'INSTALLED' } } })
      expect(third).toMatchObject({
        change: { __typename: 'ComponentStateChanged', component: 'web', cfrom: null, cto: 'INSTALLED' },
      })
      expect([second.cursor, third.cursor].map(Number)).toEqual([Number(after) + 2, Number(after) + 3])
    })

    it('without a revision sends new changes only', async () => {
      await api().report({ deploymentId: newId() })
      const attached = api().road.feed.hub.size
      const stream = watch(`subscription { changes { ${changeFields} } }`)
      const first = stream.data()
      await expect.poll(() => api().road.feed.hub.size).toBe(attached + 1)
      const deploymentId = newId()
      const { revision } = (await api().report({ deploymentId })) as { revision: number }
      expect((await first).changes).toMatchObject({ cursor: String(revision), change: { deploymentId } })
    })

    it('shows linked objects at the time of each event, never cached ones', async () => {
      const after = await headNow()
      const deploymentId = newId()
      const stream = watch(
        `subscription ($after: Revision) { changes(after: $after) { change { revision ... on DeploymentStateChanged { deployment { state revision } } } } }`,
        { after },
      )
      for (const state of ['PENDING', 'INSTALLING', 'INSTALLED'] as const) {
        await api().report({ deploymentId, state })
        const { change } = (await stream.data()).changes
        expect(change.deployment).toEqual({ state, revision: change.revision })
      }
    })

    it('starts with a reset if the cursor is expired, of another epoch or ahead, and continues', async () => {
      const { changes } = await api().ask('{ changes(first: 1) { nodes { revision } } }')
      for (const after of ['1', '9'.repeat(30)]) {
        const stream = watch(`subscription ($after: Revision) { changes(after: $after) { ${changeFields} } }`, {
          after,
        })
        const { changes: reset } = await stream.data()
        expect(reset).toEqual({
          cursor: String(Number(changes.nodes[0].revision) - 1),
          reset: { reason: 'CURSOR_EXPIRED' },
          change: null,
        })
        expect((await stream.data()).changes.change.revision).toBe(changes.nodes[0].revision)
      }
    })

    it('filters, and advances the cursor of an idle subscriber with bookmarks', async () => {
      const after = await headNow()
      const deploymentId = newId()
      const stream = watch(
        `subscription ($after: Revision, $id: String!) { changes(after: $after, filter: { deploymentIds: [$id], to: [FAILED] }) { ${changeFields} } }`,
        { after, id: deploymentId },
      )
      await api().report({ deploymentId, state: 'FAILED' })
      expect((await stream.data()).changes).toMatchObject({ change: { to: 'FAILED' } })
      await api().report({ deploymentId: newId() })
      const head = await headNow()
      expect((await stream.data()).changes).toEqual({ cursor: head, change: null, reset: null })
    })

    it('reports an invalid cursor or filter, and ends', async () => {
      const stream = watch('subscription { changes(after: "new") { cursor } }')
      await expect(stream.next().then((result) => Promise.reject(result?.errors))).rejects.toMatchObject([
        { message: expect.stringContaining('Revision must be decimal digits') },
      ])
    })
  })
})
