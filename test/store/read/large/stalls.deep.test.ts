/**
 * A log of the largest reports, read by everything and changed by every command of operators, one after the other, on a server with a heap of 512 MiB:
 * its event loop is never blocked for long, and its memory grows little. Both in what this process alone causes: processor time, and its own pages.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { startTarget, type Target } from '../../../attacks/attacker/target.ts'
import { openSocket } from '../../../attacks/transports.ts'
import { postgresStores } from '../../../support/databases/stores.ts'
import { runs } from '../../../support/runner/depth.ts'
import { jsonYardstick } from '../../../support/stall.ts'
import { componentsReport, report } from './largest-reports.ts'

const [textual, componental] = [runs(60, 300), runs(30, 100)]
const ids = [
  ...Array.from({ length: textual }, (_, n) => `d-${n}`),
  ...Array.from({ length: componental }, (_, n) => `c-${n}`),
]

interface Client {
  readonly url: string
  post(path: string, body: unknown): Promise<Response>
  /** Data of an answer, whose text is read and thrown away. */
  // biome-ignore lint/suspicious/noExplicitAny: what a test asked for, it knows.
  query(query: string, variables?: object): Promise<Record<string, any>>
}

function clientOf(url: string): Client {
  const post = (path: string, body: unknown): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  return {
    url,
    post,
    async query(query, variables = {}) {
      const { data, errors } = await (await post('/graphql', { query, variables })).json()
      if (errors && errors[0].extensions?.code !== 'LIMIT_EXCEEDED')
        throw new Error(JSON.stringify(errors).slice(0, 500))
      return data ?? {}
    },
  }
}

async function exported({ url }: Client, kind: string, format: string): Promise<void> {
  const answer = await fetch(`${url}/export/${kind}?format=${format}`)
  expect(answer.status).toBe(200)
  for await (const chunk of answer.body ?? []) expect(chunk.length).toBeGreaterThan(0)
}

const everything =
  'subscription { changes(after: "0") { cursor change { kind ... on ComponentStateChanged { error { message } } } } }'

/** Until the cursor of the newest change. */
async function streamed({ url, query }: Client): Promise<void> {
  const newest = String((await query('{ revision }')).revision)
  const abort = new AbortController()
  const answer = await fetch(`${url}/graphql?query=${encodeURIComponent(everything)}`, {
    headers: { accept: 'text/event-stream' },
    signal: abort.signal,
  })
  expect(answer.headers.get('content-type')).toContain('text/event-stream')
  let end = ''
  for await (const chunk of (answer.body ?? []).values() as AsyncIterable<Uint8Array>) {
    const text = end + Buffer.from(chunk).toString('latin1')
    end = text.slice(-100)
    if (text.includes(`"cursor":"${newest}"`)) break
  }
  abort.abort()
}

async function socketed({ url, query }: Client): Promise<void> {
  const newest = String((await query('{ revision }')).revision)
  const socket = await openSocket(url)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.on('close', (code, reason) => reject(new Error(`${code} ${reason}`)))
  socket.on('message', (text) => {
    if (String(text).includes(`"cursor":"${newest}"`)) resolve()
    if (String(text).includes('"type":"error"')) reject(new Error(String(text)))
  })
  socket.send(JSON.stringify({ type: 'subscribe', id: '1', payload: { query: everything } }))
  await promise.finally(() => socket.terminate())
}

const mutation = (name: string, input: string, fields = '__typename') =>
  `mutation ($input: ${input}!) { ${name}(input: $input) { ${fields} ... on UserError { message } } }`

/** Throws if it was refused. */
async function mutate(
  client: Client,
  name: string,
  input: object,
  type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`,
): Promise<void> {
  const data = await client.query(mutation(name, type), { input })
  expect(data).toEqual({ [name]: { __typename: expect.stringMatching(/Success$/) } })
}

async function nodeIds(client: Client): Promise<string[]> {
  const found: string[] = []
  for (let after: string | null = null; ; ) {
    const { deployments } = (await client.query(
      'query ($after: String) { deployments(first: 100, after: $after) { nodes { id } pageInfo { endCursor hasNextPage } } }',
      { after },
    )) as never as { deployments: { nodes: { id: string }[]; pageInfo: { endCursor: string; hasNextPage: boolean } } }
    found.push(...deployments.nodes.map(({ id }) => id))
    if (!deployments.pageInfo.hasNextPage) return found
    after = deployments.pageInfo.endCursor
  }
}

const four = <T>(work: () => Promise<T>): Promise<T[]> => Promise.all([work(), work(), work(), work()])
const declarations = (text: string) =>
  ids.map((deploymentId) => ({
    ...{ deviceId: 'edge-1', deploymentId },
    document: `apiVersion: application.margo.org/v1alpha1\nkind: ApplicationDeployment\nmetadata:\n  annotations:\n    id: ${deploymentId}\n    applicationId: ${text}\nspec:\n  deploymentProfile:\n    type: helm.v3\n    components:\n      - name: web\n        properties:\n          repository: oci://x\n`,
  }))

/** The revision before all. */
let first = ''

type Act = readonly [name: string, act: (client: Client) => Promise<unknown>]

const reads: readonly Act[] = [
  ['one export of the changes', (client) => exported(client, 'changes', 'ndjson')],
  ['four exports of the changes', (client) => four(() => exported(client, 'changes', 'csv'))],
  ['four exports of the deployments', (client) => four(() => exported(client, 'deployments', 'ndjson'))],
  ['an export of the reports', (client) => exported(client, 'reports', 'ndjson')],
  ['an export of the devices', (client) => exported(client, 'devices', 'ndjson')],
  ['a subscriber by server-sent events', streamed],
  [
    'six subscribers by server-sent events',
    (client) => Promise.all([four(() => streamed(client)), streamed(client), streamed(client)]),
  ],
  ['four subscribers by WebSocket', (client) => four(() => socketed(client))],
  ['a list', ({ query }) => query('{ deployments(first: 100) { nodes { deploymentId state error { message } } } }')],
  [
    'a list with components',
    ({ query }) => query('{ deployments(first: 40) { nodes { components { name state error { code message } } } } }'),
  ],
  [
    'a list with former states',
    ({ query }) =>
      query(
        '{ deployments(first: 20) { nodes { history(first: 20) { nodes { kind } } reports(first: 5) { nodes { verdict } } } } }',
      ),
  ],
  [
    'groups by error',
    ({ query }) => query('{ deploymentGroups(by: ERROR) { nodes { key detail counts { total } } } }'),
  ],
  [
    'groups by component',
    ({ query }) => query('{ deploymentGroups(by: BLOCKING_COMPONENT) { nodes { key detail counts { total } } } }'),
  ],
  [
    'rollouts with diagnoses',
    ({ query }) =>
      query(
        '{ rollouts(first: 20) { nodes { diagnosis { __typename } eta { __typename } durations { __typename } outcomes { __typename } } } }',
      ),
  ],
  ['a search', ({ query }) => query('{ search(text: "failed") { __typename } }')],
  [
    'the past',
    async ({ query }) =>
      query('query ($at: Revision!) { deployments(first: 40, atRevision: $at) { nodes { components { name } } } }', {
        at: (await query('{ revision }')).revision,
      }),
  ],
]

/** In this order: the last ones leave nothing to read. */
const changes: readonly Act[] = [
  [
    'one report with the longest errors',
    ({ post }) => post('/device/edge-1/deployment/d-0/status', report(0, 'installing')),
  ],
  [
    'one report with the most components',
    ({ post }) => post('/device/edge-1/deployment/c-0/status', componentsReport(0, 'installing')),
  ],
  [
    'a webhook from the beginning',
    async (client) => {
      await mutate(client, 'createWebhook', {
        name: 'none',
        url: 'http://127.0.0.1:9',
        after: first,
        filter: { deploymentIds: ['none'] },
      })
      await expect
        .poll(async () => (await client.query('{ sinks { lag } }')).sinks, { timeout: 120_000 })
        .toEqual([{ lag: 0 }])
    },
  ],
  ['registerDevices', (client) => mutate(client, 'registerDevices', { devices: [{ deviceId: 'edge-1' }] })],
  ['resetReporterOrder', (client) => mutate(client, 'resetReporterOrder', { reporter: 'edge-1' })],
  [
    'declareDeployments',
    (client) => mutate(client, 'declareDeployments', { rollout: { name: 'all' }, deployments: declarations('app') }),
  ],
  [
    'setRolloutLabels',
    async (client) => {
      const { rollout } = await client.query('{ rollout(key: { name: "all" }) { id } }')
      await mutate(client, 'setRolloutLabels', { labels: [{ key: 'a', value: 'b' }], rolloutId: rollout.id })
    },
  ],
  ['removeDeployments', async (client) => mutate(client, 'removeDeployments', { ids: await nodeIds(client) })],
  [
    'forgetDeployments',
    async (client) => mutate(client, 'forgetDeployments', { ids: (await nodeIds(client)).slice(0, ids.length / 2) }),
  ],
  [
    'retireDevices',
    (client) => mutate(client, 'retireDevices', { devices: [{ deviceId: 'edge-1' }], reason: 'scrapped' }),
  ],
]

/** Times what it takes to print and to parse 4 MiB. 2.5 are 100 ms where it takes 40. A change runs once, so the first use of its code is in it. */
const mostStall = { read: 4, change: 10 }
// Bytes. Most of them are garbage that is not collected yet.
const mostGrowth = 256 << 20

/** Bytes, since it was last asked. */
function peakOf(pid: number): number {
  const kib = Number(/VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  return kib * 1024
}

describe.each(postgresStores)('a server with a heap of 512 MiB on $name', (store) => {
  let target: Target
  let client: Client
  let stall = 0
  beforeAll(
    async () => {
      const empty = await store.create()
      const env = {
        DATABASE_URL: empty.config.url ?? '',
        NODE_OPTIONS: '--max-old-space-size=512',
        SINK_ALLOW: '127.0.0.1',
        DEVICE_RATE: '100000',
      }
      target = await startTarget(env, ({ cpu }) => {
        stall = Math.max(stall, cpu)
      })
      client = clientOf(target.url)
      first = (await client.query('{ revision }')).revision
      for (const id of ids) {
        const number = Number(id.slice(2))
        const body = id.startsWith('d') ? report(number, 'failed') : componentsReport(number, 'failed')
        expect((await client.post(`/device/edge-1/deployment/${id}/status`, body)).status).toBe(201)
      }
      return async () => {
        await target.stop()
        await empty.drop()
      }
    },
    runs(120_000, 900_000),
  )

  async function measure(act: (client: Client) => Promise<unknown>): Promise<{ stall: number; growth: number }> {
    const { rss } = await target.vitals('collect')
    peakOf(target.pid)
    stall = 0
    await act(client)
    // A stall is recorded after it.
    await target.vitals()
    expect(target.end()).toBeNull()
    return { stall, growth: peakOf(target.pid) - rss }
  }
  const allowed = (act: keyof typeof mostStall) => mostStall[act] * jsonYardstick(4 << 20)

  // What the readers cost is in both; what the machine does beside them, and the garbage of former ones, is in one.
  it.each(reads)(
    'is not blocked by %s',
    async (_, act) => {
      const most = allowed('read')
      const [one, two] = [await measure(act), await measure(act)]
      expect(Math.min(one.stall, two.stall)).toBeLessThan(Math.max(most, allowed('read')))
      expect(Math.min(one.growth, two.growth)).toBeLessThan(mostGrowth)
    },
    300_000,
  )

  it.each(changes)(
    'is not blocked by %s',
    async (_, act) => {
      const most = allowed('change')
      const one = await measure(act)
      expect(one.stall).toBeLessThan(Math.max(most, allowed('change')))
      expect(one.growth).toBeLessThan(mostGrowth)
    },
    300_000,
  )
})
