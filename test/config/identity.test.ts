import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/server/config/config.ts'
import { refusalOf } from './refusal.ts'

const tls = { TLS_CERT: './svid.pem', TLS_KEY: './svid.key' }
const service = 'https://mis.factory.example'
const least = { DEVICE_AUTH: 'mtls', IDENTITY_SERVICE: service, ...tls }
const id = 'spiffe://factory.example/margo/wfm/plant-1'

describe('the configuration of an identity service', () => {
  it('is one variable, for a server that shows an X.509-SVID, and asks for TLS 1.3', () => {
    const { auth, server } = parseConfig(least)
    expect(auth.identity).toEqual({
      ...{ sources: [{ trustDomain: null, url: service }], ca: null, ids: null, admitted: null },
      directory: './identity',
    })
    expect(server.tls?.minVersion).toBe('TLSv1.3')
    expect(parseConfig({ ...least, TLS_MIN_VERSION: '1.2' }).server.tls?.minVersion).toBe('TLSv1.2')
    expect(parseConfig({ ...tls, TLS_MIN_VERSION: '1.3' }).server.tls?.minVersion).toBe('TLSv1.3')
  })

  it('names the trust domain of each of several services', () => {
    const both = `factory.example=${service}/a, mine.example=https://mis.mine.example/bundle.json`
    expect(parseConfig({ ...least, IDENTITY_SERVICE: both }).auth.identity?.sources).toEqual([
      { trustDomain: 'factory.example', url: `${service}/a` },
      { trustDomain: 'mine.example', url: 'https://mis.mine.example/bundle.json' },
    ])
  })

  it.each([
    ['http://mis.example', 'IDENTITY_SERVICE must be'],
    ['https://user:secret@mis.example', 'IDENTITY_SERVICE must be'],
    [`${service},https://other.example`, 'IDENTITY_SERVICE must be'],
    [`a=${service},${service}`, 'IDENTITY_SERVICE must be'],
    [`a=${service},a=${service}`, 'IDENTITY_SERVICE must be'],
    [`A=${service}`, 'IDENTITY_SERVICE must be'],
    [',', 'IDENTITY_SERVICE must be'],
  ])('refuses the services %s', (IDENTITY_SERVICE, problem) => {
    const { problems } = refusalOf({ ...least, IDENTITY_SERVICE })
    expect(problems).toEqual([expect.stringContaining(problem)])
    expect(problems.join()).not.toContain('secret')
  })

  it.each<[Record<string, string>, string]>([
    [{ DEVICE_AUTH: 'open' }, 'IDENTITY_SERVICE has no effect unless DEVICE_AUTH has "mtls"'],
    [{ TLS_CLIENT_CA: './ca.pem' }, 'TLS_CLIENT_CA has no effect with IDENTITY_SERVICE'],
    [{ SPIFFE_TRUST_DOMAIN: 'a' }, 'SPIFFE_TRUST_DOMAIN has no effect with IDENTITY_SERVICE'],
    [{ SPIFFE_ID: 'spiffe://factory.example/other' }, 'SPIFFE_ID must be'],
    [{ SPIFFE_ID: 'spiffe://factory.example/margo/wfm/..' }, 'SPIFFE_ID must be'],
    [{ SPIFFE_ID: id, IDENTITY_SERVICE: `a=${service}` }, 'the trust domain a, in which SPIFFE_ID has no identity'],
    [{ TLS_MIN_VERSION: '1.1' }, 'TLS_MIN_VERSION must be'],
  ])('refuses %o', (more, problem) => {
    expect(refusalOf({ ...least, ...more }).problems).toEqual([expect.stringContaining(problem)])
  })

  it('needs the name of the server behind a proxy', () => {
    const proxied = { TRUSTED_PROXIES: '10.0.0.1', CLIENT_CERT_HEADER: 'overwritten' }
    const env = { DEVICE_AUTH: 'mtls', IDENTITY_SERVICE: service, ...proxied }
    expect(refusalOf(env).problems).toEqual([expect.stringContaining('SPIFFE_ID is required')])
    expect(parseConfig({ ...env, SPIFFE_ID: id }).auth.identity?.ids).toEqual([id])
  })

  it('names what has no effect without it', () => {
    const others = { IDENTITY_SERVICE_CA: './ca', IDENTITY_DIRECTORY: './a', SPIFFE_ID: id, ADMITTED_CLIENTS: './b' }
    expect(refusalOf({ DEVICE_AUTH: 'open', TLS_MIN_VERSION: '1.2', ...others }).problems).toEqual([
      'TLS_MIN_VERSION has no effect without TLS_CERT and TLS_KEY',
      ...Object.keys(others).map((name) => `${name} has no effect without IDENTITY_SERVICE`),
    ])
  })
})
