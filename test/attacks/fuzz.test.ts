/** Random documents and bodies: the same response on every transport, no server error, and the server continues. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stores } from '../support/databases/stores.ts'
import { someOf } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { brokenRequest, type RandomRequest, randomRequest } from './random-document.ts'
import { type Answer, type Request, transports } from './transports.ts'

let server: RunningApp
beforeAll(async () => {
  const now = Date.parse('2026-01-02T03:04:05Z')
  server = await startApp({ store: stores.at(-1), clock: () => now })
  for (const [deviceId, state] of [
    ['edge-1', 'installed'],
    ['edge-2', 'failed'],
    ['gw/child', 'installing'],
  ] as const)
    await server.post('/reports', {
      reports: [{ deviceId, deploymentId: `d-${deviceId}`, status: { state }, components: [{ name: 'web', state }] }],
    })
  await fetch(`${server.url}/v1/instance/i-1`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: readFileSync(join(import.meta.dirname, '../fixtures/k8splugin/instance.json')),
  })
})
afterAll(async () => {
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
  expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
  await server.stop()
})

const failure =
  /INTERNAL_SERVER_ERROR|Unexpected error|UNAVAILABLE|\bselect\b.*\bfrom\b|insert into|node:internal|\.ts:\d|Maximum call stack/i

function expectSound({ data, errors }: Answer): void {
  if (errors) expect(JSON.stringify(errors)).not.toMatch(failure)
  else expect(data).toBeTypeOf('object')
}

/** Fields run side by side, so errors may come in any order. */
const normal = ({ data, errors }: Answer) => ({
  data: data ?? null,
  errors: (errors ?? []).map((error) => JSON.stringify(error)).toSorted(),
})

function isTurnedAway({ errors = [] }: Answer): boolean {
  return errors.some(({ extensions }) => extensions?.code === 'TOO_MANY')
}

async function askEverywhere(request: RandomRequest): Promise<boolean> {
  const answers: Answer[] = []
  for (const { ask } of transports) answers.push(await ask(server.url, request))
  // An audit may outlast its response if another field failed, and there is one audit at a time.
  if (answers.some(isTurnedAway)) return false
  const [first, ...others] = answers
  if (!first) throw new Error('there are no transports')
  expectSound(first)
  for (const answer of others) expect(normal(answer)).toEqual(normal(first))
  return first.errors === undefined
}

describe('a document', () => {
  it('made from the schema is answered alike on every transport', async () => {
    let [answered, numRuns] = [0, someOf(20, 200)]
    await fc.assert(
      fc.asyncProperty(randomRequest('Query'), async (request) => {
        if (await askEverywhere(request)) answered += 1
      }),
      { numRuns },
    )
    // Otherwise only the validation was tested.
    expect(answered).toBeGreaterThan(numRuns / 40)
  })

  it('that is broken is refused alike on every transport', async () => {
    await fc.assert(
      fc.asyncProperty(brokenRequest, async (request) => void (await askEverywhere(request))),
      { numRuns: someOf(30, 100) },
    )
  })

  it('that changes something is done, or refused with a reason', async () => {
    const [http] = transports
    await fc.assert(
      fc.asyncProperty(randomRequest('Mutation'), async (request) => {
        if (!/createWebhook|updateWebhook|redeliver/.test(request.query))
          expectSound((await http?.ask(server.url, request)) ?? {})
      }),
      { numRuns: someOf(20, 200) },
    )
  })
})

const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(
      '',
      'installed',
      'Applied',
      '{ __typename }',
      '\0',
      '\ud800',
      '2026-01-01T00:00:00Z',
      null,
      true,
      0,
      -1,
      1.5,
      1e308,
    ),
    fc.string({ unit: 'binary' }),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString', 'name', 'status')),
      tie('tree'),
      {
        maxKeys: 6,
        noNullPrototype: true,
      },
    ),
  ),
}))

describe('a body to GraphQL', () => {
  const member = (valid: unknown) => fc.option(fc.oneof(fc.constant(valid), tree), { nil: undefined })
  const request = fc.record<Request>({
    query: member('query Q($n: Int) { deployments(first: $n) { totalCount } }'),
    variables: member({ n: 3 }),
    operationName: member('Q'),
    extensions: member({ persistedQuery: { sha256Hash: 'x' } }),
  })

  async function isSound(response: Response): Promise<void> {
    const text = await response.text()
    expect(response.status, text).toBeLessThan(500)
    expect(text).not.toMatch(failure)
  }

  it('of any members', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(request, tree), async (body) =>
        isSound(await server.post('/graphql', JSON.stringify(body) ?? '')),
      ),
      { numRuns: someOf(20, 200) },
    )
  })

  it('in an address, whatever stands in it', async () => {
    const part = fc.oneof(
      fc.constantFrom('{ __typename }', '{', '{}', '[]', 'null', '"', '{"a":1}', '%', 'Q'),
      fc.string({ unit: 'grapheme' }),
    )
    const query = fc.dictionary(
      fc.constantFrom('query', 'variables', 'extensions', 'operationName', 'documentId', 'x'),
      part,
    )
    await fc.assert(
      fc.asyncProperty(
        query,
        fc.constantFrom('application/json', 'text/event-stream', '*/*'),
        async (parameters, accept) => {
          const search = new URLSearchParams(
            Object.entries(parameters).map(([name, text]) => [name, text.toWellFormed()]),
          )
          await isSound(await fetch(`${server.url}/graphql?${search}`, { headers: { accept } }))
        },
      ),
      { numRuns: someOf(20, 200) },
    )
  })

  it('of any kind and method', async () => {
    const types = fc.constantFrom(
      'application/json',
      'application/graphql',
      'application/graphql+json',
      'application/json; charset=x',
      'text/plain',
      '',
    )
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 200 }),
        types,
        fc.constantFrom('POST', 'PUT', 'DELETE', 'PATCH'),
        async (body, type, method) =>
          isSound(
            await fetch(`${server.url}/graphql`, {
              method,
              body: new Uint8Array(body),
              headers: { 'content-type': type },
            }),
          ),
      ),
      { numRuns: someOf(20, 200) },
    )
  })
})

const group = '/v2/projects/p/composite-apps/a/v1/deployment-intent-groups/g'
const cluster = '/v2/cluster-providers/p/clusters/c'
const fixtures = ['emco', 'k8splugin', 'margo'].flatMap((folder) => {
  const path = join(import.meta.dirname, '../fixtures', folder)
  return readdirSync(path).map((name) => JSON.parse(readFileSync(join(path, name), 'utf8')) as unknown)
})
const bodies: readonly unknown[] = [
  ...fixtures,
  { State: 'Instantiated', ContextId: 'c-1', TimeStamp: '2026-01-01T00:00:00Z' },
  {
    resources: [
      { app: 'a', cluster: 'p+c', GVK: { Group: '', Version: 'v1', Kind: 'Pod' }, name: 'n', rsyncStatus: 'Applied' },
    ],
  },
  { connectivity: 'available' },
  {
    resourcesStatus: [
      { name: 'n', GVK: { Group: 'apps', Version: 'v1', Kind: 'Deployment' }, status: { spec: {}, status: {} } },
    ],
  },
  { name: 's', 'callback-url': 'http://127.0.0.1:9/', 'min-notify-interval': 10 },
]
const routes = [
  ['POST', `${group}/actions`],
  ['PUT', `${group}/resource-bundle-states/p%2Bc`],
  ['POST', `${group}/instances/c-1/resources`],
  ['GET', `${group}/status`],
  ['PUT', `${cluster}/connectivity`],
  ['POST', `${cluster}/connectivity`],
  ['POST', `${cluster}/actions`],
  ['GET', `${cluster}/status`],
  ['PUT', '/v1/instance/i-1'],
  ['POST', '/v1/instance'],
  ['PUT', '/v1/instance/i-1/status'],
  ['DELETE', '/v1/instance/i-2'],
  ['GET', '/v1/instance/i-1/status'],
  ['POST', '/v1/instance/i-1/status/subscription'],
  ['PUT', '/v1/instance/i-1/status/subscription/s'],
  ['POST', '/api/cnf-adapter/v1/aai-update/'],
  ['POST', '/api/cnf-adapter/v1/aai-delete'],
  ['POST', '/session'],
  ['DELETE', '/session'],
  ['POST', '/reports'],
  ['POST', '/device/edge-1/deployment/d-edge-1/status'],
] as const

/** Known bodies of which a part is missing, or is anything else. */
const nearly = fc
  .tuple(fc.constantFrom(...bodies), fc.array(fc.tuple(fc.nat(), fc.option(tree)), { maxLength: 3 }))
  .map(([body, edits]) => {
    const copy = structuredClone({ body })
    for (const [at, value] of edits) {
      const places = placesOf(copy)
      const place = places[at % places.length]
      if (place && value === null) delete place.holder[place.name]
      else if (place) place.holder[place.name] = value
    }
    return copy.body
  })

function placesOf(value: unknown): { readonly holder: Record<string, unknown>; readonly name: string }[] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Record<string, unknown>
  return Object.keys(holder).flatMap((name) => [{ holder, name }, ...placesOf(holder[name])])
}

describe('a body to any route', () => {
  it.each([
    ['nearly right', nearly],
    ['of anything', tree],
  ])('%s is taken or refused, and never a failure', async (_, body) => {
    const search = fc.constantFrom(
      '',
      '?',
      '?output=detail&type=cluster',
      '?instance=%00',
      '?apps&clusters',
      '?kind=%ff&name=',
      '?a[]=1',
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...routes), search, body, async ([method, path], query, value) => {
        const response = await fetch(`${server.url}${path}${query}`, {
          method,
          ...(method === 'GET'
            ? {}
            : { body: JSON.stringify(value) ?? '', headers: { 'content-type': 'application/json' } }),
        })
        const text = await response.text()
        expect(response.status, `${method} ${path}: ${text}`).toBeLessThan(500)
        expect(text).not.toMatch(failure)
      }),
      { numRuns: someOf(40, 500) },
    )
  })
})
