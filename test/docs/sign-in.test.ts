/** docs/sign-in.md: its configuration, its table of roles, its commands and its routes work with a real issuer. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { rightsOf } from '../../src/api/auth/oidc/rights.ts'
import { parseConfig } from '../../src/server/config/config.ts'
import { blocksOf, execute, hasCurl, openStream, readPage } from '../support/documentation.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startApp } from '../support/servers/app.ts'
import { createPerson, startIssuer } from '../support/systems/issuer.ts'

const page = readPage('docs/sign-in.md')
const blocks = blocksOf(page)
const settingsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map((line) => line.split('=', 2)),
  )
const blockOf = (language: string): string => blocks.find((block) => block.language === language)?.text ?? ''

it.skipIf(!hasCurl)('configures a server, signs persons in, and has the routes that the page names', async () => {
  const folder = temporaryFolder()
  const given = settingsOf(blockOf('env'))
  const roles = join(folder, 'roles.yaml')
  writeFileSync(roles, blockOf('yaml'))
  expect(given.OIDC_ROLES).toMatch(/roles\.yaml$/)
  const config = parseConfig({ ...given, OIDC_ROLES: roles })
  expect(config.auth.oidc?.issuer).toBe('https://id.example/realms/plant')

  const issuer = await startIssuer({ clientSecret: given.OIDC_CLIENT_SECRET ?? null, groups: { ada: ['line-3'] } })
  const server = await startApp({ env: { ...issuer.env, OIDC_ROLES: roles, OIDC_NAME: 'id.example' } })
  onTestFinished(async () => {
    await server.stop()
    await issuer.stop()
  })
  issuer.serve(server.url)

  const known = blocks.map(({ language, text }) => ({
    language,
    text: text.replaceAll('https://id.example/realms/plant', issuer.url),
  }))
  const isLogin = (command: string) => command.includes(' login')
  await execute(
    known.filter(({ language }) => language !== 'env' && language !== 'yaml'),
    { url: server.url, skip: isLogin },
  )

  const ada = createPerson('ada')
  expect((await ada.open(`${server.url}/session/oidc/login`)).status).toBe(302)
  expect(await (await ada.send(`${server.url}/session`)).json()).toMatchObject({
    name: expect.stringContaining('(ada)'),
    roles: ['operator'],
    scopes: ['label:line=3'],
  })

  const routes = [...page.matchAll(/`(GET|POST|DELETE) (\/session[\w/]*)(?:\?[^`]*)?`/g)]
  expect(routes.length).toBe(10)
  for (const [, method = '', path = ''] of routes)
    expect([path, (await fetch(`${server.url}${path}`, { method, redirect: 'manual' })).status]).not.toEqual([
      path,
      404,
    ])
  for (const name of ['redirect URI', 'URI after a logout', 'back-channel logout URI']) expect(page).toContain(name)

  const login = blocks.find(({ text }) => isLogin(text))?.text.trim() ?? ''
  const command = login.replaceAll('http://127.0.0.1:4000', server.url)
  // What it says goes to stderr.
  const stream = openStream(`env XDG_CONFIG_HOME=${folder} ${command} 2>&1`)
  const lines: string[] = []
  stream.child.stdout?.on('data', (chunk: string) => lines.push(chunk))
  const address = () => /Open (\S+)/.exec(lines.join(''))?.[1]
  await expect.poll(address).toBeDefined()
  await createPerson('ada').open(address() ?? '')
  await expect.poll(() => lines.join('')).toContain('Signed in as ada.name (ada)')
})

it('configures an issuer of several tenants, and not without their list', () => {
  const given = settingsOf(blocks.find(({ text }) => text.includes('OIDC_TENANTS'))?.text ?? '')
  const whole: Record<string, string> = { ...given, OIDC_CLIENT_ID: 'rollcall', OIDC_ROLES: '{"*":"viewer"}' }
  expect(parseConfig(whole).auth.oidc?.tenants).toHaveLength(2)
  const { OIDC_TENANTS: _, ...without } = whole
  expect(() => parseConfig(without)).toThrow('OIDC_TENANTS is required')
})

it('gives the rights that the page describes', () => {
  const table = parseConfig({
    OIDC_ISSUER: 'https://id.example',
    OIDC_CLIENT_ID: 'rollcall',
    OIDC_ROLES: JSON.stringify({ a: 'viewer', b: { role: 'viewer', scopes: ['project:b'] } }),
  }).auth.oidc?.roles
  expect(page).toContain('If one of them has no scopes, the person sees the whole fleet.')
  expect(rightsOf(['a', 'b'], table ?? [])).toEqual({ roles: ['viewer'], scopes: [] })
  expect(page).toContain('`admin`, `operator`, `reporter`, `viewer`')
})
