/** Who gets in with what, on a real server. */
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const adminKey = 'an-admin-key-for-tests-only'
const secret = 'a-secret-of-thirty-two-characters-or-more'

describe('a server with API_AUTH=key,jwt', () => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({
      env: {
        API_AUTH: 'key,jwt',
        API_ADMIN_KEY: adminKey,
        API_JWT_SECRET: secret,
        API_JWT_ISSUER: 'https://issuer.example',
        API_JWT_AUDIENCE: 'rollcall',
        API_JWT_ROLES_CLAIM: 'realm_access.roles',
      },
    })
  })
  afterAll(() => server.stop())

  const ask = async (headers: Record<string, string>, query = '{ revision }') => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query }),
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }
  const token = (
    claims: object = {},
    more: { key?: string; expires?: string; issuer?: string; audience?: string } = {},
  ) =>
    new SignJWT({ sub: 'anna', realm_access: { roles: ['viewer'] }, ...claims })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer(more.issuer ?? 'https://issuer.example')
      .setAudience(more.audience ?? 'rollcall')
      .setExpirationTime(more.expires ?? '1h')
      .sign(new TextEncoder().encode(more.key ?? secret))

  it('asks for a credential', async () => {
    const { status, headers, body } = await ask({})
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toBe('Bearer')
    expect(body.errors[0].extensions.code).toBe('UNAUTHENTICATED')
    expect(body.data).toBeUndefined()
  })

  it.each([
    ['Authorization: Bearer', { authorization: `Bearer ${adminKey}` }],
    ['X-API-Key', { 'x-api-key': adminKey }],
  ])('takes a key as %s', async (_, headers) => {
    expect(await ask(headers)).toMatchObject({ status: 200, body: { data: { revision: expect.any(String) } } })
  })

  it('takes a token that the issuer signed', async () => {
    expect((await ask({ authorization: `Bearer ${await token()}` })).status).toBe(200)
  })

  it.each([
    ['another key', async () => `${adminKey}x`],
    ['a token signed with another secret', () => token({}, { key: 'another-secret-of-thirty-two-characters' })],
    ['a token of another issuer', () => token({}, { issuer: 'https://other.example' })],
    ['a token for another audience', () => token({}, { audience: 'other' })],
    ['a token that has expired', () => token({}, { expires: '-1m' })],
    ['a token of tomorrow', () => token({ iat: Math.floor(Date.now() / 1_000) + 86_400 })],
    ['a token whose scopes cannot be read', () => token({ rollcall_scopes: ['labels:site=munich'] })],
    ['a token whose subject is not a text', () => token({ sub: { name: 'anna' } })],
    ['a token without a signature', async () => `${btoa('{"alg":"none"}').replaceAll('=', '')}.e30.`],
  ])('refuses %s', async (_, text) => {
    const { status, body } = await ask({ authorization: `Bearer ${await text()}` })
    expect(status).toBe(401)
    expect(body.errors[0].extensions.code).toBe('UNAUTHENTICATED')
  })

  it('refuses a field to a caller without the role, before anything is executed', async () => {
    const { status, body } = await ask({ authorization: `Bearer ${await token()}` }, '{ revision audit { revision } }')
    expect(status).toBe(403)
    expect(body).toEqual({
      errors: expect.arrayContaining([
        {
          message: 'Query.audit needs the role admin without a narrower scope',
          locations: [{ line: 1, column: 12 }],
          extensions: { code: 'FORBIDDEN' },
        },
      ]),
    })
  })

  it('answers Forbidden to a caller that lacks the permission', async () => {
    const mutation = 'mutation { forgetDeployments(input: { ids: [] }) { __typename ... on UserError { message } } }'
    const { body } = await ask({ authorization: `Bearer ${await token()}` }, mutation)
    expect(body.data.forgetDeployments).toEqual({
      __typename: 'Forbidden',
      message: expect.stringMatching(/needs the role operator/),
    })
  })

  it('refuses reads without a role', async () => {
    for (const roles of [['boss'], [['viewer']], { viewer: true }]) {
      const { body } = await ask({ authorization: `Bearer ${await token({ realm_access: { roles } })}` })
      expect(body.errors[0].extensions.code).toBe('FORBIDDEN')
    }
  })

  it('shows its metrics to viewers only, and its health to everyone', async () => {
    expect((await fetch(`${server.url}/metrics`)).status).toBe(401)
    const viewer = { authorization: `Bearer ${await token()}` }
    expect((await fetch(`${server.url}/metrics`, { headers: viewer })).status).toBe(200)
    for (const path of ['/healthz', '/readyz', '/'])
      expect((await fetch(`${server.url}${path}`)).status, path).toBe(200)
  })
})

describe('a server with API_AUTH=open,key', () => {
  it('is open to a caller without a credential, and refuses an unknown key', async () => {
    const server = await startApp({ env: { API_AUTH: 'open,key', API_ADMIN_KEY: adminKey } })
    const ask = (headers: Record<string, string>) =>
      fetch(`${server.url}/graphql?query={revision}`, { headers }).then(({ status }) => status)
    expect(await ask({})).toBe(200)
    expect(await ask({ 'x-api-key': adminKey })).toBe(200)
    expect(await ask({ 'x-api-key': 'another' })).toBe(401)
    await server.stop()
  })
})
