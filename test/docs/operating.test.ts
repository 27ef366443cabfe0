import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { describeOutage } from '../../src/store/connection/failure.ts'
import { findPostgres } from '../support/databases/postgres-server.ts'
import { pglite, postgresStores } from '../support/databases/stores.ts'
import { blocksOf, execute, hasCurl, readPage, root } from '../support/documentation.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startApp } from '../support/servers/app.ts'

const page = readPage('docs/operating.md')
/** The pages of an operator, in the order of their table in docs/operating.md. */
const pages = ['operating', 'upgrades', 'backup', 'standbys', 'tls', 'retention'].map((name) =>
  readPage(`docs/${name}.md`),
)

// Where there is neither PostgreSQL nor its programs there is nothing to back up with; .ci/run requires both.
describe.skipIf(!hasCurl).each(postgresStores)('the pages of an operator on $name', (store) => {
  it('do what they say: what is backed up and restored is a fleet again, in an epoch of its own', async () => {
    const [folder, live, restored] = [temporaryFolder(), await store.create(), await store.createBare()]
    const server = await startApp({ on: live })
    try {
      await server.post('/device/e/deployment/d/status', {
        deploymentId: 'd',
        status: { state: 'installed' },
        components: [],
      })
      const env = {
        DATABASE_URL: live.config.url ?? '',
        RESTORED_URL: restored.config.url ?? '',
        BACKUP: join(folder, 'rollcall.dump'),
        TLS_FOLDER: join(folder, 'tls'),
        MONITORING: folder,
        ADMIN_KEY: 'an-admin-key-for-tests-only',
        PATH: `${findPostgres() ?? ''}:${process.env.PATH}`,
      }
      await execute(pages.flatMap(blocksOf), { url: server.url, env })
      expect(readFileSync(join(folder, 'rollcall.key'), 'utf8')).toMatch(/^\S{20,}$/)
      const again = await startApp({ on: restored })
      const { deploymentCounts, revision } = await again.query('{ revision deploymentCounts { installed } }')
      await again.stop()
      expect(deploymentCounts).toEqual({ installed: 1 })
      const before = await server.query('{ revision }')
      expect(Number(revision)).toBeGreaterThan(Number(before.revision))
    } finally {
      await server.stop()
      await live.drop()
      await restored.drop()
    }
  })
})

describe('docs/operating.md', () => {
  it('names every file of deploy/monitoring and every metric of the fleet', async () => {
    for (const file of readdirSync(join(root, 'deploy/monitoring')).filter((name) => name !== 'rollcall.key'))
      expect([file, page.includes(`\`${file}\``)]).toEqual([file, true])
  })

  it('says what to do for each alert that is shipped, and for no other', () => {
    const [, table = ''] = /^## When an alert fires$(.*?)^Look at these/ms.exec(page) ?? []
    const named = [...table.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, names = '']) => [...names.matchAll(/`(\w+)`/g)])
    const shipped = ['operating', 'fleet'].flatMap((name) =>
      [...readPage(`deploy/monitoring/${name}.rules.yml`).matchAll(/- alert: (\w+)/g)].map(([, alert]) => alert),
    )
    expect(shipped.length).toBeGreaterThan(15)
    expect(named.map(([, name]) => name).toSorted()).toEqual(shipped.toSorted())
  })

  it('says what to do for each reason why a server is not ready', () => {
    const [, table = ''] = /^### The database fails$(.*?)^## /ms.exec(page) ?? []
    const states = ['08006', '25006', '53100', '53200', '53300', '58030', '57014']
    const reasons = states.map((code) => describeOutage(Object.assign(new Error(), { code })))
    expect(new Set(reasons).size).toBe(states.length)
    const written = [...readPage('src/api/rest/health.ts').matchAll(/'(the database [^']+)'/g)].map(
      ([, text = '']) => text,
    )
    expect(written.length).toBeGreaterThan(2)
    for (const reason of [...reasons, ...written])
      expect([reason, table.includes(`\`${reason}`)]).toEqual([reason, true])
  })

  it('has each background duty in a table', async () => {
    const env = { HISTORY_DAYS: '30', FORGET_REMOVED_DAYS: '30' }
    const namesIn = (cell: string): readonly string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
    const [, health = ''] = /^## Health$(.*?)^## /ms.exec(page) ?? []
    const documented = [...health.matchAll(/^\| (`[^|]+)\|[^|]+\|([^|]*)\|$/gm)]
      .filter(([, , variables = '']) => namesIn(variables).every((name) => name in env))
      .flatMap(([, duties = '']) => namesIn(duties))
    // It has all of them, and PostgreSQL makes its own checkpoints.
    const server = await startApp({ store: pglite, env })
    onTestFinished(() => server.stop())
    const shown = async () => {
      const { duties } = await (await fetch(`${server.url}/readyz?verbose`)).json()
      return duties.map(({ name }: { readonly name: string }) => name).toSorted()
    }
    await expect.poll(shown).toEqual(documented.toSorted())
  })

  it('has each metric in a table, and names no other', async () => {
    const server = await startApp()
    const printed = await (await fetch(`${server.url}/metrics`)).text()
    await server.stop()
    const namesOf = (text: string, line: RegExp) => [...text.matchAll(line)].map(([, name]) => name).toSorted()
    const [, monitoring = ''] = /^## Monitoring$(.*?)^## /ms.exec(page) ?? []
    expect(namesOf(monitoring, /^\| `(rollcall_\w+)` \|/gm)).toEqual(namesOf(printed, /^# TYPE (rollcall_\w+)/gm))
    for (const [name = ''] of pages.join('\n').matchAll(/rollcall_[a-z_]+/g))
      expect([name, printed.includes(name.replace(/_bucket$/, ''))]).toEqual([name, true])
  })
})

describe('deploy/', () => {
  const compose = parse(readPage('deploy/compose.yaml'), { merge: true })
  const dockerfile = readPage('deploy/Dockerfile')
  const variables = [...readPage('docs/configuration.md').matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name)

  it('sets only variables that there are', () => {
    const set = [
      ...Object.keys(compose['x-rollcall'].environment),
      ...[...(/^ENV (.*)$/m.exec(dockerfile)?.[1] ?? '').matchAll(/([A-Z_]+)=/g)].map(([, name]) => name),
    ]
    expect(set.length).toBeGreaterThan(5)
    expect(set.filter((name) => name !== 'NODE_ENV' && !variables.includes(name))).toEqual([])
  })

  it('copies what the server needs, on the Node that the tests run on', () => {
    const copied = [...dockerfile.matchAll(/^COPY ([^-].+) \S+$/gm)].flatMap(([, names = '']) => names.split(' '))
    for (const name of copied) expect([name, existsSync(join(root, name))]).toEqual([name, true])
    const ignored = readFileSync(join(root, '.dockerignore'), 'utf8')
    for (const name of copied) expect(ignored).toContain(`!${name}`)
    const { devDependencies } = JSON.parse(readPage('package.json'))
    expect(dockerfile).toContain(`ARG NODE_IMAGE=node:${devDependencies.node.split('.')[0]}-slim\n\nFROM `)
    // The server starts with what is installed without what only tests need. Frontends install the libraries that adapters of the client stand on.
    const { dependencies } = JSON.parse(readPage('package.json'))
    const inSource = ['-rhoE', '--exclude-dir=dashboard', '--exclude-dir=client', "from '[^.][^']*'", join(root, 'src')]
    const imported = execFileSync('grep', inSource, { encoding: 'utf8' })
    const packages = new Set(
      [...imported.matchAll(/from '((?:@[^/']+\/)?[^/']+)/g)]
        .map(([, name = '']) => name)
        .filter((name) => !name.startsWith('node:')),
    )
    expect([...packages].filter((name) => !(name in dependencies)).toSorted()).toEqual(onlyForDevelopers)
  })

  it('has two servers on one PostgreSQL, behind a balancer that knows both', () => {
    const { services } = compose
    const servers = Object.keys(services).filter((name) => name.startsWith('rollcall'))
    expect(servers).toHaveLength(2)
    const balancer = readPage('deploy/nginx.conf')
    for (const name of servers) expect(balancer).toContain(`server ${name}:4000`)
    expect(compose['x-rollcall'].environment.DATABASE_URL).toContain(':-postgres}:5432/rollcall')
  })
})

/** Print the dashboard's types before anything is shipped, and bundle the dashboard in a checkout: the package has the bundle. */
const onlyForDevelopers: readonly string[] = ['@gql.tada/internal', 'esbuild']
