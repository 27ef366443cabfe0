/** What is wrong with a configuration: all of it in one message, and nothing secret. */
import { describe, expect, it } from 'vitest'
import { parseConfig, variables } from '../../src/server/config/config.ts'
import { refusalOf } from './refusal.ts'

describe('a configuration with problems', () => {
  it('names them all in one message, with the expected value', () => {
    const error = refusalOf({
      HOST: '0.0.0.0',
      PORT: '65536',
      PUBLIC_URL: 'ftp://x',
      CORS_ORIGINS: 'https://board.example/path',
      GRAPHIQL: 'perhaps',
      INTROSPECTION: 'perhaps',
      TRUSTED_PROXIES: 'proxy.example',
      CLIENT_CERT_HEADER: 'perhaps',
      MAX_DEPTH: '4',
      MAX_COST: 'much',
      OPERATION_TIMEOUT: '0',
      MAX_STREAMS: '0',
      MAX_BUFFERED: '1',
      ADDRESS_RATE: '0',
      DEVICE_RATE: '-1',
      DATABASE_URL: 'mysql://root:secret@db/x',
      DATABASE_READ_URL: 'postgres://db/x,mysql://root:secret@db/x',
      DATABASE_READ_LAG: '2',
      DURABILITY: 'half',
      HISTORY_DAYS: '0',
      ARCHIVE: 'gs://bucket/rollcall',
      ARCHIVE_PATH_STYLE: 'perhaps',
      FORGET_REMOVED_DAYS: 'soon',
      OFFLINE_AFTER: '1.5',
      STRICT_REPORTS: 'maybe',
      STALLED_FACTOR: '0.5',
      STALLED_AFTER: 'never',
      METRICS_ROLLOUTS: '1001',
      MCP: 'on',
      MCP_WRITE: 'yes',
      SINK_ALLOW: '10.0.0.0/99',
      SINK_RETRY_DAYS: 'ever',
      AAI_URL: 'aai.example',
      AAI_VERSION: '11',
      AAI_APP_ID: 'A→B',
      CLUSTERS: 'telco+edge-1=a,telco+edge-1=b',
      GIT_PROCESSES: '0',
      MQTT_URL: 'mqtt://rollcall:secret@broker.example',
      MQTT_CERT: './rollcall.pem',
      MQTT_CLIENT_ID: 'a/b',
      MQTT_GROUP: '#',
      MQTT_PREFIX: '/fleet',
      MQTT_SESSIONS: '0',
      MQTT_PUBLISH: 'site=berlin',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://root:secret@collector:4318',
      OTEL_EXPORTER_OTLP_HEADERS: 'secret',
      OTEL_SERVICE_NAME: 'a\tb',
      TRACE_REQUESTS: '1.5',
      ...{
        UPSTREAM_URL: 'http://plant.example',
        UPSTREAM_TOKEN: 'a b',
        UPSTREAM_CERT: './a.pem',
        UPSTREAM_CA: './ca.pem',
      },
      LOG_LEVEL: 'loud',
      IDENTITY_SERVICE: 'http://mis.example',
      SPIFFE_ID: 'spiffe://factory.example',
      TLS_MIN_VERSION: '1.1',
      DEVICE_PROVISION: 'perhaps',
      DEVICE_JWT_JWKS_URL: 'ftp://x',
      DEVICE_JWT_SECRET: 'short',
      DEVICE_JWT_ISSUER: 'issuer',
      DEVICE_JWT_AUDIENCE: 'issuer',
      DEVICE_JWT_CLAIM: 'sub',
      DEVICE_JWT_CLOCK_SKEW: '1h',
      SIGNATURE_WINDOW: '0',
      SPIFFE_TRUST_DOMAIN: 'https://fleet.example',
      TLS_CERT: './server.pem',
      API_AUTH: 'none',
      API_ADMIN_KEY: 'short',
      API_JWT_JWKS_URL: 'ftp://x',
      API_JWT_SECRET: 'short',
      API_JWT_CLOCK_SKEW: '1h',
      OIDC_ISSUER: 'http://id.example',
      OIDC_TENANTS: 'contoso',
      OIDC_NAME: 'a'.repeat(101),
      OIDC_CLIENT_SECRET: 'short',
      OIDC_SCOPES: 'profile',
      OIDC_ROLES: '{"admins":"owner"}',
    })
    const named = new Set(error.problems.map((problem) => problem.split(' ')[0]))
    const anything = [
      ...['ALERT_RULES', 'HOST', 'DATA_DIR', 'MQTT_USER', 'MQTT_PASSWORD', 'MQTT_CA', 'MQTT_KEY'],
      ...['DATABASE_PASSWORD', 'PGPASSFILE', 'IDENTITY_SERVICE_CA', 'IDENTITY_DIRECTORY', 'ADMITTED_CLIENTS'],
      'AAI_USER',
      'AAI_PASSWORD',
      'AAI_INCLUDE_KINDS',
      'AAI_EXCLUDE_KINDS',
      ...['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'AWS_REGION', 'AWS_DEFAULT_REGION'],
      ...['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'],
      'KUBECONFIG',
      'UPSTREAM_KEY',
      'GIT',
      'GIT_DIRECTORY',
      'API_JWT_ISSUER',
      'API_JWT_AUDIENCE',
      'API_JWT_ROLES_CLAIM',
      'API_JWT_SCOPES_CLAIM',
      'OIDC_GROUPS_CLAIM',
      'PERSISTED_DOCUMENTS',
      'TLS_KEY',
      'TLS_CLIENT_CA',
    ]
    expect([...named].toSorted()).toEqual([...variables].filter((name) => !anything.includes(name)).toSorted())
    for (const problem of error.problems) expect(error.message).toContain(problem)
    expect(error.message).toContain('PORT must be a port from 0 to 65535 (0 picks a free port), but is "65536"')
  })

  it('names what the server above requires, and does not quote the token', () => {
    const [url, token] = ['https://company.example', { UPSTREAM_TOKEN: 'top-secret' }]
    const files = { UPSTREAM_CERT: './a.pem', UPSTREAM_KEY: './a.key', UPSTREAM_CA: './ca.pem' }
    expect(parseConfig({ UPSTREAM_URL: `${url}/rollcall/`, ...files }).upstream?.url).toBe(`${url}/rollcall`)
    expect(refusalOf({ UPSTREAM_URL: url }).problems).toEqual([
      'UPSTREAM_URL requires UPSTREAM_TOKEN, or UPSTREAM_CERT and UPSTREAM_KEY: the server above must know who sends',
    ])
    expect(refusalOf({ UPSTREAM_URL: url, UPSTREAM_KEY: './a.key' }).problems).toEqual([
      'UPSTREAM_CERT and UPSTREAM_KEY require each other: set both',
    ])
    expect(refusalOf({ UPSTREAM_URL: 'http://127.0.0.1:4001', ...token, UPSTREAM_CA: './ca.pem' }).problems).toEqual([
      'UPSTREAM_CA has no effect unless UPSTREAM_URL is https',
    ])
    expect(refusalOf({ ...token }).problems).toEqual(['UPSTREAM_TOKEN has no effect without UPSTREAM_URL'])
    expect(refusalOf({ UPSTREAM_URL: url, UPSTREAM_TOKEN: 'top secret' }).message).not.toContain('top secret')
  })

  it('names what a bucket as archive misses, and leaves the variables of other programs alone', () => {
    const bucket = { HISTORY_DAYS: '7', ARCHIVE: 's3://plant/rollcall' }
    const foreign = { AWS_ENDPOINT_URL: 'localstack', AWS_REGION: 'Mars' }
    const namesOf = (env: Record<string, string>) => refusalOf(env).problems.map((problem) => problem.split(' ')[0])
    expect(namesOf(bucket)).toEqual(['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_REGION'])
    const keys = { AWS_ACCESS_KEY_ID: 'k', AWS_SECRET_ACCESS_KEY: 'secret' }
    expect(namesOf({ ...bucket, ...keys, ...foreign })).toEqual(['AWS_REGION', 'AWS_ENDPOINT_URL'])
    expect(namesOf({ ...foreign, HISTORY_DAYS: '7', ARCHIVE: '/a', ARCHIVE_PATH_STYLE: 'true' })).toEqual([
      'ARCHIVE_PATH_STYLE',
    ])
    expect(parseConfig({ ...foreign, ARCHIVE: '/a', HISTORY_DAYS: '7' }).archive).toEqual({
      kind: 'directory',
      path: '/a',
    })
    for (const env of [
      { ...bucket, ARCHIVE: 's3://key:secret@plant' },
      { ...bucket, ...keys, AWS_ENDPOINT_URL: 'https://u:secret@s3.example' },
    ])
      expect(refusalOf(env).message).not.toContain('secret')
  })

  it('names variables of an inventory that has no address', () => {
    expect(refusalOf({ AAI_USER: 'rollcall', AAI_INCLUDE_KINDS: 'Service' }).problems).toEqual([
      'AAI_USER has no effect without AAI_URL',
      'AAI_INCLUDE_KINDS has no effect without AAI_URL',
    ])
  })

  it('names a share of requests that no collector gets', () => {
    expect(refusalOf({ TRACE_REQUESTS: '1' }).problems).toEqual([
      'TRACE_REQUESTS has no effect without OTEL_EXPORTER_OTLP_ENDPOINT',
    ])
  })

  it('does not print the address of a database or a broker, which may hold a password', () => {
    for (const name of ['DATABASE_URL', 'DATABASE_READ_URL'])
      expect(refusalOf({ [name]: 'mysql://root:secret@db/x' }).message).not.toContain('secret')
    expect(refusalOf({ MQTT_URL: 'mqtt://root:secret@broker' }).message).not.toContain('secret')
    for (const [name, value] of [
      ['ENDPOINT', 'http://root:secret@collector'],
      ['HEADERS', 'secret'],
    ] as const)
      expect(refusalOf({ [`OTEL_EXPORTER_OTLP_${name}`]: value }).message).not.toContain('secret')
  })
})
