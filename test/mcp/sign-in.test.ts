/** An assistant's client that signs its person in with the issuer of the sign-in: its access tokens are for /mcp only. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Issuer, startIssuer } from '../support/systems/issuer.ts'

const publicUrl = 'https://rollcall.example'
const resource = `${publicUrl}/mcp`
const adminKey = 'an-admin-key-for-tests-only'
const ask = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } })
const types = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' }

describe('an access token of the issuer that persons sign in with', () => {
  let issuer: Issuer
  let server: RunningApp
  beforeAll(async () => {
    issuer = await startIssuer()
    const env = { ...issuer.env, PUBLIC_URL: publicUrl, API_AUTH: 'key', API_ADMIN_KEY: adminKey }
    server = await startApp({ env })
    issuer.serve(server.url)
    const input = { rollout: { name: 'beta', project: 'beta' }, deployments: [{ deploymentId: 'b', deviceId: 'b' }] }
    const query = 'mutation ($input: DeclareDeploymentsInput!) { declareDeployments(input: $input) { __typename } }'
    const made = await server.post('/graphql', { query, variables: { input } }, { authorization: `Bearer ${adminKey}` })
    expect(await made.json()).toMatchObject({
      data: { declareDeployments: { __typename: 'DeclareDeploymentsSuccess' } },
    })
  })
  afterAll(async () => {
    await server.stop()
    await issuer.stop()
  })

  const now = () => Math.floor(Date.now() / 1_000)
  const tokenFor = (groups: readonly string[], more: object = {}) =>
    issuer.sign({ iss: issuer.url, sub: 'ada', aud: resource, groups, iat: now(), exp: now() + 600, ...more }, 'at+jwt')
  const asked = (path: string, body: object, token: string) =>
    server.post(path, body, { ...types, authorization: `Bearer ${token}` })
  const total = async (token: string) => {
    const text = await (await asked('/mcp', ask('what_is_wrong'), token)).text()
    return JSON.parse(/^data: (.*"result".*)$/m.exec(text)?.[1] ?? text).result.structuredContent.counts.total
  }

  it('is what a client is sent for, and has the rights of its groups', async () => {
    const refused = await server.post('/mcp', ask('what_is_wrong'), types)
    expect(refused.status).toBe(401)
    const described = `/.well-known/oauth-protected-resource/mcp`
    expect(refused.headers.get('www-authenticate')).toBe(`Bearer resource_metadata="${publicUrl}${described}"`)
    expect(await (await fetch(`${server.url}${described}`)).json()).toMatchObject({
      ...{ resource, authorization_servers: [issuer.url] },
    })
    expect(await total(await tokenFor(['viewers']))).toBe(1)
    expect(await total(await tokenFor(['alpha']))).toBe(0)
    expect(await total(adminKey)).toBe(1)
  })

  it.each<[string, object, number]>([
    ['of a person without a role', { groups: ['others'] }, 403],
    ['for another service', { aud: 'https://other.example/mcp' }, 401],
    ['of another issuer', { iss: 'https://other.example' }, 401],
    ['that has expired', { exp: 1 }, 401],
    ['without an end', { exp: undefined }, 401],
    ['without a subject', { sub: undefined }, 401],
    ['that is issued tomorrow', { iat: now() + 86_400 }, 401],
  ])('%s is refused', async (_, more, status) => {
    expect((await asked('/mcp', ask('what_is_wrong'), await tokenFor(['viewers'], more))).status).toBe(status)
  })

  it('is refused as an ID token, and elsewhere', async () => {
    const idToken = await tokenFor(['viewers'], { aud: issuer.clientId })
    expect((await asked('/mcp', ask('what_is_wrong'), idToken)).status).toBe(401)
    expect((await asked('/graphql', { query: '{ revision }' }, await tokenFor(['viewers']))).status).toBe(401)
  })
})
