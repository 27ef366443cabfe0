/**
 * `node test/attacks/attacker/limits.ts`: what the most expensive thing costs that each limit of docs/graphql.md allows, for the table of docs/design/limits.md. Time is the
 * processor time of the server's main thread, so that other work on the machine does not count; the suite holds the limits by counters instead.
 */
import { encodeNodeId } from '../../../src/api/graphql/objects/node.ts'
import { startPostgres } from '../../support/databases/postgres-server.ts'
import { heldLimits } from './held-limits.ts'
import type { Vitals } from './monitor.ts'
import { startTarget } from './target.ts'

const components = Array.from({ length: 1_000 }, (_, n) => ({
  name: `component-${n}`,
  state: 'failed',
  error: { code: 'E42', message: 'x'.repeat(300) },
}))
const deployments = 60
const times = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => text(n)).join(' ')
const query = (text: string, variables = {}): string => JSON.stringify({ query: text, variables })
const introspection = '__schema { types { name description fields { name description args { name description } } } }'
const expired = encodeNodeId('Deployment', 1, 1)
const declare = 'mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) { __typename } }'
const backlog = Array.from({ length: 10_000 }, (_, n) => ({
  ...{ deviceId: `edge-${n % 100}`, deploymentId: `b-${n % 1_000}`, status: { state: 'installing' } },
  components: Array.from({ length: 5 }, (_, index) => ({ name: `c-${index}`, state: 'installing' })),
}))

const allowed: readonly (readonly [limit: string, body: string, path?: string])[] = [
  ['documentSize tokens', query(`{ nodes(ids: [${times(9_900, () => `"${'x'.repeat(20)}"`)}]) { id } }`)],
  [
    'depth',
    query(
      `{ deployments { nodes { ${'rollout { deployments(first: 1) { nodes { '.repeat(5)}id${' } } }'.repeat(5)} } } }`,
    ),
  ],
  ['aliases', query(`{ ${times(99, (n) => `a${n}: deployments(first: 1) { totalCount }`)} }`)],
  ['rows', query('{ deployments(first: 49) { nodes { components { name } } } }')],
  ['rows of the schema', query(`{ ${times(8, (n) => `a${n}: ${introspection}`)} }`)],
  ['answerSize', query('{ deployments(first: 20) { nodes { components { name error { message } } } } }')],
  ['errors', query(`{ nodes(ids: [${times(100, () => `"${expired}"`)}]) { id } }`)],
  ['variableSize', query(declare, { input: { deployments: [], long: 'x'.repeat(4_100_000) } })],
  ['bodySize', `${query('{ __typename }').slice(0, -1)},"extensions":{"x":[${'1234567,'.repeat(2_000_000)}0]}}`],
  ['audits', query('{ audit { drift { __typename } } }')],
  ['a backlog of 10,000 reports', JSON.stringify({ reports: backlog }), '/reports'],
]

const postgres = await startPostgres()
let stall = 0
// Behind a proxy, whose clients are limited; on loopback none is.
const target = await startTarget({ DATABASE_URL: postgres.url, TRUSTED_PROXIES: '127.0.0.1' }, ({ cpu }) => {
  stall = Math.max(stall, cpu)
})

async function send(path: string, body: string): Promise<{ readonly status: number; readonly size: number }> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${target.url}${path}`, { method: 'POST', headers, body })
  return { status: response.status, size: (await response.arrayBuffer()).byteLength }
}

/** Looks without a change until what was sent counts as taken. One was not enough: between two large answers the server waits for the database. */
const quietLooks = 6

/** Not every limit is answered: waits until the server has taken what was sent. */
async function settled(): Promise<Vitals> {
  let last = await target.vitals()
  for (let quiet = 0; quiet < quietLooks; ) {
    await new Promise((resolve) => setTimeout(resolve, 500))
    const now = await target.vitals()
    const isQuiet = now.cpu - last.cpu < 50 && Math.abs(now.external - last.external) < 2 ** 20
    quiet = isQuiet ? quiet + 1 : 0
    last = now
  }
  return last
}

function costOf(before: Vitals, after: Vitals): string {
  const memory = Math.max(after.rss - before.rss, after.heap + after.external - before.heap - before.external)
  return [after.cpu - before.cpu, stall, memory / 2 ** 20].map((value) => Math.max(0, Math.round(value))).join(' | ')
}

try {
  for (let n = 0; n < deployments; n += 1) {
    const body = { deploymentId: `d-${n}`, status: { state: 'installing' }, components }
    await send(`/device/edge-1/deployment/d-${n}/status`, JSON.stringify(body))
  }
  console.log('| limit | status | body, answer | ms | longest stall, ms | memory, MiB |')
  for (const [limit, body, path = '/graphql'] of allowed) {
    // The first time also compiles.
    await send(path, body)
    const before = await target.vitals('collect')
    stall = 0
    const { status, size } = await send(path, body)
    const cells = costOf(before, await target.vitals())
    console.log(`| ${limit} | ${status} | ${body.length}, ${size} | ${cells} |`)
  }
  for (const { limit, hold } of heldLimits) {
    await (await hold(target.url))()
    const before = await target.vitals('collect')
    stall = 0
    const release = await hold(target.url)
    const cells = costOf(before, await settled())
    release()
    console.log(`| ${limit} | | | ${cells} |`)
  }
} finally {
  await target.stop()
  await postgres.dispose()
}
