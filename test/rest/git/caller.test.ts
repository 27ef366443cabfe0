/** Which device may clone which repository of desired state: with the real Git client, and what a refusal says. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createCertificates } from '../../auth/devices/certificates.ts'
import { registerAll, revoke } from '../../auth/devices/devices.ts'
import { contentsAt } from '../../git/harness.ts'
import { declare, documentOf } from '../../support/clients/desired.ts'
import { as, clone, git, gitFails, hasGit, whyNoGit } from '../../support/clients/git-client.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { type RunningApp, startApp } from '../../support/servers/app.ts'

describe.skipIf(!hasGit)(hasGit ? 'whose repository it is' : `whose it is: skipped, ${whyNoGit}`, () => {
  let server: RunningApp
  let tokens: readonly string[]
  beforeAll(async () => {
    server = await startApp({ env: { GIT: 'git', DEVICE_AUTH: 'token' } })
    tokens = await registerAll(server, [{ deviceId: 'one' }, { deviceId: 'two' }, { deviceId: 'gone' }])
    await declare(server, [{ deviceId: 'one', deploymentId: 'a', document: documentOf('a') }])
  })
  afterAll(() => server.stop())
  const refused = () => server.logged.filter(({ msg }) => String(msg).startsWith('refused'))

  it('is shown by the token: as a password of any user, or as a bearer', async () => {
    const [token = ''] = tokens
    const url = `${server.url}/git/one.git`
    for (const user of ['x', 'one', 'oauth2'])
      expect(await contentsAt(await clone(as(url, token, user)))).toHaveProperty('a')
    const bearer = ['-c', `http.extraHeader=Authorization: Bearer ${token}`]
    expect(await git(temporaryFolder(), ...bearer, 'ls-remote', url)).toContain('refs/heads/main')
    // Clients show nothing until they are asked: that is no attempt.
    expect(refused()).toEqual([])
  })

  it('is asked for', async () => {
    const said = await gitFails(temporaryFolder(), 'clone', `${server.url}/git/one.git`)
    expect(said).toMatch(/could not read Username|terminal prompts disabled/)
    const response = await fetch(`${server.url}/git/one.git/info/refs?service=git-upload-pack`)
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Basic realm="rollcall"'])
    const post = await fetch(`${server.url}/git/one.git/git-upload-pack`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-git-upload-pack-request' },
      body: '0000',
    })
    expect([post.status, post.headers.get('www-authenticate')]).toEqual([401, 'Basic realm="rollcall"'])
    expect(refused()).toEqual([])
  })

  it('is not another device, nor a guess, nor one that was revoked', async () => {
    const [, other = '', gone = ''] = tokens
    const url = `${server.url}/git/one.git`
    expect(await gitFails(temporaryFolder(), 'clone', as(url, other))).toContain(
      'the credential is that of two: it cannot read the desired state of one',
    )
    expect(await gitFails(temporaryFolder(), 'clone', as(url, 'a-guess'))).toContain('Authentication failed')
    expect(await gitFails(temporaryFolder(), 'clone', as(url, 'not%20a%20token'))).toContain('Authentication failed')
    await revoke(server, 'gone')
    expect(await gitFails(temporaryFolder(), 'clone', as(`${server.url}/git/gone.git`, gone))).toContain(
      'has been revoked',
    )
    // Also where only a body is sent, which no client does without having asked.
    const post = await fetch(`${url}/git-upload-pack`, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-git-upload-pack-request',
        authorization: `Basic ${Buffer.from(`x:${other}`).toString('base64')}`,
      },
      body: '0000',
    })
    expect(post.status).toBe(403)
    expect(refused().map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(['not-its-own', 'unknown', 'malformed', 'revoked']),
    )
  })

  it('is not shown by a password anywhere else', async () => {
    const [token = ''] = tokens
    const authorization = `Basic ${Buffer.from(`x:${token}`).toString('base64')}`
    const body = { deploymentId: 'a', status: { state: 'installed' }, components: [] }
    const response = await server.post('/device/one/deployment/a/status', body, { authorization })
    expect(response.status).toBe(401)
  })
})

describe.skipIf(!hasGit)('a client certificate', () => {
  it('shows whose repository it is', async () => {
    const certificates = await createCertificates()
    onTestFinished(() => certificates.remove())
    const fleet = await certificates.authority('the fleet')
    const { files } = await fleet.issue('rollcall', { names: 'IP:127.0.0.1' })
    const server = await startApp({
      env: {
        GIT: 'git',
        DEVICE_AUTH: 'mtls',
        DEVICE_PROVISION: 'true',
        SPIFFE_TRUST_DOMAIN: 'fleet.example',
        TLS_CERT: files.cert,
        TLS_KEY: files.key,
        TLS_CLIENT_CA: fleet.files.cert,
      },
    })
    onTestFinished(() => server.stop())
    const names = (device: string) => `URI:spiffe://fleet.example/margo/wfm/1/client/${device}`
    const own = (await fleet.issue('press', { names: names('press') })).files
    const trusting = ['-c', `http.sslCAInfo=${fleet.files.cert}`]
    const showing = [...trusting, '-c', `http.sslCert=${own.cert}`, '-c', `http.sslKey=${own.key}`]
    expect(await contentsAt(await clone(`${server.url}/git/press.git`, ...showing))).toEqual({})
    const folder = temporaryFolder()
    const other = `${server.url}/git/other.git`
    expect(await gitFails(folder, ...showing, 'clone', other)).toContain('the credential is that of press')
    expect(await gitFails(folder, ...trusting, 'clone', other)).toContain('send a client certificate')
  })
})
