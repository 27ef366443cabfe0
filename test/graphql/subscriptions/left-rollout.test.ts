/** A deployment is declared into another rollout: what each of the two rollouts has of it, in lists, streams, exports and webhooks. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { linesOf } from '../../export/harness.ts'
import { stores } from '../../support/databases/stores.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'
import { type Receiver, startReceiver } from '../../support/systems/receiver.ts'
import { transports } from '../clients.ts'

interface Change {
  readonly kind: string
  readonly component?: string | null
  readonly to?: string | null
}

const fields = `kind ... on DeploymentStateChanged { to } ... on ComponentStateChanged { component to } ... on ComponentRemoved { component }`
const documents = {
  changes: `subscription ($after: Revision!, $filter: ChangeFilter) { changes(after: $after, filter: $filter) { change { ${fields} } } }`,
  rollout: `subscription ($id: ID!) { rollout(id: $id) { changes { ${fields} } rollout { deploymentCounts { total } } } }`,
  list: `query ($after: Revision!, $filter: ChangeFilter) {
    changes(after: $after, filter: $filter, first: 100) { edges { cursor } nodes { ${fields} } } }`,
  count: 'query ($filter: ChangeFilter) { changes(filter: $filter) { totalCount } }',
  ofRollout: `query ($id: ID!, $after: Revision!) { rollout(id: $id) { changes(after: $after, first: 100) { nodes { ${fields} } totalCount } } }`,
}

const pending = 'DEPLOYMENT_STATE_CHANGED PENDING'
/** The pump is declared into spring, then into summer, where it fails. The fan is forgotten in spring, and comes back in summer. */
const expected = {
  spring: [
    ...[pending, 'COMPONENT_STATE_CHANGED web PENDING', 'COMPONENT_STATE_CHANGED db PENDING'],
    ...['DEPLOYMENT_REVISED', 'COMPONENT_REMOVED web'],
    ...[pending, 'DEPLOYMENT_FORGOTTEN', 'DEPLOYMENT_REVISED'],
  ],
  summer: [
    ...['DEPLOYMENT_REVISED', 'COMPONENT_REMOVED web', 'COMPONENT_STATE_CHANGED job PENDING'],
    'DEPLOYMENT_STATE_CHANGED FAILED',
    ...[pending, 'DEPLOYMENT_REVISED', 'COMPONENT_STATE_CHANGED ui PENDING'],
  ],
}
type Name = keyof typeof expected
const names: readonly Name[] = ['spring', 'summer']
/** The changes of the set-up: a deployment of each rollout. */
const before = 1

const show = ({ kind, component, to }: Change): string => [kind, component, to].filter(Boolean).join(' ')

describe.each(stores)('changes of a deployment that leaves a rollout, on $name', (store) => {
  let server: RunningApp
  let start: string
  const ids = {} as Record<Name, string>
  const receivers = {} as Record<Name, Receiver>
  const watched: Awaited<ReturnType<typeof watchRollout>>[] = []

  beforeAll(async () => {
    server = await startApp({ store, env: { SINK_ALLOW: '127.0.0.1' } })
    for (const name of names) {
      ids[name] = (await declare(name, `kept in ${name}`, [])).rollout.id
      receivers[name] = await startReceiver()
    }
    start = (await server.query('{ revision }')).revision
    for (const name of names) {
      const input = { name, url: receivers[name].url, filter: of(name) }
      await server.query(
        'mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { ... on CreateWebhookSuccess { sink { id } } } }',
        { input },
      )
      for (const transport of transports) watched.push(await watchRollout(name, transport))
    }
    await declare('spring', 'pump', ['web', 'db'])
    await declare('summer', 'pump', ['db', 'job'])
    await server.post('/device/edge/deployment/pump/status', {
      deploymentId: 'pump',
      status: { state: 'failed', error: { code: '507', message: 'disk full' } },
      components: [],
    })
    const fan = await declare('spring', 'fan', [])
    const forget = 'mutation ($input: ForgetDeploymentsInput!) { forgetDeployments(input: $input) { __typename } }'
    await server.query(forget, { input: { ids: fan.deployments.map(({ id }: { id: string }) => id) } })
    await declare('summer', 'fan', ['ui'])
  })
  afterAll(async () => {
    for (const { close } of watched) await close()
    await server.stop()
    for (const name of names) await receivers[name].close()
  })

  const of = (name: Name) => ({ rolloutIds: [ids[name]] })

  async function declare(name: Name, deploymentId: string, components: readonly string[]) {
    const input = { rollout: { name }, deployments: [{ deviceId: 'edge', deploymentId, components }] }
    const { declareDeployments } = await server.query(
      `mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) {
        ... on DeclareDeploymentsSuccess { rollout { id } deployments { id } } } }`,
      { input },
    )
    return declareDeployments
  }

  /** Its first update is the present. */
  async function watchRollout(name: Name, { name: transport, watch }: (typeof transports)[number]) {
    const stream = watch(`${server.url}/graphql`, documents.rollout, { id: ids[name] })
    const changes: string[] = []
    const counts: { readonly total: number }[] = []
    await stream.data()
    const read = async (): Promise<void> => {
      for (let result = await stream.next(); result; result = await stream.next()) {
        const { rollout } = result.data
        changes.push(...rollout.changes.map(show))
        counts.push(rollout.rollout.deploymentCounts)
      }
    }
    read().catch((error: unknown) => changes.push(String(error)))
    return { name, transport, changes, counts, close: () => stream.close() }
  }

  it.each(names)('are listed and counted by filters, of %s', async (name) => {
    const filters = [
      of(name),
      { where: of(name) },
      { where: { and: [{ and: [of(name)] }] } },
      { where: { or: [of(name)] } },
      { where: { not: { not: of(name) } } },
    ]
    for (const filter of filters) {
      const { changes } = await server.query(documents.list, { after: start, filter })
      expect(changes.nodes.map(show)).toEqual(expected[name])
      const { totalCount } = (await server.query(documents.count, { filter })).changes
      expect(totalCount).toBe(expected[name].length + before)
    }
  })

  it('are listed once by a filter with both rollouts', async () => {
    const filter = { rolloutIds: names.map((name) => ids[name]) }
    const { changes } = await server.query(documents.list, { after: start, filter })
    const all = await server.query(documents.list, { after: start, filter: {} })
    expect(changes).toEqual(all.changes)
  })

  it.each(names)('are those of the rollout itself, of %s', async (name) => {
    const { changes } = (await server.query(documents.ofRollout, { id: ids[name], after: start })).rollout
    expect(changes.nodes.map(show)).toEqual(expected[name])
    expect(changes.totalCount).toBe(expected[name].length + before)
  })

  it.each(names)('are exported, of %s', async (name) => {
    const query = new URLSearchParams({ afterRevision: start, where: JSON.stringify(of(name)) })
    const rows = linesOf(await (await fetch(`${server.url}/export/changes?${query}`)).text())
    expect(rows.map((row) => show(row as unknown as Change))).toEqual(expected[name])
  })

  it.each(names)('are sent to a webhook, of %s', async (name) => {
    const received = await receivers[name].until((all) => all.length >= expected[name].length)
    expect(received.map(({ body }) => show(body.data))).toEqual(expected[name])
  })

  it.each(names)('are sent to subscribers that resume anywhere, of %s', async (name) => {
    const { changes } = await server.query(documents.list, { after: start, filter: of(name) })
    const cursors = [start, ...changes.edges.map(({ cursor }: { cursor: string }) => cursor)]
    for (const { watch } of transports)
      for (const [index, after] of cursors.slice(0, -1).entries()) {
        const stream = watch(`${server.url}/graphql`, documents.changes, { after, filter: of(name) })
        const rest = expected[name].slice(index)
        const seen: string[] = []
        while (seen.length < rest.length) {
          const { change } = (await stream.data()).changes
          if (change) seen.push(show(change))
        }
        expect(seen).toEqual(rest)
        await stream.close()
      }
  })

  it('are in the updates of each rollout, with its counts', async () => {
    const totals = { spring: 1, summer: 3 }
    for (const { name, transport, changes, counts } of watched) {
      await expect.poll(() => changes.length, { interval: 5 }).toBeGreaterThanOrEqual(expected[name].length)
      expect(changes, transport).toEqual(expected[name])
      expect(counts.at(-1)?.total).toBe(totals[name])
    }
  })
})
