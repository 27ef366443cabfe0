/** The JSON Schemas of bodies and the server agree: what a schema allows is accepted, and what it refuses is refused, or in the table of docs/wire.md §8. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { makeContracts } from '../../src/api/rest/contract/document.ts'
import { readPage } from '../support/documentation.ts'
import { casesOf, isWhole, runs } from '../support/runner/depth.ts'
import { bodiesOf, type Fault, faultsOf, type Schema } from '../support/schema-bodies.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

type Members = Readonly<Record<string, unknown>>

/** A way by which a body of this schema reaches the server. */
interface Way {
  readonly schema: string
  readonly method: 'POST' | 'PUT'
  path(body: unknown): string
  /** What no schema can say: an ID that the path repeats, a place that exists. A value that is not of the schema stays as it is. */
  prepare?(body: unknown): unknown
  /** Absent: JSON. */
  readonly written?: { readonly type: string; write(body: unknown): string }
}

const group = '/v2/projects/p/composite-apps/a/v1/deployment-intent-groups/g'
const label = 'emco/deployment-id'

/** Replaces a member by its path, if it has a value that the schema allows. */
const having = (body: unknown, [name = '', ...rest]: readonly string[], isFine: RegExp, value: string): unknown => {
  const held = (body as Members | null)?.[name]
  if (rest.length > 0 && typeof held === 'object')
    return { ...(body as Members), [name]: having(held, rest, isFine, value) }
  return typeof held === 'string' && isFine.test(held) ? { ...(body as Members), [name]: value } : body
}

const isMembers = (body: unknown): body is Members => typeof body === 'object' && body !== null && !Array.isArray(body)

/** Some actions need an instance. */
const withContext = (body: unknown): unknown =>
  isMembers(body) && (body.ContextId ?? '') === '' ? { ...body, ContextId: '4242' } : body

const yaml = { type: 'application/yaml', write: (body: unknown) => stringify(body) }
const lines = {
  type: 'application/x-ndjson',
  write: (body: unknown) => (body as { reports: unknown[] }).reports.map((one) => JSON.stringify(one)).join('\n'),
}

const reports: readonly Way[] = ['2024-05', '2024-06', '2024-09', '2025-10', '1.0'].flatMap((generation) => {
  const schema = `margo-status-${generation}`
  const name = { '2024-05': ['metadata', 'uniqueId'], '2024-06': ['metadata', 'deploymentId'] }[generation] ?? [
    'deploymentId',
  ]
  const prepare = (body: unknown) => having(body, name, /^[^\0]{1,256}$/su, 'pump')
  const report: Way = { schema, method: 'POST', prepare, path: () => '/device/edge/deployment/pump/status' }
  const backlog: Way = {
    ...{ schema, method: 'POST', path: () => '/reports' },
    prepare: (body) => ({ reports: [isMembers(body) ? { reporter: 'edge', ...body } : body] }),
  }
  return [report, backlog, { ...report, written: yaml }, { ...backlog, written: lines }]
})

const ways: readonly Way[] = [
  { schema: 'k8splugin-status', method: 'PUT', path: () => '/v1/instance/i-1/status' },
  ...['2024', '2025-10', '1.0'].map(
    (generation): Way => ({
      ...{ schema: `margo-capabilities-${generation}`, method: 'PUT', path: () => '/api/v1/capabilities' },
    }),
  ),
  { schema: 'margo-cluster-capabilities', method: 'POST', path: () => '/api/v1/capabilities' },
  { schema: 'emco-action', method: 'POST', path: () => `${group}/actions`, prepare: withContext },
  {
    ...{ schema: 'emco-actions', method: 'POST', path: () => `${group}/actions` },
    prepare: (body) =>
      isMembers(body) && Array.isArray(body.Actions) ? { ...body, Actions: body.Actions.map(withContext) } : body,
  },
  { schema: 'emco-resources', method: 'POST', path: () => `${group}/instances/4242/resources` },
  {
    ...{
      schema: 'emco-resource-bundle-state',
      method: 'PUT',
      path: () => `${group}/resource-bundle-states/cloud%2Bedge01`,
    },
    prepare: (body) =>
      having(
        having(body, ['metadata', 'name'], /-/, 'sink'),
        ['metadata', 'labels', label],
        /^\w+-[\w.-]+$/,
        '4242-sink',
      ),
  },
  {
    schema: 'emco-connectivity',
    method: 'PUT',
    path: () => '/v2/cluster-providers/cloud/clusters/edge01/connectivity',
  },
  {
    schema: 'k8splugin-instance',
    method: 'PUT',
    path: () => '/v1/instance/i-2',
    prepare: (body) => having(body, ['id'], /^/, 'i-2'),
  },
  {
    ...{ schema: 'k8splugin-subscription', method: 'POST', path: () => '/v1/instance/i-1/status/subscription' },
    prepare: (body) => having(body, ['callback-url'], /^https?:/, 'http://receiver.example/'),
  },
  {
    ...{ schema: 'cnf-adapter-inventory', method: 'POST', path: () => '/api/cnf-adapter/v1/aai-update' },
    prepare: (body) => having(body, ['callbackUrl'], /^https?:/, 'http://receiver.example/'),
  },
  ...reports,
]

/** The rows of docs/wire.md §8. */
const [, section = ''] = readPage('docs/wire.md').split('\n## 8. ')
const tolerances = [...section.matchAll(/^\| `([^|]+)` \| `([^|]+)` \| ([^|]+) \| .+ \|$/gm)].map(
  ([, schemas = '', members = '', faults = '']) => ({
    schemas: patternOf(schemas),
    members: patternOf(members),
    faults: faults.split(', '),
    text: `${schemas} ${members} ${faults}`,
  }),
)

/** Names with commas between them. A star is any part of one. */
function patternOf(names: string): RegExp {
  const escaped = names.split('`, `').map((name) => name.replaceAll(/[.[\]+?]/g, '\\$&').replaceAll('*', '.*'))
  return new RegExp(`^(?:${escaped.join('|')})$`)
}

describe('the schemas of bodies', () => {
  let server: RunningApp
  let contracts: ReadonlyMap<string, string>
  const used = new Set<string>()
  const ajv = new Ajv2020({
    strict: true,
    allowUnionTypes: true,
    formats: { 'date-time': (text: string) => !Number.isNaN(Date.parse(text)) },
  })

  beforeAll(async () => {
    contracts = await makeContracts()
    server = await startApp({ env: { SINK_ALLOW: '10.0.0.0/8' } })
    const send = (path: string, body: unknown, method = 'POST') =>
      fetch(`${server.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const actions = [{ State: 'Created' }, { State: 'Approved' }, { State: 'Instantiated', ContextId: '4242' }]
    expect((await send(`${group}/actions`, { Actions: actions })).status).toBe(201)
    const cluster = '/v2/cluster-providers/cloud/clusters/edge01'
    expect((await send(`${cluster}/actions`, { State: 'Created' })).status).toBe(201)
    const request = { 'rb-name': 'b', 'rb-version': '1', 'cloud-region': 'east' }
    expect((await send('/v1/instance/i-1', { request }, 'PUT')).status).toBe(201)
  })
  afterAll(() => server.stop())

  const schemaOf = (name: string): { schema: Schema; validate: ValidateFunction } => {
    const schema = JSON.parse(contracts.get(`/schemas/${name}.json`) ?? '')
    return { schema, validate: ajv.getSchema(schema.$id) ?? ajv.compile(schema) }
  }

  /** Null: it is accepted, or what it is about does not exist. Otherwise why it, or its only item, is refused. */
  async function refusalOf(way: Way, body: unknown): Promise<string | null> {
    const { method, written: { type, write } = { type: 'application/json', write: JSON.stringify } } = way
    const sent = write(way.prepare ? way.prepare(body) : body)
    const headers = { 'content-type': type }
    const answer = await fetch(`${server.url}${way.path(body)}`, { method, headers, body: sent })
    const text = await answer.text()
    expect([sent.slice(0, 300), answer.status >= 500 ? text : 'answered']).toEqual([sent.slice(0, 300), 'answered'])
    if ([400, 413, 415, 422].includes(answer.status)) return text
    const { results = [], errors = [] } = JSON.parse(text) as {
      results?: readonly { verdict: string }[]
      errors?: readonly object[]
    }
    return answer.status < 300 && (results.some(({ verdict }) => verdict === 'REFUSED') || errors.length > 0)
      ? text
      : null
  }

  async function expectFault(way: Way, { member, fault, body }: Fault): Promise<void> {
    const refusal = await refusalOf(way, body)
    if (refusal !== null) return
    const rows = tolerances.filter(
      (row) => row.schemas.test(way.schema) && row.members.test(member) && row.faults.includes(fault),
    )
    for (const { text } of rows) used.add(text)
    expect([way.schema, member, fault, JSON.stringify(body).slice(0, 400), rows.length > 0]).toEqual([
      ...[way.schema, member, fault, JSON.stringify(body).slice(0, 400), true],
    ])
  }

  it.each(casesOf(3, ways))(
    '$schema, $written.type: what it allows is accepted, and each fault of a member is refused or tolerated',
    async (way) => {
      const { schema, validate } = schemaOf(way.schema)
      const whole = fc.sample(
        bodiesOf(schema, true).filter((body) => validate(body)),
        { numRuns: 1, seed: 7 },
      )[0]
      expect(await refusalOf(way, whole)).toBeNull()
      const faults = faultsOf(schema, whole).filter(({ body }) => !validate(body))
      expect(faults.length).toBeGreaterThan(8)
      for (const fault of faults) await expectFault(way, fault)
      const picks = fc.array(fc.nat(), { minLength: 3, maxLength: 3 })
      const property = fc.asyncProperty(
        bodiesOf(schema).filter((body) => validate(body)),
        picks,
        async (body, chosen) => {
          expect([JSON.stringify(body), await refusalOf(way, body)]).toEqual([JSON.stringify(body), null])
          const some = faultsOf(schema, body).filter((one) => one.fault !== 'many' && !validate(one.body))
          for (const n of chosen) {
            const fault = some[n % some.length]
            if (fault) await expectFault(way, fault)
          }
        },
      )
      await fc.assert(property, { numRuns: runs(10, 300) })
    },
  )

  it.runIf(isWhole)('are exceeded by what the table lists, and by nothing that it lists in vain', () => {
    expect(tolerances.filter(({ text }) => !used.has(text)).map(({ text }) => text)).toEqual([])
  })
})
