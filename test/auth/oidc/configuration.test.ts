/** What OIDC sign-in is configured with, and what is loaded without it. */
import { writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readReturnTo } from '../../../src/api/auth/oidc/return-to.ts'
import { type RoleTable, rightsOf } from '../../../src/api/auth/oidc/rights.ts'
import { createSeal } from '../../../src/api/auth/oidc/seal.ts'
import { parseScopes } from '../../../src/domain/access-scope.ts'
import { roles } from '../../../src/domain/principal.ts'
import { ConfigError } from '../../../src/platform/config-error.ts'
import { parseConfig } from '../../../src/server/config/config.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { startChild } from '../../support/servers/child.ts'

const least = {
  OIDC_ISSUER: 'https://id.example/realms/plant',
  OIDC_CLIENT_ID: 'rollcall',
  OIDC_CLIENT_SECRET: 'a-client-secret-for-tests-only',
  OIDC_ROLES: '{"admins":"admin"}',
}

const [personal, contoso] = ['9188040d-6c67-4c5b-b112-36a304b66dad', '11111111-2222-3333-4444-555555555555']

function problemsOf(env: Record<string, string | undefined>): readonly string[] {
  try {
    parseConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

describe('the configuration of sign-in', () => {
  it('has defaults, and closes an API that would be open otherwise', () => {
    const { api, oidc } = parseConfig(least).auth
    expect(oidc).toEqual({
      issuer: 'https://id.example/realms/plant',
      tenants: null,
      name: 'id.example',
      clientId: 'rollcall',
      clientSecret: 'a-client-secret-for-tests-only',
      scopes: 'openid profile email',
      groupsClaim: 'groups',
      roles: [{ group: 'admins', role: 'admin', scopes: [] }],
      resource: null,
    })
    const publicUrl = { PUBLIC_URL: 'https://rollcall.example' }
    const resourceOf = (more: object) => parseConfig({ ...least, ...publicUrl, ...more }).auth.oidc?.resource
    expect(resourceOf({})).toBe('https://rollcall.example/mcp')
    expect(resourceOf({ MCP: 'false' })).toBeNull()
    expect(
      resourceOf({ API_AUTH: 'jwt', API_JWT_SECRET: 'x'.repeat(32), API_JWT_AUDIENCE: 'y', API_JWT_ISSUER: 'z' }),
    ).toBeNull()
    expect(api).toMatchObject({ methods: ['oidc'], oidcIssuer: least.OIDC_ISSUER })
    expect(parseConfig({ ...least, API_AUTH: 'key' }).auth.api.methods).toEqual(['key', 'oidc'])
    expect(parseConfig({}).auth).toMatchObject({ oidc: null, api: { methods: ['open'], oidcIssuer: null } })
  })

  it('takes each issuer of Entra ID', () => {
    const of = (issuer: string, tenants?: string) =>
      problemsOf({
        ...least,
        OIDC_ISSUER: `https://login.microsoftonline.com/${issuer}/v2.0`,
        ...(tenants !== undefined && { OIDC_TENANTS: tenants }),
      })
    const found = [of('consumers'), of(personal), of(contoso), of('common', personal), of('organizations', contoso)]
    expect(found.flat()).toEqual([])
  })

  it('is enough on a network, with PUBLIC_URL', () => {
    const onNetwork = { ...least, HOST: '0.0.0.0', DEVICE_AUTH: 'token' }
    expect(problemsOf({ ...onNetwork, PUBLIC_URL: 'https://rollcall.example' })).toEqual([])
    expect(problemsOf(onNetwork)).toEqual([expect.stringMatching(/^PUBLIC_URL is required by OIDC_ISSUER/)])
  })

  it('takes the roles from a file of YAML or JSON', () => {
    const folder = temporaryFolder()
    writeFileSync(`${folder}/roles.yaml`, 'line-3:\n  role: operator\n  scopes: ["label:line=3"]\n"*": viewer\n')
    expect(parseConfig({ ...least, OIDC_ROLES: `${folder}/roles.yaml` }).auth.oidc?.roles).toEqual([
      { group: 'line-3', role: 'operator', scopes: ['label:line=3'] },
      { group: '*', role: 'viewer', scopes: [] },
    ])
  })

  it.each([
    [{ OIDC_ISSUER: 'http://id.example' }, 'OIDC_ISSUER must be an https URL'],
    [{ OIDC_ISSUER: 'https://id.example/?a' }, 'OIDC_ISSUER must be an https URL'],
    [{ OIDC_ISSUER: 'id.example' }, 'OIDC_ISSUER must be an https URL'],
    [
      { OIDC_ISSUER: 'https://login.microsoftonline.com/common/v2.0' },
      'OIDC_TENANTS is required by OIDC_ISSUER, which signs in persons of every tenant',
    ],
    [
      { OIDC_ISSUER: 'https://login.microsoftonline.com/consumers/v2.0', OIDC_TENANTS: personal },
      'OIDC_TENANTS has no effect unless OIDC_ISSUER is',
    ],
    ...[
      { OIDC_ISSUER: 'https://login.microsoftonline.com/consumers/v2.0' },
      { OIDC_ISSUER: `https://login.microsoftonline.com/${personal}/v2.0` },
      { OIDC_ISSUER: 'https://login.microsoftonline.com/common/v2.0', OIDC_TENANTS: `${contoso},${personal}` },
    ].map((given): [Record<string, string>, string] => [
      { ...given, OIDC_ROLES: '{"*":"viewer"}' },
      'OIDC_ROLES has "*", which is every person with a Microsoft account here',
    ]),
    [{ OIDC_TENANTS: 'contoso' }, 'OIDC_TENANTS must be IDs of tenants of Entra ID'],
    [{ OIDC_TENANTS: '9188040d-6c67-4c5b-b112-36a304b66dad' }, 'OIDC_TENANTS has no effect unless OIDC_ISSUER is'],
    [{ OIDC_CLIENT_ID: undefined }, 'OIDC_CLIENT_ID is required by OIDC_ISSUER'],
    [{ OIDC_ROLES: undefined }, 'OIDC_ROLES is required by OIDC_ISSUER'],
    [{ OIDC_ISSUER: undefined }, 'OIDC_CLIENT_ID has no effect without OIDC_ISSUER'],
    [{ OIDC_CLIENT_SECRET: 'short' }, 'OIDC_CLIENT_SECRET must have at least 16 characters'],
    [{ OIDC_SCOPES: 'profile' }, 'OIDC_SCOPES must be scopes separated by spaces, with openid'],
    [{ OIDC_NAME: 'a'.repeat(101) }, 'OIDC_NAME must have at most 100 characters'],
    [{ OIDC_ROLES: '{' }, 'OIDC_ROLES is neither JSON nor YAML'],
    [{ OIDC_ROLES: '[]' }, 'OIDC_ROLES must be an object from groups to roles'],
    [{ OIDC_ROLES: '{}' }, 'OIDC_ROLES must name at least one group'],
    [{ OIDC_ROLES: '/no/such/file' }, 'OIDC_ROLES names a file that cannot be read (ENOENT)'],
    [{ OIDC_ROLES: '{"a":"owner"}' }, 'OIDC_ROLES at a: must be a role, or an object with role and scopes'],
    [
      { OIDC_ROLES: '{"a":{"role":"owner"}}' },
      'OIDC_ROLES at a.role: must be one of viewer, reporter, operator, admin',
    ],
    [{ OIDC_ROLES: '{"a":{"role":"viewer","scope":[]}}' }, 'OIDC_ROLES at a: must be a role'],
    [
      { OIDC_ROLES: '{"a":{"role":"viewer","scopes":["line-3"]}}' },
      'OIDC_ROLES at a.scopes.0: "line-3" is not a scope',
    ],
    [
      { OIDC_ROLES: JSON.stringify({ a: { role: 'viewer', scopes: Array(101).fill('project:a') } }) },
      'OIDC_ROLES must have at most 100 scopes, not 101',
    ],
  ])('is refused with %j', (change, problem) => {
    const problems = problemsOf({ ...least, ...change })
    expect(problems.join('\n')).toContain(problem)
    expect(problems.join('\n')).not.toContain(least.OIDC_CLIENT_SECRET)
  })
})

describe('the rights of a person', () => {
  const table: RoleTable = [
    { group: 'admins-of-alpha', role: 'admin', scopes: ['project:alpha'] },
    { group: 'line-1', role: 'viewer', scopes: ['label:line=1'] },
    { group: 'line-2', role: 'viewer', scopes: ['label:line=2'] },
    { group: 'beta', role: 'viewer', scopes: ['project:beta'] },
    { group: 'viewers', role: 'viewer', scopes: [] },
  ]

  it.each([
    [[], null],
    [['unknown'], null],
    [['viewers', 'admins-of-alpha'], { roles: ['admin'], scopes: ['project:alpha'] }],
    [['line-2', 'line-1'], { roles: ['viewer'], scopes: ['label:line=1', 'label:line=2'] }],
    [['beta', 'line-2'], { roles: ['viewer'], scopes: ['label:line=2'] }],
    [['line-1', 'viewers'], { roles: ['viewer'], scopes: [] }],
  ] as const)('with the groups %j are %j', (groups, rights) => {
    expect(rightsOf(groups, table)).toEqual(rights)
  })

  it('show nothing with a role that no group of the person gives', () => {
    const scopes = fc.uniqueArray(fc.constantFrom('project:a', 'project:b', 'label:x=1', 'label:x=2', 'none'))
    const grants = fc.uniqueArray(
      fc.record({ group: fc.constantFrom('a', 'b', 'c', 'd', '*'), role: fc.constantFrom(...roles), scopes }),
      { selector: ({ group }) => group },
    )
    /** Whether a device with the label in a rollout of the project is visible. */
    const shows = (given: readonly string[], label: string, project: string): boolean => {
      const scope = parseScopes(given)
      if (scope === null || typeof scope === 'string') return scope === null
      const { labels, projects } = scope
      return (
        (labels === null || labels.some(({ value }) => value === label)) &&
        (projects === null || projects.includes(project))
      )
    }
    fc.assert(
      fc.property(grants, fc.subarray(['a', 'b', 'c', 'd']), (given, groups) => {
        const held = given.filter(({ group }) => group === '*' || groups.some((one) => one === group))
        const rights = rightsOf(groups, given)
        expect(rights === null).toBe(held.length === 0)
        for (const label of ['1', '2'])
          for (const project of ['a', 'b']) {
            if (!rights || !shows(rights.scopes, label, project)) continue
            const allowing = held.filter((grant) => shows(grant.scopes, label, project))
            expect(allowing.map(({ role }) => role)).toContain(rights.roles[0])
          }
      }),
    )
  })
})

describe('an encrypted record', () => {
  it('is decrypted with the same secret and for the same purpose only', () => {
    const [one, same, other] = [createSeal('a secret'), createSeal('a secret'), createSeal('another')]
    const text = one.encrypt('login', { state: 'x' })
    expect(same.decrypt('login', text)).toEqual({ state: 'x' })
    expect([
      other.decrypt('login', text),
      same.decrypt('device', text),
      createSeal(null).decrypt('login', text),
    ]).toEqual([null, null, null])
    const bytes = Buffer.from(text, 'base64url')
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, by) => {
        const changed = Buffer.from(bytes)
        changed[at] = (changed[at] ?? 0) ^ by
        expect(one.decrypt('login', changed.toString('base64url'))).toBeNull()
      }),
    )
  })
})

it('returns to paths of this server only', () => {
  expect(['/', '/deployments?state=FAILED#/x', '/a/../b'].map(readReturnTo)).toEqual([
    '/',
    '/deployments?state=FAILED#/x',
    '/a/../b',
  ])
  const texts = fc.string({ unit: fc.constantFrom('/', '\\', '\t', '\n', ' ', '.', ':', '@', 'a', '?', '#', '%2f') })
  fc.assert(
    fc.property(texts, (text) => {
      const returnTo = readReturnTo(`/${text}`)
      if (returnTo !== null)
        expect(new URL(returnTo, 'https://rollcall.example').origin).toBe('https://rollcall.example')
    }),
    { numRuns: 2_000 },
  )
})

it.each([
  ['nothing', {}, 0],
  ['all', { ...least, OIDC_ISSUER: 'http://127.0.0.1:9' }, 1],
])('loads %s of openid-client with %j', async (_, env, expected) => {
  const child = startChild(`
    const seen = []
    const { registerHooks } = await import('node:module')
    registerHooks({ load: (url, context, next) => { seen.push(url); return next(url, context) } })
    const { createApp } = await import('./src/server/app.ts')
    const { parseConfig } = await import('./src/server/config/config.ts')
    const { openDatabase } = await import('./src/store/open.ts')
    const { createLog } = await import('./src/platform/log/log.ts')
    const config = parseConfig(${JSON.stringify({ PORT: '0', GIT: 'off', DATA_DIR: 'memory', LOG_LEVEL: 'silent', ...env })})
    const app = await createApp({ config, database: await openDatabase(config.store), log: createLog({ level: 'silent' }) })
    await app.listen()
    const own = seen.filter((url) => /openid-client|oauth4webapi|auth\\/oidc\\//.test(url))
    console.log('loaded', seen.length > 100, own.length)
    await app.close()
  `)
  const [, , count] = (await child.said(/^loaded true/)).split(' ')
  expect(Math.min(Number(count), 1)).toBe(expected)
  expect(await child.ended).toBe(0)
})
