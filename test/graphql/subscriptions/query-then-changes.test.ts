import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deploymentStates } from '../../../src/domain/values.ts'
import { stores } from '../../support/databases/stores.ts'
import { transports } from '../clients.ts'
import { type Api, startApi } from '../harness.ts'

describe.each(stores)('a query and the changes after its revision, under load, on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store })
  })
  afterAll(() => api.close())

  it.each(transports)('together miss nothing, over $name', async ({ watch }) => {
    let isLoaded = true
    let turn = 0
    const load = Promise.all(
      Array.from({ length: 4 }, async (_, reporter) => {
        while (isLoaded) {
          turn += 1
          const state = deploymentStates[turn % deploymentStates.length] ?? 'PENDING'
          await api.report({ reporter: `r-${reporter}`, deploymentId: `d-${reporter}`, state })
        }
      }),
    )
    const asked = `{ revision deployments(orderBy: NAME) { nodes { deploymentId state revision } } deploymentCounts { total revision } }`
    const streams = []
    for (let n = 0; n < 10; n += 1) {
      const { revision, deployments, deploymentCounts } = await api.ask(asked)
      expect(deploymentCounts.revision).toBe(revision)
      for (const node of deployments.nodes) expect(Number(node.revision)).toBeLessThanOrEqual(Number(revision))
      const document = `subscription ($after: Revision) { changes(after: $after) { cursor change { ... on DeploymentStateChanged { deploymentId to } } } }`
      streams.push({
        revision: Number(revision),
        nodes: deployments.nodes,
        stream: watch(api.url, document, { after: revision }),
      })
    }
    isLoaded = false
    await load
    const { revision: end, deployments: present } = await api.ask(asked)
    for (const { revision, nodes, stream } of streams) {
      const states = new Map<string, string>(
        nodes.map((node: { deploymentId: string; state: string }) => [node.deploymentId, node.state]),
      )
      for (let cursor = revision; cursor < Number(end); ) {
        const { changes } = await stream.data()
        expect(Number(changes.cursor)).toBe(cursor + 1)
        cursor += 1
        states.set(changes.change.deploymentId, changes.change.to)
      }
      expect([...states].sort()).toEqual(
        present.nodes.map(({ deploymentId, state }: { deploymentId: string; state: string }) => [deploymentId, state]),
      )
      await stream.close()
    }
  })
})
