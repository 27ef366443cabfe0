/** Live groups are what the query has at each cursor. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../../support/databases/stores.ts'
import { transports } from '../clients.ts'
import { type Api, startApi } from '../harness.ts'
import { groupings, registerSites, sent } from '../objects/deployment-group-model.ts'
import { namedAuth } from '../principals.ts'

describe.each(stores)('groups of deployments on $name', (store) => {
  let api: Api
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
    await registerSites(api)
  })
  afterAll(() => api.close())

  it('are, live, what the query has at each cursor', async () => {
    const group =
      'key detail components counts { total failed installed } since changedAt revision deployments(first: 1) { id }'
    const orders = [
      ...['orderBy: SIZE_DESC', 'orderBy: FAILED_DESC', 'orderBy: CHANGED_DESC', 'orderBy: VALUE'],
      ...['ordering: { field: SIZE }', 'ordering: { field: VALUE, direction: DESC }'],
    ]
    const lists = Object.keys(groupings).map((by, index) => ({
      args: `by: ${by}, ${orders[index % orders.length]}, first: ${1 + (index % 4)}, filter: { deploymentIds: ["live-0", "live-1"] }`,
      // biome-ignore lint/suspicious/noExplicitAny: groups, as selected above.
      groups: [] as any[],
    }))
    const streams = lists.map(({ args }, index) =>
      (transports[index % transports.length] ?? expect.unreachable()).watch(
        api.url,
        `subscription { deploymentGroups(${args}) { cursor isSnapshot removed hasNextPage rows { change from position group { ${group} } } } }`,
        {},
        'viewer',
      ),
    )
    const following = lists.map(async (list, index) => {
      for (;;) {
        const { deploymentGroups: update } = await (streams[index] ?? expect.unreachable()).data()
        const gone = new Set([...update.removed, ...update.rows.map(({ from }: { from: number | null }) => from)])
        list.groups = update.isSnapshot ? [] : list.groups.filter((_, position) => !gone.has(position))
        for (const { position, group: one } of update.rows) list.groups.splice(position, 0, one)
        const past = await api.ask(
          `{ deploymentGroups(${list.args}, atRevision: "${update.cursor}") { nodes { ${group} } pageInfo { hasNextPage } } }`,
        )
        const withoutIds = (groups: readonly object[]) => groups.map((one) => ({ ...one, key: null, deployments: [] }))
        expect(withoutIds(list.groups)).toEqual(withoutIds(past.deploymentGroups.nodes))
        expect(update.hasNextPage).toBe(past.deploymentGroups.pageInfo.hasNextPage)
      }
    })
    const ended = Promise.allSettled(following)
    for (const { device, deployment, ...rest } of fc.sample(sent, { numRuns: 25, seed: 7 }))
      await api.report({ reporter: `edge-${device}`, deploymentId: `live-${deployment}`, ...rest })
    for (const list of lists) {
      const { args } = list
      const { deploymentGroups } = await api.ask(`{ deploymentGroups(${args}) { nodes { ${group} } } }`)
      const caughtUp = expect.poll(() => list.groups).toEqual(deploymentGroups.nodes)
      // A failure of an update is the better message.
      await Promise.race([caughtUp, ...following])
    }
    for (const stream of streams) await stream.close()
    for (const result of await ended) expect(result).toMatchObject({ reason: { message: 'the stream is complete' } })
  })
})
