/** A gateway moves a failing deployment between its devices: what each device's subscribers and lists of changes have. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DeploymentState } from '../../../src/domain/values.ts'
import { stores } from '../../support/databases/stores.ts'
import { transports } from '../clients.ts'
import { type Api, startApi } from '../harness.ts'

interface Change {
  readonly kind: string
  readonly to?: string
}

describe.each(stores)('changes of a deployment that moved, on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store })
    await say('pump', 'one', 'INSTALLED')
    await say('pump', 'two', 'FAILED')
    await say('fan', 'one', 'PENDING')
  })
  afterAll(() => api.close())

  const say = (deploymentId: string, device: string, state: DeploymentState) =>
    api.report({
      reporter: 'hall',
      deviceId: `hall/${device}`,
      deploymentId,
      state,
      components: [{ name: 'web', state, error: null }],
    })
  const of = (device: string) => ({ deviceIds: [`hall/${device}`] })
  const shown = ({ kind, to }: Change) => [kind, to].filter(Boolean).join(' ')
  const fields = 'kind ... on DeploymentStateChanged { to } ... on ComponentStateChanged { to }'

  const ofFormer = [
    'DEPLOYMENT_STATE_CHANGED INSTALLED',
    'COMPONENT_STATE_CHANGED INSTALLED',
    'DEPLOYMENT_MOVED',
    'DEPLOYMENT_STATE_CHANGED PENDING',
    'COMPONENT_STATE_CHANGED PENDING',
  ]
  const ofNew = ['DEPLOYMENT_MOVED', 'DEPLOYMENT_STATE_CHANGED FAILED', 'COMPONENT_STATE_CHANGED FAILED']

  it.each([
    ['one', ofFormer],
    ['two', ofNew],
  ])('lists and counts those of %s, and the move', async (device, expected) => {
    const { changes } = await api.ask(
      `query ($filter: ChangeFilter) { changes(filter: $filter) { totalCount nodes { ${fields} } } }`,
      { filter: of(device) },
    )
    expect(changes).toEqual({ totalCount: expected.length, nodes: expect.anything() })
    expect(changes.nodes.map(shown)).toEqual(expected)
  })

  it.each(transports)(
    'sends a subscriber of the former device no state of the new one, over $name',
    async ({ watch }) => {
      const document = `subscription ($filter: ChangeFilter) { changes(after: "begin", filter: $filter) { change { ${fields} } } }`
      const stream = watch(api.url, document, { filter: of('one') })
      const seen: string[] = []
      while (seen.length < ofFormer.length) {
        const { changes } = await stream.data()
        if (changes.change) seen.push(shown(changes.change))
      }
      expect(seen).toEqual(ofFormer)
      await stream.close()
    },
  )
})
