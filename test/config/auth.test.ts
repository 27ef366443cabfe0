import { describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/server/config/config.ts'
import { isLoopback } from '../../src/server/config/rules.ts'
import { refusalOf } from './refusal.ts'

describe('the configuration of access', () => {
  it('names the methods of authentication', () => {
    expect(refusalOf({ DEVICE_AUTH: 'open,password' }).problems).toEqual([
      'DEVICE_AUTH must be any of "open", "token", "signature", "mtls", but is "password"',
    ])
    expect(refusalOf({ API_AUTH: 'none' }).problems).toEqual([
      'API_AUTH must be any of "open", "key", "jwt", but is "none"',
    ])
    expect(refusalOf({ API_AUTH: ',' }).problems).toEqual(['API_AUTH must be any of "open", "key", "jwt", but is ","'])
  })

  it('refuses settings that contradict API_AUTH', () => {
    expect(refusalOf({ API_AUTH: 'jwt' }).message).toContain('set either API_JWT_JWKS_URL or API_JWT_SECRET')
    expect(refusalOf({ API_AUTH: 'jwt', API_JWT_JWKS_URL: 'https://issuer.example/keys' }).message).toContain(
      'requires API_JWT_ISSUER and API_JWT_AUDIENCE',
    )
    expect(refusalOf({ API_ADMIN_KEY: 'an-admin-key-for-tests-only' }).message).toContain('API_AUTH has "key"')
    expect(refusalOf({ API_AUTH: 'jwt', API_JWT_SECRET: 'a-short-secret' }).message).not.toContain('a-short-secret')
  })

  it('refuses settings that contradict DEVICE_AUTH', () => {
    const jwks = 'https://issuer.example/keys'
    const secret = 'a-secret-of-at-least-thirty-two-characters'
    expect(refusalOf({ DEVICE_AUTH: 'token', DEVICE_JWT_JWKS_URL: jwks }).problems).toEqual([
      'DEVICE_JWT_JWKS_URL requires DEVICE_JWT_ISSUER and DEVICE_JWT_AUDIENCE: its keys also sign tokens for other services',
    ])
    expect(refusalOf({ DEVICE_AUTH: 'token', DEVICE_JWT_CLAIM: 'azp' }).problems).toEqual([
      'DEVICE_JWT_CLAIM has no effect without DEVICE_JWT_JWKS_URL or DEVICE_JWT_SECRET',
    ])
    expect(refusalOf({ DEVICE_JWT_SECRET: secret }).problems).toEqual([
      'DEVICE_JWT_SECRET has no effect unless DEVICE_AUTH has "token"',
    ])
    expect(refusalOf({ DEVICE_AUTH: 'token', SIGNATURE_WINDOW: '10' }).problems).toEqual([
      'SIGNATURE_WINDOW has no effect unless DEVICE_AUTH has "signature"',
    ])
    expect(refusalOf({ DEVICE_AUTH: 'mtls', TLS_CERT: './a.pem', SIGNATURE_WINDOW: '10' }).problems).toEqual([
      'TLS_CERT and TLS_KEY require each other: set both',
      'SIGNATURE_WINDOW has no effect unless DEVICE_AUTH has "signature"',
      expect.stringContaining(
        'DEVICE_AUTH has "mtls": set TLS_CERT, TLS_KEY and TLS_CLIENT_CA (or IDENTITY_SERVICE), or TRUSTED_PROXIES',
      ),
    ])
    const forwarded = { DEVICE_AUTH: 'mtls', TRUSTED_PROXIES: '10.0.0.0/8' }
    const tls = { TLS_CERT: './a.pem', TLS_KEY: './a.key', TLS_CLIENT_CA: './ca.pem' }
    for (const env of [forwarded, { ...forwarded, ...tls }])
      expect(refusalOf(env).problems).toEqual([expect.stringContaining('set CLIENT_CERT_HEADER to "overwritten" if')])
    expect(refusalOf({ ...forwarded, CLIENT_CERT_HEADER: 'refused' }).problems).toEqual([
      expect.stringContaining('or TRUSTED_PROXIES and CLIENT_CERT_HEADER=overwritten'),
    ])
    expect(refusalOf({ CLIENT_CERT_HEADER: 'overwritten' }).problems).toEqual([
      'CLIENT_CERT_HEADER has no effect without TRUSTED_PROXIES',
    ])
    expect(parseConfig({ ...forwarded, CLIENT_CERT_HEADER: 'overwritten' }).auth.device.methods).toEqual(['mtls'])
    expect(parseConfig({ ...forwarded, ...tls, CLIENT_CERT_HEADER: 'refused' }).auth.device.methods).toEqual(['mtls'])
    expect(refusalOf({ SPIFFE_TRUST_DOMAIN: 'fleet.example', TLS_CLIENT_CA: './ca.pem' }).problems).toEqual([
      'TLS_CLIENT_CA has no effect without TLS_CERT and TLS_KEY',
      'SPIFFE_TRUST_DOMAIN has no effect unless DEVICE_AUTH has "mtls"',
    ])
    const both = { DEVICE_AUTH: 'token', DEVICE_JWT_SECRET: secret, DEVICE_JWT_JWKS_URL: jwks }
    expect(refusalOf({ ...both, DEVICE_JWT_ISSUER: 'x', DEVICE_JWT_AUDIENCE: 'x' }).message).toContain(
      'remove one of them',
    )
    expect(refusalOf(both).message).not.toContain(secret)
  })

  it('is open on a network only if the environment says so', () => {
    for (const HOST of ['0.0.0.0', '::', '192.168.1.7', 'rollcall.example']) {
      expect(refusalOf({ HOST }).problems.map((problem) => problem.split(' ')[0])).toEqual(['DEVICE_AUTH', 'API_AUTH'])
      expect(refusalOf({ HOST, API_AUTH: 'open' }).problems).toHaveLength(1)
      expect(parseConfig({ HOST, DEVICE_AUTH: 'open', API_AUTH: 'open' }).server.graphiql).toBe(false)
    }
    for (const HOST of ['127.0.0.1', '127.8.9.1', '::1', 'localhost']) {
      expect(isLoopback(HOST)).toBe(true)
      expect(parseConfig({ HOST }).server.graphiql).toBe(true)
      expect(parseConfig({ HOST, GRAPHIQL: 'false' }).server.graphiql).toBe(false)
    }
  })
})
