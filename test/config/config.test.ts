import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ConfigError } from '../../src/platform/config-error.ts'
import { parseConfig, variables } from '../../src/server/config/config.ts'

describe('the configuration', () => {
  it('needs no variable: it binds to loopback, keeps its data in ./data, and prunes nothing', () => {
    expect(parseConfig({})).toEqual({
      server: {
        host: '127.0.0.1',
        port: 4000,
        publicUrl: null,
        corsOrigins: [],
        graphiql: true,
        introspection: true,
        persistedDocuments: null,
        trustedProxies: [],
        isOpenOnLoopback: true,
        tls: null,
      },
      limits: {
        operation: { depth: 20, cost: 500_000, time: 15_000 },
        rates: { address: null, device: null },
        streams: null,
        git: { processes: 8, time: 120_000, waiting: 15_000 },
        buffered: 256 * 2 ** 20,
      },
      store: {
        ...{
          url: null,
          urlFile: null,
          password: null,
          passFile: null,
          passwordFile: null,
          readUrls: [],
          lagLimit: 10_000,
        },
        ...{ dataDir: './data', isSynced: true, readLimit: 15_000 },
      },
      retention: { historyDays: null, forgetRemovedDays: null },
      archive: null,
      ...{ strictReports: false, offlineAfter: null },
      stalling: { factor: 3, after: 3600 },
      alertRules: null,
      ...{ metricsRollouts: 20, mcp: { isWriting: false } },
      sinks: { allow: [], giveUpAfter: null, aai: null },
      clusters: { watched: [], kubeconfig: null },
      git: { program: 'git', path: '', directory: null },
      mqtt: null,
      traces: null,
      upstream: null,
      logLevel: 'info',
      auth: {
        device: {
          methods: ['open'],
          provision: false,
          jwt: null,
          signature: { window: 300 },
          certificate: { trustDomains: [], isOverwritten: false },
        },
        api: { methods: ['open'], adminKey: null, jwt: null, oidcIssuer: null },
        oidc: null,
        identity: null,
      },
    })
  })

  it('takes every variable', () => {
    const given = {
      HOST: '0.0.0.0',
      PORT: '0',
      PUBLIC_URL: 'https://rollcall.example/fleet/',
      CORS_ORIGINS: 'https://board.example, http://localhost:3000',
      GRAPHIQL: 'true',
      INTROSPECTION: 'false',
      PERSISTED_DOCUMENTS: './documents.json',
      ALERT_RULES: './alerts.yaml',
      TRUSTED_PROXIES: '10.0.0.0/8, ::1',
      CLIENT_CERT_HEADER: 'overwritten',
      ...{ TLS_CERT: './server.pem', TLS_KEY: './server.key' },
      TLS_MIN_VERSION: '1.3',
      MAX_DEPTH: '12',
      MAX_COST: '10000',
      OPERATION_TIMEOUT: '5',
      MAX_STREAMS: '20',
      MAX_BUFFERED: '256',
      ADDRESS_RATE: '100',
      DEVICE_RATE: 'off',
      DATABASE_URL: 'postgres://rollcall:secret@db.example/rollcall',
      DATABASE_PASSWORD: 'a token',
      PGPASSFILE: './pgpass',
      DATABASE_READ_URL: 'postgres://rollcall:secret@db-2.example/rollcall, postgresql://db-3.example/rollcall',
      DATABASE_READ_LAG: '3',
      DATA_DIR: 'memory',
      DURABILITY: 'relaxed',
      HISTORY_DAYS: '30.5',
      ARCHIVE: 's3://plant/rollcall',
      ARCHIVE_PATH_STYLE: 'true',
      AWS_ACCESS_KEY_ID: 'key',
      AWS_SECRET_ACCESS_KEY: 'secret of the bucket',
      AWS_SESSION_TOKEN: 'token',
      ...{ AWS_REGION: 'eu-central-1', AWS_DEFAULT_REGION: 'us-east-1' },
      AWS_ENDPOINT_URL_S3: 'https://s3.example/',
      AWS_ENDPOINT_URL: 'https://aws.example',
      ...{ FORGET_REMOVED_DAYS: '7', OFFLINE_AFTER: '90', STRICT_REPORTS: 'true' },
      STALLED_FACTOR: '1.5',
      STALLED_AFTER: 'off',
      METRICS_ROLLOUTS: '0',
      ...{ MCP: 'true', MCP_WRITE: '1' },
      SINK_ALLOW: '10.0.0.0/8, aai.example',
      SINK_RETRY_DAYS: '2',
      AAI_URL: 'https://aai.example:8443/',
      AAI_VERSION: 'v27',
      AAI_USER: 'rollcall',
      AAI_PASSWORD: 'secret',
      AAI_APP_ID: 'fleet',
      ...{ AAI_INCLUDE_KINDS: 'Deployment,Service', AAI_EXCLUDE_KINDS: 'Pod' },
      CLUSTERS: 'telco+edge-1=admin@edge-1, telco+edge-2',
      KUBECONFIG: '/etc/edge-1:/etc/edge-2',
      GIT: '/opt/git/bin/git',
      ...{ GIT_DIRECTORY: '/var/cache/rollcall', GIT_PROCESSES: '3' },
      MQTT_URL: 'mqtts://broker.example:8883',
      ...{ MQTT_USER: 'rollcall', MQTT_PASSWORD: 'secret', MQTT_CA: './ca.pem' },
      ...{ MQTT_CERT: './rollcall.pem', MQTT_KEY: './rollcall.key' },
      ...{ MQTT_CLIENT_ID: 'plant-1', MQTT_GROUP: 'servers', MQTT_PREFIX: 'plant/fleet' },
      MQTT_SESSIONS: '4',
      MQTT_PUBLISH: 'label:site=berlin',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example/otlp/',
      OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Bearer%20one, x-tenant=plant',
      OTEL_SERVICE_NAME: 'plant rollcall',
      TRACE_REQUESTS: '0.25',
      ...{ UPSTREAM_URL: 'https://company.example/', UPSTREAM_TOKEN: 'of-plant' },
      ...{ UPSTREAM_CERT: './plant.pem', UPSTREAM_KEY: './plant.key', UPSTREAM_CA: './company.pem' },
      LOG_LEVEL: 'debug',
      DEVICE_AUTH: 'open,token,signature,mtls',
      DEVICE_PROVISION: 'true',
      DEVICE_JWT_JWKS_URL: 'https://devices.example/keys',
      DEVICE_JWT_ISSUER: 'https://devices.example',
      DEVICE_JWT_AUDIENCE: 'fleet',
      DEVICE_JWT_CLOCK_SKEW: '60',
      DEVICE_JWT_CLAIM: 'client_id',
      SIGNATURE_WINDOW: '60',
      ...{ IDENTITY_SERVICE: 'factory.example=https://mis.factory.example', IDENTITY_SERVICE_CA: './web.pem' },
      ...{ IDENTITY_DIRECTORY: '/var/lib/rollcall/identity', ADMITTED_CLIENTS: './clients.txt' },
      SPIFFE_ID: 'spiffe://factory.example/margo/wfm/plant-1',
      API_AUTH: 'key,jwt',
      API_ADMIN_KEY: 'an-admin-key-for-tests-only',
      API_JWT_JWKS_URL: 'https://issuer.example/keys',
      API_JWT_ISSUER: 'https://issuer.example',
      API_JWT_AUDIENCE: 'rollcall',
      API_JWT_CLOCK_SKEW: '5',
      API_JWT_ROLES_CLAIM: 'realm_access.roles',
      API_JWT_SCOPES_CLAIM: 'scope',
      OIDC_ISSUER: 'https://login.microsoftonline.com/common/v2.0',
      OIDC_TENANTS: '9188040D-6c67-4c5b-b112-36a304b66dad',
      OIDC_NAME: 'the plant',
      OIDC_CLIENT_ID: 'rollcall',
      OIDC_CLIENT_SECRET: 'a-client-secret-for-tests-only',
      OIDC_SCOPES: 'openid offline_access',
      OIDC_GROUPS_CLAIM: 'realm_access.roles',
      OIDC_ROLES: '{"admins":"admin"}',
    }
    // Where keys or authorities are published, no variable has them.
    const others = ['API_JWT_SECRET', 'DEVICE_JWT_SECRET', 'TLS_CLIENT_CA', 'SPIFFE_TRUST_DOMAIN']
    expect([...Object.keys(given), ...others].toSorted()).toEqual([...variables].toSorted())
    expect(parseConfig(given)).toEqual({
      server: {
        ...{ host: '0.0.0.0', port: 0, publicUrl: 'https://rollcall.example/fleet' },
        ...{ corsOrigins: ['https://board.example', 'http://localhost:3000'], graphiql: true },
        ...{ introspection: false, persistedDocuments: './documents.json' },
        ...{ trustedProxies: ['10.0.0.0/8', '::1'], isOpenOnLoopback: false },
        ...{ tls: { cert: './server.pem', key: './server.key', clientCa: null, minVersion: 'TLSv1.3' } },
      },
      limits: {
        ...{ operation: { depth: 12, cost: 10_000, time: 5_000 }, rates: { address: 100, device: null } },
        ...{ streams: 20, buffered: 256 * 2 ** 20, git: { processes: 3, time: 120_000, waiting: 15_000 } },
      },
      store: {
        url: 'postgres://rollcall:secret@db.example/rollcall',
        ...{ urlFile: null, passFile: './pgpass', password: 'a token', passwordFile: null },
        readUrls: ['postgres://rollcall:secret@db-2.example/rollcall', 'postgresql://db-3.example/rollcall'],
        ...{ lagLimit: 3_000, dataDir: 'memory', isSynced: false, readLimit: 15_000 },
      },
      retention: { historyDays: 30.5, forgetRemovedDays: 7 },
      archive: {
        ...{ kind: 's3', url: 'https://s3.example/plant/rollcall', region: 'eu-central-1' },
        ...{ accessKeyId: 'key', secretAccessKey: 'secret of the bucket', sessionToken: 'token' },
      },
      ...{ strictReports: true, offlineAfter: 90 },
      stalling: { factor: 1.5, after: null },
      alertRules: './alerts.yaml',
      metricsRollouts: 0,
      mcp: { isWriting: true },
      sinks: {
        allow: ['10.0.0.0/8', 'aai.example'],
        giveUpAfter: 172_800_000,
        aai: {
          ...{ url: 'https://aai.example:8443', version: 27, user: 'rollcall', password: 'secret' },
          applicationId: 'fleet',
          includeKinds: ['Deployment', 'Service'],
          excludeKinds: ['Pod'],
        },
      },
      clusters: {
        watched: [
          { provider: 'telco', name: 'edge-1', context: 'admin@edge-1' },
          { provider: 'telco', name: 'edge-2', context: null },
        ],
        kubeconfig: ['/etc/edge-1', '/etc/edge-2'],
      },
      git: { program: '/opt/git/bin/git', path: '', directory: '/var/cache/rollcall' },
      mqtt: {
        ...{ url: 'mqtts://broker.example:8883', user: 'rollcall', password: 'secret' },
        files: { ca: './ca.pem', cert: './rollcall.pem', key: './rollcall.key' },
        ...{ clientId: 'plant-1', group: 'servers', prefix: 'plant/fleet', sessions: 4 },
        publish: { scope: { labels: [{ key: 'site', value: 'berlin' }], projects: null } },
      },
      traces: {
        url: 'https://collector.example/otlp/v1/traces',
        headers: { Authorization: 'Bearer one', 'x-tenant': 'plant' },
        service: 'plant rollcall',
        requests: 0.25,
      },
      upstream: {
        ...{ url: 'https://company.example', token: 'of-plant' },
        files: { cert: './plant.pem', key: './plant.key', ca: './company.pem' },
      },
      logLevel: 'debug',
      auth: {
        device: {
          methods: ['open', 'token', 'signature', 'mtls'],
          provision: true,
          jwt: {
            jwksUrl: 'https://devices.example/keys',
            secret: null,
            issuer: 'https://devices.example',
            audience: 'fleet',
            clockSkew: 60,
            claim: 'client_id',
          },
          signature: { window: 60 },
          certificate: { trustDomains: [], isOverwritten: true },
        },
        api: {
          methods: ['key', 'jwt', 'oidc'],
          adminKey: 'an-admin-key-for-tests-only',
          oidcIssuer: 'https://login.microsoftonline.com/common/v2.0',
          jwt: {
            jwksUrl: 'https://issuer.example/keys',
            secret: null,
            issuer: 'https://issuer.example',
            audience: 'rollcall',
            clockSkew: 5,
            rolesClaim: 'realm_access.roles',
            scopesClaim: 'scope',
          },
        },
        oidc: {
          issuer: 'https://login.microsoftonline.com/common/v2.0',
          tenants: ['9188040d-6c67-4c5b-b112-36a304b66dad'],
          name: 'the plant',
          clientId: 'rollcall',
          clientSecret: 'a-client-secret-for-tests-only',
          scopes: 'openid offline_access',
          ...{ groupsClaim: 'realm_access.roles', resource: null },
          roles: [{ group: 'admins', role: 'admin', scopes: [] }],
        },
        identity: {
          sources: [{ trustDomain: 'factory.example', url: 'https://mis.factory.example' }],
          ...{ ca: './web.pem', directory: '/var/lib/rollcall/identity', admitted: './clients.txt' },
          ids: ['spiffe://factory.example/margo/wfm/plant-1'],
        },
      },
    })
  })

  it('takes an empty variable as unset, and ignores unknown variables', () => {
    const env = { PORT: '', DATA_DIR: ' ', HISTORY_DAYS: '', PORT_RANGE: 'x', DATA_DIRECTORY: 'y' }
    expect(parseConfig(env)).toEqual(parseConfig({}))
  })

  it('is frozen', () => {
    const { server, store, retention, auth } = parseConfig({ CORS_ORIGINS: 'https://board.example' })
    expect([server, server.corsOrigins, store, retention, auth].every(Object.isFrozen)).toBe(true)
  })

  it('turns any environment into a configuration or a list of problems', () => {
    const environments = fc.dictionary(fc.constantFrom(...variables), fc.string())
    fc.assert(
      fc.property(environments, (env) => {
        try {
          expect(Object.isFrozen(parseConfig(env))).toBe(true)
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigError)
        }
      }),
    )
  })
})
