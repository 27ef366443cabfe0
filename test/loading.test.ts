/** What is not configured is not loaded. */
import { describe, expect, it } from 'vitest'
import { startChild } from './support/servers/child.ts'

/** Prints the files that a server with this environment has loaded when it has started. */
const script = `
  const { createRequire, registerHooks } = await import('node:module')
  const loaded = new Set()
  registerHooks({ load(url, context, next) { loaded.add(url); return next(url, context) } })
  const { parseConfig } = await import('./src/server/config/config.ts')
  const { createApp } = await import('./src/server/app.ts')
  const { createLog } = await import('./src/platform/log/log.ts')
  const { openDatabase } = await import('./src/store/open.ts')
  const config = parseConfig({ PORT: '0', GIT: 'off', DATA_DIR: 'memory', ...JSON.parse(process.env.GIVEN) })
  const app = await createApp({ config, database: await openDatabase(config.store), log: createLog({ level: 'silent' }) })
  console.log('loaded', JSON.stringify([...loaded, ...Object.keys(createRequire(import.meta.url).cache)]))
  await app.close()
  process.exit(0)
`

/** Its own modules, and the libraries that only it has. */
const connections = {
  MQTT: [/src\/api\/mqtt\//, /node_modules\/mqtt\//],
  requests: [/src\/outlets\/traces\/requests\.ts/, /node_modules\/@opentelemetry\/sdk-trace-base\//],
  traces: [/src\/outlets\/traces\/traces\.ts/, /node_modules\/@opentelemetry\/(exporter|otlp)/],
  upstream: [/src\/outlets\/upstream\//],
  identity: [/src\/api\/auth\/identity\//],
  sign_in: [/src\/api\/auth\/oidc\//, /node_modules\/openid-client\//],
  S3: [/src\/api\/export\/archive\/bucket\.ts/, /node_modules\/aws4fetch\//],
  archive: [/src\/api\/export\/archive\/archive\.ts/],
  Parquet: [/src\/api\/export\/serve\.ts/, /node_modules\/hyparquet-writer\//],
} as const

async function filesWith(given: Record<string, string>): Promise<readonly string[]> {
  const child = startChild(script, { GIVEN: JSON.stringify(given) })
  return JSON.parse((await child.said(/^loaded /)).slice('loaded '.length))
}

async function loadedWith(given: Record<string, string>): Promise<readonly string[]> {
  const files = await filesWith(given)
  return Object.entries(connections).flatMap(([name, patterns]) =>
    patterns.some((pattern) => files.some((file) => pattern.test(file))) ? [name] : [],
  )
}

describe('a server', () => {
  it('loads no file of a connection to other systems, and no library of those, of GraphiQL or of the page, and nothing that the contracts are made of, if none is configured or asked for', async () => {
    const own =
      /src\/((api\/(mqtt|mcp|export|rest\/contract|auth\/(oidc|identity))|outlets\/(traces|upstream))\/|ingest\/dialects\/(\w+\/)?contract).*/
    // prom-client requires the API of OpenTelemetry for its own purposes.
    const libraries =
      /node_modules\/(mqtt|mqtt-packet|openid-client|oauth4webapi|hyparquet|hyparquet-writer|aws4fetch|@modelcontextprotocol\/\w+|@opentelemetry\/(?!api\/)[\w-]+|@graphql-yoga\/render-graphiql|@kubernetes\/client-node|esbuild)\//
    const found = (await filesWith({})).flatMap((file) => own.exec(file)?.[0] ?? libraries.exec(file)?.[0] ?? [])
    expect(found.toSorted()).toEqual(
      ['api/export/routes.ts', 'api/mcp/asking.ts', 'api/mcp/routes.ts', 'api/rest/contract/serve.ts'].map(
        (name) => `src/${name}`,
      ),
    )
  })

  it.each([
    ['MQTT', { MQTT_URL: 'mqtt://127.0.0.1:1' }],
    ['traces', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }],
    ['upstream', { UPSTREAM_URL: 'http://127.0.0.1:1', UPSTREAM_TOKEN: 'of-plant' }],
    ['sign_in', { OIDC_ISSUER: 'http://127.0.0.1:1', OIDC_CLIENT_ID: 'rollcall', OIDC_ROLES: '{"*":"viewer"}' }],
  ])('loads %s, and nothing else, where that is configured', async (name, given) => {
    expect(await loadedWith(given)).toEqual([name])
  })

  it('loads the client of a bucket, and what traces requests, where they are configured', async () => {
    const keys = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_ENDPOINT_URL: 'http://127.0.0.1:1' }
    const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', TRACE_REQUESTS: '0.1' }
    const given = { ARCHIVE: 's3://archive', HISTORY_DAYS: '1', ...keys, ...traces }
    expect(await loadedWith(given)).toEqual(['requests', 'traces', 'S3', 'archive'])
  })
})
