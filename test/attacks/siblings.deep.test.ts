/** A field that fails ends its operation while others are still being read: what becomes of those is waited for, or it would end the process. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../support/databases/stores.ts'
import { expectNoUnhandledRejections } from '../support/rejections.ts'
import { isDeep, someOf } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { listFields, siblingDocuments } from './sibling-documents.ts'
import { type Answer, openSocket, subscribe } from './transports.ts'

const unhandled = expectNoUnhandledRejections()
const queries = siblingDocuments('Query')
const subscriptions = siblingDocuments('Subscription')

it('each list field of the schema that can be asked for stands in a document', () => {
  const fields = listFields('Query').map(({ name }) => name)
  expect(fields).toEqual(expect.arrayContaining(['Query.nodes', 'Deployment.components', 'DeploymentConnection.edges']))
  for (const name of fields)
    expect(queries.filter((document) => document.name.includes(name)).length).toBeGreaterThan(12)
})

describe.each(stores)('on $name', (store) => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ store })
    for (const deploymentId of ['d-1', 'd-2'])
      await server.post(`/device/edge-1/deployment/${deploymentId}/status`, {
        deploymentId,
        status: { state: 'installing' },
        components: [{ name: 'web', state: 'installing' }],
      })
  })
  afterAll(() => server.stop())

  /** All documents, or for each transport others of them. */
  const share = (of: number) => queries.filter((_, index) => isDeep || index % someOf(9, 3) === of)

  async function check(answer: Answer, name: string): Promise<void> {
    expect(JSON.stringify(answer.errors ?? []), name).not.toMatch(/INTERNAL_SERVER_ERROR|GRAPHQL_VALIDATION_FAILED/)
    expect(answer.data !== undefined || (answer.errors?.length ?? 0) > 0, name).toBe(true)
    expect(await unhandled(), name).toEqual([])
  }

  it('by POST', async () => {
    for (const { name, query } of share(0))
      await check((await (await server.post('/graphql', { query })).json()) as Answer, name)
  })

  it('by GET, also from another origin', async () => {
    for (const { name, query } of share(1)) {
      const url = `${server.url}/graphql?query=${encodeURIComponent(query)}`
      await check(
        (await (await fetch(url, { headers: { origin: 'http://elsewhere.example' } })).json()) as Answer,
        name,
      )
    }
  })

  it('by WebSocket, subscriptions included', async () => {
    const socket = await openSocket(server.url)
    for (const [index, { name, query }] of [...share(2), ...subscriptions].entries()) {
      await check(await subscribe(socket, String(index), { query }), name)
      socket.send(JSON.stringify({ type: 'complete', id: String(index) }))
    }
    socket.terminate()
  })
})
