/** A live list over both transports equals the query, also across connections that are cut. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { applyUpdate, connect } from '../../src/apps/client/client.ts'
import { expectNoUnhandledRejections } from '../support/rejections.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { startNetwork, transports } from './harness.ts'

expectNoUnhandledRejections()
let server: RunningApp
beforeAll(async () => {
  server = await startApp()
})
afterAll(() => server.stop())

const states = ['pending', 'installing', 'installed', 'failed', 'removing', 'removed']

async function report(name: string, state: string | undefined): Promise<void> {
  const body = { deploymentId: name, status: { state }, components: [] }
  expect((await server.post(`/device/edge-${Number(name.slice(2)) % 3}/deployment/${name}/status`, body)).status).toBe(
    201,
  )
}

const lists = {
  deployments: {
    subscription: `subscription ($after: Revision) { deployments(filter: { states: [FAILED, INSTALLED] }, orderBy: NAME, first: 5, after: $after) {
      cursor isSnapshot removed rows { position deployment { id deploymentId state } }
    } }`,
    query:
      '{ list: deployments(filter: { states: [FAILED, INSTALLED] }, orderBy: NAME, first: 5) { nodes { id deploymentId state } } }',
  },
  groups: {
    subscription: `subscription { deploymentGroups(by: TARGET, orderBy: SIZE_DESC) {
      cursor isSnapshot removed rows { position from group { key counts { total } } }
    } }`,
    query: '{ list: deploymentGroups(by: TARGET, orderBy: SIZE_DESC) { nodes { key counts { total } } } }',
  },
}

describe.each(transports)('a live list over $name', ({ transport }) => {
  it.each(Object.entries(lists))('of %s equals the query', async (_, { subscription, query }) => {
    const network = await startNetwork(server.url)
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    const client = connect({ url: network.url, transport: transport() })
    let shown: readonly object[] = []
    const read = async (): Promise<void> => {
      for await (const rows of client.live(subscription, {}, { signal: stop.signal })) shown = rows
    }
    const ended = read()
    for (let turn = 0; turn < 18; turn += 1) {
      if (turn % 6 === 4) network.cut()
      await report(`d-${(turn * 5) % 7}`, states[(turn * turn + 3) % states.length])
      if (turn % 6 === 5) network.mend()
      if (turn % 3 !== 2) continue
      const { list } = await server.query(query)
      await expect.poll(() => shown).toEqual(list.nodes)
    }
    stop.abort()
    await ended
  })
})

it('an update moves rows by their IDs, and groups by their places', () => {
  const row = (id: string, position: number) => ({ position, deployment: { id } })
  const whole = { isSnapshot: true, removed: [], rows: [row('a', 0), row('b', 1), row('c', 2)] }
  const list = applyUpdate<{ id: string }>([], whole)
  expect(list.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  const moved = applyUpdate(list, { isSnapshot: false, removed: ['b'], rows: [row('c', 0), row('d', 2)] })
  expect(moved.map(({ id }) => id)).toEqual(['c', 'a', 'd'])
  const group = (key: string, position: number, from: number | null) => ({ position, from, group: { key } })
  const groups = applyUpdate([{ key: 'x' }, { key: 'y' }, { key: 'z' }], {
    isSnapshot: false,
    removed: [0],
    rows: [group('z', 0, 2), group('n', 2, null)],
  })
  expect(groups.map(({ key }) => key)).toEqual(['z', 'y', 'n'])
})
