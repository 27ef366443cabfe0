/** Who may clone what a device should run beside the device with its token: people with keys to the API, devices that sign. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { lastHeard, registerAll, revoke } from '../../auth/devices/devices.ts'
import { digestOf, newKey, type SigningOptions, signed } from '../../auth/devices/signing.ts'
import { contentsAt } from '../../git/harness.ts'
import { declare, documentOf } from '../../support/clients/desired.ts'
import { as, clone, git, gitFails, hasGit, whyNoGit } from '../../support/clients/git-client.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

const adminKey = 'the-first-key-of-the-tests'
const createKey = `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) {
  ... on CreateApiKeySuccess { key apiKey { id } } ... on UserError { message } } }`

const cloneOf = async (url: string): Promise<Record<string, string>> => contentsAt(await clone(url))

describe.skipIf(!hasGit)(hasGit ? 'a repository' : `a repository: skipped, ${whyNoGit}`, () => {
  let server: RunningApp
  let token = ''
  const content = documentOf('a')
  const at = (device: string): string => `${server.url}/git/${encodeURIComponent(device)}.git`
  beforeAll(async () => {
    server = await startApp({
      env: { GIT: 'git', DEVICE_AUTH: 'token', API_AUTH: 'open,key', API_ADMIN_KEY: adminKey },
    })
    ;[token = ''] = await registerAll(server, [{ deviceId: 'one' }, { deviceId: 'gone' }])
    await declare(server, [
      { deviceId: 'one', deploymentId: 'a', document: content },
      { deviceId: 'gate/child', deploymentId: 'b', document: documentOf('b') },
    ])
    await revoke(server, 'gone')
  })
  afterAll(() => server.stop())

  async function keyOf(role: string, scopes: readonly string[] = []): Promise<{ key: string; id: string }> {
    const input = { name: `${role} ${scopes}`, roles: [role], scopes }
    const { createApiKey } = await server.query(createKey, { input })
    return { key: createApiKey.key, id: createApiKey.apiKey.id }
  }

  it('is a sign of life of its device when that clones it, and of no device when others do', async () => {
    const { key } = await keyOf('OPERATOR')
    expect(await cloneOf(as(at('gate'), key))).toHaveProperty('b')
    expect(await cloneOf(as(at('one'), token))).toEqual({ a: content })
    // Written together, or one after the other.
    await expect.poll(() => lastHeard(server, 'one')).not.toBeNull()
    expect(await lastHeard(server, 'gate')).toBeNull()
  })

  it('is shown to callers that may read documents: with the key as a password, or as a bearer', async () => {
    for (const key of [(await keyOf('OPERATOR')).key, (await keyOf('ADMIN')).key, adminKey]) {
      expect(await cloneOf(as(at('one'), key))).toEqual({ a: content })
      const bearer = ['-c', `http.extraHeader=Authorization: Bearer ${key}`]
      expect(await git(temporaryFolder(), ...bearer, 'ls-remote', at('one'))).toContain('refs/heads/main')
    }
  })

  it('is not shown to other callers, and no caller can change it', async () => {
    const folder = temporaryFolder()
    for (const { key } of [await keyOf('VIEWER'), await keyOf('REPORTER'), await keyOf('OPERATOR', ['project:p'])])
      expect(await gitFails(folder, 'clone', as(at('one'), key))).toContain(
        'this needs the role operator without a narrower scope',
      )
    const { key, id } = await keyOf('OPERATOR')
    expect(await gitFails(folder, 'clone', as(at('gate/child'), key))).toContain('is in the manifest of gate')
    expect(await gitFails(folder, 'clone', as(at('unknown'), key))).toContain('there is no device unknown')
    expect(await gitFails(folder, 'clone', as(at('gone'), key))).toContain('device gone has been revoked')
    await git(folder, 'clone', '-q', as(at('one'), key), 'clone')
    expect(await gitFails(`${folder}/clone`, 'push', 'origin', 'main')).toContain('this repository is read only')
    await server.query('mutation ($id: ID!) { revokeApiKey(input: { id: $id }) { __typename } }', { id })
    expect(await gitFails(`${folder}/clone`, 'fetch')).toContain('Authentication failed')
  })

  it('is refused to a key that is none, once each time, as everywhere in the API', async () => {
    const guessed = `rollcall_key_${'x'.repeat(43)}`
    expect(await gitFails(temporaryFolder(), 'clone', as(at('one'), guessed))).toContain('Authentication failed')
    const response = await fetch(`${at('one')}/info/refs?service=git-upload-pack`, {
      headers: { authorization: `Bearer ${guessed}` },
    })
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Basic realm="rollcall"'])
    const asked = '{ auditLog(filter: { kinds: [REFUSED] }) { nodes { action outcome } } }'
    await expect
      .poll(async () => (await server.query(asked)).auditLog.nodes)
      .toContainEqual({ action: 'the API', outcome: expect.stringContaining('the key is refused') })
  })

  it('is not shown to everyone because the API is open, nor to a key where keys are not taken', async () => {
    const open = await startApp({ env: { GIT: 'git', DEVICE_AUTH: 'token', API_AUTH: 'open' } })
    onTestFinished(() => open.stop())
    await registerAll(open, [{ deviceId: 'one' }])
    const { key } = await keyOf('OPERATOR')
    expect(await gitFails(temporaryFolder(), 'clone', as(`${open.url}/git/one.git`, key))).toContain(
      'Authentication failed',
    )
    expect(await gitFails(temporaryFolder(), 'clone', `${open.url}/git/one.git`)).toContain('could not read Username')
  })
})

describe.skipIf(!hasGit)('a repository of a device that signs', () => {
  const key = newKey.ed25519()
  const listing = '0014command=ls-refs\n0000'
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ env: { GIT: 'git', DEVICE_AUTH: 'signature', API_AUTH: 'open' } })
    await registerAll(server, [{ deviceId: 'press', publicKeys: [key.publicKey] }, { deviceId: 'other' }])
  })
  afterAll(() => server.stop())

  async function ask(device: string, body: string | null, options: Partial<SigningOptions> = {}): Promise<Response> {
    const method = body === null ? 'GET' : 'POST'
    const service = body === null ? 'info/refs?service=git-upload-pack' : 'git-upload-pack'
    const url = `${server.url}/git/${device}.git/${service}`
    const unsigned = { 'git-protocol': 'version=2', 'content-type': 'application/x-git-upload-pack-request' }
    const components = ['@method', '@target-uri', ...(body === null ? [] : ['content-digest'])]
    const digest = body === null ? null : digestOf(body)
    const headers = signed(key, { url, method, body: body ?? '', components, digest, ...options })
    return fetch(url, { method, headers: { ...unsigned, ...headers }, ...(body !== null && { body }) })
  }

  it('is shown to a device that signs its requests: its own and no other', async () => {
    const refs = await ask('press', null)
    expect([refs.status, await refs.text()]).toEqual([200, expect.stringContaining('version 2')])
    const listed = await ask('press', listing)
    expect([listed.status, await listed.text()]).toEqual([200, expect.stringContaining('refs/heads/main')])
    await expect.poll(() => lastHeard(server, 'press')).not.toBeNull()
    for (const body of [null, listing]) expect((await ask('other', body)).status).toBe(403)
  })

  it('is refused where the signature is of something else', async () => {
    expect((await ask('press', listing, { digest: null })).status).toBe(400)
    expect((await ask('press', listing, { digest: digestOf('0000') })).status).toBe(400)
    expect((await ask('press', listing, { components: ['@method', '@target-uri'] })).status).toBe(401)
    expect((await ask('press', listing, { url: `${server.url}/git/other.git/git-upload-pack` })).status).toBe(401)
  })

  it('opens to Git’s own client, which cannot sign, with the token that onboarding gave', async () => {
    const url = `${server.url}/api/v1/onboarding`
    const onboarded = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...signed(key, { url, body: '{}' }) },
      body: '{}',
    })
    const { repository } = (await onboarded.json()) as { repository: { url: string; token: string } }
    const at = `${server.url}${repository.url}`
    expect(await cloneOf(as(at, repository.token))).toEqual({})
    const bearer = ['-c', `http.extraHeader=Authorization: Bearer ${repository.token}`]
    expect(await git(temporaryFolder(), ...bearer, 'ls-remote', at)).toContain('refs/heads/main')
    const folder = temporaryFolder()
    expect(await gitFails(folder, 'clone', as(`${server.url}/git/other.git`, repository.token))).toContain(
      'the credential is that of press',
    )
    const guess = `${repository.token.slice(0, -8)}AAAAAAAA`
    expect(await gitFails(folder, 'clone', as(at, guess))).toContain('Authentication failed')
    expect(await gitFails(folder, 'clone', at)).toMatch(/could not read Username|terminal prompts disabled/)
    const body = { deploymentId: 'd', status: { state: 'installed' }, components: [] }
    const authorization = `Bearer ${repository.token}`
    expect((await server.post('/device/press/deployment/d/status', body, { authorization })).status).toBe(401)
  })
})
