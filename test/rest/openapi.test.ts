/** The OpenAPI document: it is current, clean, and says of each route what the server does. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { createOidcRoutes } from '../../src/api/auth/oidc/routes.ts'
import { makeContracts } from '../../src/api/rest/contract/document.ts'
import { own } from '../../src/api/rest/contract/own.ts'
import { dialects } from '../../src/ingest/dialects/index.ts'
import { readPage, root } from '../support/documentation.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

interface Operation {
  readonly operationId: string
  readonly security: readonly object[]
  readonly responses: Readonly<Record<string, object>>
  readonly requestBody?: { readonly $ref: string }
}
interface Path extends Readonly<Partial<Record<Verb, Operation>>> {
  readonly servers?: readonly { readonly url: string }[]
}

const text = readPage('docs/openapi.yaml')
const document = parse(text)
const { parameters, requestBodies } = document.components
const verbs = ['get', 'post', 'put', 'delete'] as const
type Verb = (typeof verbs)[number]

/** Each method of each path, with the examples of its parameters, below each prefix. */
const routes = Object.entries<Path>(document.paths).flatMap(([template, path]) =>
  (path.servers ?? [{ url: '/' }]).map(({ url }) => ({
    path: `${url.replace(/\/$/, '')}${template.replaceAll(/\{([\w-]+)\}/g, (_, name) => encodeURIComponent(parameters[name].example))}`,
    methods: Object.fromEntries(verbs.flatMap((verb) => (path[verb] ? [[verb, path[verb]] as const] : []))),
  })),
)

describe('docs/openapi.yaml', () => {
  it('is current (otherwise: npm run openapi)', async () => {
    expect((await makeContracts()).get('/openapi.yaml')).toBe(text)
  })

  it('is clean by the recommended rules of Redocly', async () => {
    const args = ['node_modules/@redocly/cli/bin/cli.js', 'lint', 'docs/openapi.yaml', '--format=json']
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env }).catch((error) => error)
    expect(JSON.parse(stdout)).toMatchObject({ totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] })
  })

  it('has each operation that a contract describes, and each route of sign-in', async () => {
    const used = new Set(
      routes.flatMap(({ methods }) => Object.values(methods).map((one) => one.operationId.split('_')[0])),
    )
    for (const dialect of dialects)
      expect(Object.keys((await dialect.contract()).operations).filter((name) => !used.has(name))).toEqual([])
    const signIn = Object.keys(createOidcRoutes({} as Parameters<typeof createOidcRoutes>[0]))
    expect(signIn.filter((path) => !(path in own))).toEqual([])
  })
})

describe('a server', () => {
  let server: RunningApp
  beforeAll(async () => {
    const oidc = { OIDC_ISSUER: 'http://127.0.0.1:1', OIDC_CLIENT_ID: 'rollcall', OIDC_ROLES: '{"*":"viewer"}' }
    const auth = { API_AUTH: 'key,jwt', API_ADMIN_KEY: 'an-admin-key-for-tests-only', DEVICE_AUTH: 'token' }
    const jwt = { API_JWT_ISSUER: 'http://127.0.0.1:1', API_JWT_AUDIENCE: 'rollcall' }
    const more = { API_JWT_SECRET: 'a-secret-of-32-characters-or-more', PUBLIC_URL: 'http://127.0.0.1:4000' }
    const env = { ...oidc, ...auth, ...jwt, ...more }
    server = await startApp({ env })
  })
  afterAll(() => server.stop())
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${server.url}${path}`, { redirect: 'manual', ...init })
    return { status: answer.status, headers: answer.headers, body: await answer.text() }
  }

  it('has each described method, and no other', async () => {
    for (const { path, methods } of routes) {
      const { status, headers } = await ask(path, { method: 'OPTIONS' })
      const names = Object.keys(methods).map((name) => name.toUpperCase())
      const expected = [...names, ...(names.includes('GET') || path === '/graphql' ? ['HEAD'] : []), 'OPTIONS']
      const allowed = (headers.get('allow') ?? '').split(', ').filter((name) => path !== '/graphql' || name !== 'GET')
      expect([path, status, allowed.toSorted()]).toEqual([path, 204, expected.toSorted()])
      const [media = null] = methods.post?.requestBody ? [Object.keys(bodyOf(methods.post).content).join(', ')] : []
      if (media && !path.startsWith('/git/') && !path.startsWith('/session'))
        expect(headers.get('accept-post')).toBe(media)
    }
  })

  it('asks for a credential where the document says so, and answers with a status that it lists', async () => {
    for (const { path, methods } of routes)
      for (const [method, { security, responses, requestBody }] of Object.entries(methods)) {
        const [[type = '', { examples = {} }] = ['', {}]] = requestBody
          ? Object.entries(bodyOf({ requestBody }).content)
          : []
        const [example = { value: '0000' }] = Object.values(examples)
        const body = requestBody && { body: JSON.stringify(example.value), headers: { 'content-type': type } }
        const { status } = await ask(path, { method, ...body })
        const known = Object.keys(responses)
        expect([method, path, known.includes(String(status)) || known.includes('default') ? 'listed' : status]).toEqual(
          [method, path, 'listed'],
        )
        // A server without Git has no repositories.
        if (security.length > 0 && !path.startsWith('/git/'))
          expect([method, path, status]).toEqual([method, path, 401])
      }
  })

  it('serves the document, the schemas and their catalog, once to a client, to anyone', async () => {
    const { headers, body } = await ask('/openapi.json')
    expect(headers.get('content-type')).toBe('application/json')
    expect(JSON.parse(body)).toEqual(document)
    expect((await ask('/openapi.yaml')).body).toBe(text)
    const again = await ask('/openapi.json', { headers: { 'if-none-match': headers.get('etag') ?? '' } })
    expect([again.status, again.body]).toEqual([304, ''])
    const catalog = await ask('/.well-known/api-catalog')
    expect(catalog.headers.get('content-type')).toMatch(/^application\/linkset\+json; profile=/)
    const base = `${server.url}/.well-known/api-catalog`
    const [first] = JSON.parse(catalog.body).linkset
    expect(first['service-desc'].map(({ href }: { href: string }) => new URL(href, base).pathname)).toEqual([
      ...['/openapi.json', '/openapi.yaml', '/asyncapi.json', '/asyncapi.yaml'],
    ])
    for (const [path, method, status] of linking)
      expect([path, await linkOf(server, path, method)]).toEqual([
        ...[path, [status, '</openapi.json>; rel="service-desc"; type="application/json"']],
      ])
    expect((await ask('/schemas/nothing.json')).status).toBe(404)
  })

  it('has a JSON Schema for each form of body, which its example fits', async () => {
    const forms = Object.values<ReturnType<typeof bodyOf>>(requestBodies).flatMap(({ content }) =>
      Object.values(content).flatMap(({ examples = {} }) => Object.entries(examples)),
    )
    expect(forms.length).toBeGreaterThan(20)
    for (const [name, { value }] of forms) {
      const schema = JSON.parse((await ask(`/schemas/${name}.json`)).body)
      expect(schema.$id).toBe(`/schemas/${name}.json`)
      const validate = new Ajv2020({ strict: true, allowUnionTypes: true, formats: { 'date-time': true } }).compile(
        schema,
      )
      expect([name, validate(value), validate.errors]).toEqual([name, true, null])
    }
  })

  it('has none of it where introspection is off', async () => {
    const closed = await startApp({ env: { INTROSPECTION: 'false' } })
    const schema = '/schemas/margo-status-1.0.json'
    for (const path of ['/openapi.json', '/openapi.yaml', '/asyncapi.json', schema, '/.well-known/api-catalog'])
      expect([path, (await fetch(`${closed.url}${path}`)).status]).toEqual([path, 404])
    for (const [path, method] of linking) expect((await linkOf(closed, path, method))[1]).toBe(null)
    await closed.stop()
  })
})

/** Answers that lead to the document. */
const linking = [
  ['/', 'GET', 200],
  ['/reports', 'OPTIONS', 204],
  ['/reports', 'DELETE', 405],
  ['/nothing/here', 'GET', 404],
  ['/device/edge/deployment/pump/status', 'POST', 400],
] as const

async function linkOf({ url }: RunningApp, path: string, method: string) {
  const { status, headers } = await fetch(`${url}${path}`, { method })
  return [status, headers.get('link')] as const
}

interface Content {
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
}

function bodyOf({ requestBody }: Pick<Operation, 'requestBody'>): {
  readonly content: Readonly<Record<string, Content>>
} {
  return requestBodies[requestBody?.$ref.split('/').at(-1) ?? '']
}
