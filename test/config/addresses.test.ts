/** Variables that name hosts, or say which hosts are trusted. */
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/server/config/config.ts'
import { refusalOf } from './refusal.ts'

const bucket = { HISTORY_DAYS: '7', ARCHIVE: 's3://plant', AWS_ACCESS_KEY_ID: 'k', AWS_SECRET_ACCESS_KEY: 's' }
const jwt = { ISSUER: 'i', AUDIENCE: 'a' }
const oidc = { OIDC_CLIENT_ID: 'c', OIDC_ROLES: '{"admins":"admin"}' }
const prefixed = (prefix: string) =>
  Object.fromEntries(Object.entries(jwt).map(([name, value]) => [prefix + name, value]))

/** How each variable names a host, and what it requires. */
const hosts: Readonly<Record<string, (host: string) => Record<string, string>>> = {
  PUBLIC_URL: (host) => ({ PUBLIC_URL: `http://${host}/` }),
  CORS_ORIGINS: (host) => ({ CORS_ORIGINS: `http://${host}` }),
  SINK_ALLOW: (host) => ({ SINK_ALLOW: host }),
  AAI_URL: (host) => ({ AAI_URL: `http://${host}` }),
  MQTT_URL: (host) => ({ MQTT_URL: `mqtt://${host}:1883` }),
  OTEL_EXPORTER_OTLP_ENDPOINT: (host) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://${host}:4318` }),
  UPSTREAM_URL: (host) => ({ UPSTREAM_URL: `http://${host}:4000`, UPSTREAM_TOKEN: 'of-plant' }),
  AWS_ENDPOINT_URL: (host) => ({ ...bucket, AWS_ENDPOINT_URL: `http://${host}:9000` }),
  AWS_ENDPOINT_URL_S3: (host) => ({ ...bucket, AWS_ENDPOINT_URL_S3: `http://${host}:9000` }),
  OIDC_ISSUER: (host) => ({ ...oidc, OIDC_ISSUER: `http://${host}` }),
  API_JWT_JWKS_URL: (host) => ({ API_AUTH: 'jwt', ...prefixed('API_JWT_'), API_JWT_JWKS_URL: `http://${host}/keys` }),
  DEVICE_JWT_JWKS_URL: (host) => ({
    DEVICE_AUTH: 'token',
    ...prefixed('DEVICE_JWT_'),
    DEVICE_JWT_JWKS_URL: `http://${host}/keys`,
  }),
}

const namesOf = (env: Record<string, string>) => refusalOf(env).problems.map((problem) => problem.split(' ')[0])

describe('a variable with a host', () => {
  it.each(Object.entries(hosts))('takes none with a dot at its end: %s', (name, of) => {
    expect(() => parseConfig(of('localhost'))).not.toThrow()
    expect(namesOf(of('localhost.'))).toEqual([name])
  })

  it.each(Object.entries(hosts))('takes no user, and prints no password: %s', (name, of) => {
    const refusal = refusalOf(of('ada:hunter2@localhost'))
    expect(refusal.message).not.toContain(name === 'SINK_ALLOW' ? '://' : 'hunter2')
    expect(namesOf(of('ada:hunter2@localhost'))).toEqual([name])
  })

  it('reads keys of tokens, and sends a credential, on a connection that others cannot change', () => {
    for (const name of ['API_JWT_JWKS_URL', 'DEVICE_JWT_JWKS_URL', 'OIDC_ISSUER', 'UPSTREAM_URL'])
      expect(namesOf(hosts[name]?.('id.example') ?? {})).toEqual([name])
  })

  it('takes a dot at its end where it names a database, which gets no name of its host', () => {
    const url = 'postgres://u:secret@db.ns.svc.cluster.local.:5432/rollcall'
    expect(() => parseConfig({ DATABASE_URL: url, DATABASE_READ_URL: `postgres://a.,${url}` })).not.toThrow()
    expect(() => parseConfig({ DATABASE_URL: 'postgres://a.,b/rollcall' })).not.toThrow()
    expect(namesOf({ DATABASE_URL: 'mysql://db' })).toEqual(['DATABASE_URL'])
  })
})

describe('a variable that grants trust', () => {
  const everyone = [
    '0.0.0.0/0',
    '::/0',
    '0.0.0.0/1',
    '10.0.0.5/7',
    '::/6',
    '::ffff:0:0/96',
    '::/80',
    '10.0.0.1/',
    '10.0.0.1/8/8',
  ]

  it.each(['TRUSTED_PROXIES', 'SINK_ALLOW'])('does not take the whole world: %s', (name) => {
    for (const range of everyone) {
      expect(namesOf({ [name]: range })).toEqual([name])
      expect(namesOf({ [name]: `10.20.30.40,${range}` })).toEqual([name])
    }
    for (const range of ['10.0.0.0/8', '192.0.2.7/32', 'fc00::/7', '::ffff:10.0.0.0/104', '::1', '2001:db8::/64'])
      expect(() => parseConfig({ [name]: range })).not.toThrow()
    expect(refusalOf({ [name]: '0.0.0.0/0' }).message).toContain('none wider than a /8 of IPv4 or a /7 of IPv6')
  })

  it('takes no host of SINK_ALLOW that no address has', () => {
    for (const host of ['127.1', '10.0.0', '0x7f.0.0.1', '10.0.0.256', '٣.example', 'a b', '*.example', '.'])
      expect(namesOf({ SINK_ALLOW: host })).toEqual(['SINK_ALLOW'])
    expect(parseConfig({ SINK_ALLOW: 'Alert_Manager.plant,localhost' }).sinks.allow).toEqual([
      'Alert_Manager.plant',
      'localhost',
    ])
  })

  it.each(['https://accounts.google.com', 'https://appleid.apple.com', 'https://gitlab.com'])(
    'gives no role to anyone with an account: %s',
    (OIDC_ISSUER) => {
      const problems = refusalOf({ ...oidc, OIDC_ISSUER, OIDC_ROLES: '{"*":"viewer"}' }).problems
      expect(problems).toEqual([
        expect.stringMatching(/^OIDC_ROLES has "\*", which is every person with an? .* account/),
      ])
      expect(() => parseConfig({ ...oidc, OIDC_ISSUER })).not.toThrow()
    },
  )

  it('tells tokens of callers from tokens of devices', () => {
    const of = (prefix: string, more: object) =>
      Object.fromEntries(
        Object.entries({ JWKS_URL: 'https://id.example/keys', ...jwt, ...more }).map(([name, value]) => [
          prefix + name,
          value,
        ]),
      )
    const env = (more: object) => ({
      API_AUTH: 'jwt',
      DEVICE_AUTH: 'token',
      ...of('API_JWT_', {}),
      ...of('DEVICE_JWT_', more),
    })
    expect(namesOf(env({}))).toEqual(['DEVICE_JWT_AUDIENCE'])
    for (const other of [{ AUDIENCE: 'b' }, { ISSUER: 'j' }, { JWKS_URL: 'https://other.example/keys' }])
      expect(() => parseConfig(env(other))).not.toThrow()
    const secret = 'a-secret-of-at-least-thirty-two-characters'
    const shared = { API_AUTH: 'jwt', API_JWT_SECRET: secret, DEVICE_AUTH: 'token', DEVICE_JWT_SECRET: secret }
    expect(namesOf(shared)).toEqual(['DEVICE_JWT_AUDIENCE'])
  })
})

describe('a number, or a flag', () => {
  const numbers = ['PORT', 'OFFLINE_AFTER', 'MAX_DEPTH', 'MAX_COST', 'OPERATION_TIMEOUT', 'MAX_STREAMS', 'ADDRESS_RATE']
  const more = [
    'HISTORY_DAYS',
    'STALLED_FACTOR',
    'STALLED_AFTER',
    'METRICS_ROLLOUTS',
    'SINK_RETRY_DAYS',
    'MAX_BUFFERED',
  ]

  it.each([...numbers, ...more])('is written in digits: %s', (name) => {
    for (const text of ['0x200', '1e3', '+500', '५००', '500_0', '5,000', 'Infinity'])
      expect(namesOf({ [name]: text })).toEqual([name])
  })

  it('is no name of a member of all objects', () => {
    for (const text of ['constructor', '__proto__', 'toString', 'yes', 'on'])
      expect(namesOf({ GRAPHIQL: text })).toEqual(['GRAPHIQL'])
  })
})
