/** `begin` as a revision: the oldest that is retained. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { transports } from '../clients.ts'
import { startApi } from '../harness.ts'

describe.each(stores)('on $name `begin`', (store) => {
  async function start() {
    const api = await startApi({ store })
    onTestFinished(() => api.close())
    await api.report({ deploymentId: 'd-1' })
    const { history, changes } = await api.ask('{ history { oldestRevision } changes { nodes { revision } } }')
    return { api, oldest: history.oldestRevision, all: changes.nodes }
  }

  it.each(transports)('streams all retained changes over $name, without a reset', async ({ watch }) => {
    const { api, all } = await start()
    const stream = watch(api.url, 'subscription { changes(after: "begin") { cursor reset { reason } } }')
    onTestFinished(() => stream.close())
    for (const { revision } of all)
      expect(await stream.next()).toEqual({ data: { changes: { cursor: revision, reset: null } } })
  })

  it('is where a webhook may begin', async () => {
    const { api, oldest } = await start()
    const create = `mutation { createWebhook(input: { name: "all", url: "https://hooks.example/", after: "begin" }) {
      ... on CreateWebhookSuccess { sink { cursor } } } }`
    expect(await api.ask(create)).toEqual({ createWebhook: { sink: { cursor: oldest } } })
  })

  it('pages from the oldest change, and shows the oldest state', async () => {
    const { api, oldest, all } = await start()
    const query = `{ changes(after: "begin") { nodes { revision } } deployments(atRevision: "begin") { totalCount }
      none: changes(last: 1, before: "begin") { nodes { revision } pageInfo { hasNextPage hasPreviousPage } }
      before: deployments(atRevision: "${oldest}") { totalCount } }`
    expect(await api.ask(query)).toEqual({
      changes: { nodes: all },
      deployments: { totalCount: 0 },
      before: { totalCount: 0 },
      none: { nodes: [], pageInfo: { hasNextPage: true, hasPreviousPage: false } },
    })
  })
})
