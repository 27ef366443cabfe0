/** `rollcall login` with a real issuer: a person confirms in a browser, and further commands use the session. */
import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { temporaryFolder } from '../support/folder.ts'
import { isWhole } from '../support/runner/depth.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'
import { type Child, startNode } from '../support/servers/child.ts'
import { createPerson, type Issuer, startIssuer } from '../support/systems/issuer.ts'

let issuer: Issuer
let server: RunningApp

beforeAll(async () => {
  issuer = await startIssuer({ groups: { ada: ['viewers'] } })
  server = await startApp({ env: issuer.env })
  issuer.serve(server.url)
  await server.post('/device/edge-1/deployment/shown/status', {
    deploymentId: 'shown',
    status: { state: 'installed' },
    components: [],
  })
})
afterAll(async () => {
  await server.stop()
  await issuer.stop()
})

function rollcallIn(folder: string, ...args: string[]): Child {
  return startNode(['src/apps/cli/rollcall.ts', '--url', server.url, ...args], { XDG_CONFIG_HOME: folder })
}

it('signs in by a code, uses the session, and signs out', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'rollcall/sessions.json')
  const before = rollcallIn(folder, 'counts')
  expect(await before.ended).toBe(77)

  const login = rollcallIn(folder, 'login')
  const address = (await login.said(/^Open /)).replace('Open ', '')
  expect(await login.said(/^and confirm the code [A-Z]{4}-[A-Z]{4}\./)).toContain(
    'Confirm no code that you did not ask for',
  )
  const confirmed = await createPerson('ada').open(address)
  expect(await confirmed.text()).toContain('Sign-in Success')
  expect(await login.said(/^Signed in as/)).toMatch(/^Signed in as ada\.name \(ada\) with the role viewer, until 20/)
  expect(await login.ended).toBe(0)
  expect(statSync(file).mode & 0o777).toBe(0o600)

  const counts = rollcallIn(folder, 'counts', '--json')
  expect(await counts.ended).toBe(0)
  const exported = startNode(['src/bin.ts', 'export', '--url', server.url, 'deployments'], {
    XDG_CONFIG_HOME: folder,
  })
  expect(await exported.ended).toBe(0)
  expect(exported.lines.join()).toContain('shown')

  // The session is a credential like others: with its rights, in no cookie, and in no log.
  const [{ token = '' } = {}] = Object.values(
    JSON.parse(readFileSync(file, 'utf8')) as Record<string, { token: string }>,
  )
  expect(token).toMatch(/^rollcall_session_/)
  const declare = 'mutation { declareDeployments(input: { deployments: [] }) { __typename } }'
  const answer = await server.post('/graphql', { query: declare }, { authorization: `Bearer ${token}` })
  expect(JSON.stringify(await answer.json())).toMatch(/Forbidden|FORBIDDEN/)
  expect(JSON.stringify(server.logged)).not.toContain(token)

  // A file that others can read is not used.
  chmodSync(file, 0o644)
  const readable = rollcallIn(folder, 'counts')
  expect([await readable.ended, readable.lines[0]]).toEqual([64, expect.stringContaining('others can read')])
  chmodSync(file, 0o600)

  const logout = rollcallIn(folder, 'logout')
  expect(await logout.said(/^Signed out/)).toContain(server.url)
  expect(await logout.ended).toBe(0)
  expect(existsSync(file) && readFileSync(file, 'utf8')).not.toContain(token)
  const over = await server.post('/graphql', { query: '{ revision }' }, { authorization: `Bearer ${token}` })
  expect(over.status).toBe(401)
})

it('says that a server has no sign-in for persons', async () => {
  const other = await startApp()
  try {
    const child = startNode(['src/apps/cli/rollcall.ts', '--url', other.url, 'login'])
    expect([await child.ended, child.lines[0]]).toEqual([1, expect.stringContaining('has no sign-in for persons')])
  } finally {
    await other.stop()
  }
})

it.runIf(isWhole)('accepts no handle of another server or kind', async () => {
  for (const handle of ['', 'forged', 'a'.repeat(2_000)]) {
    const response = await server.post('/session/oidc/device/token', { handle })
    expect(response.status).toBe(401)
  }
  expect((await server.post('/session/oidc/device/token', { handle: 1 })).status).toBe(400)
})
