/** The users of docs/operating.md: the owner of a database, and one who may use a schema and nothing more. All other tests run as a superuser. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../src/store/open.ts'
import { administer, urlOf } from '../support/databases/postgres-admin.ts'
import { postgresStores, postgresUrl } from '../support/databases/stores.ts'
import { root } from '../support/documentation.ts'
import { startApp } from '../support/servers/app.ts'

interface Duty {
  readonly name: string
  readonly lastSuccess: string | null
}

describe.each(postgresStores)('the owner of a database on $name', () => {
  const name = `rollcall_owner_${randomUUID().replaceAll('-', '')}`
  let url = ''
  beforeAll(async () => {
    const server = postgresUrl()
    await administer(server, async (sql) => {
      await sql.unsafe(`create user ${name} password 'secret'`)
      // PostgreSQL's default is ISO. A site may have another one.
      await sql.unsafe(`alter user ${name} set datestyle = 'German'`)
      // PostgreSQL's default begins with the schema of the user's name, if there is one.
      await sql.unsafe(`alter user ${name} set search_path = ${name}, public`)
      await sql.unsafe(`create database ${name} owner ${name}`)
    })
    await administer(urlOf(server, name), (sql) => sql.unsafe(`create schema ${name} authorization ${name}`))
    url = Object.assign(new URL(urlOf(server, name)), { username: name, password: 'secret' }).href
  })
  afterAll(() =>
    administer(postgresUrl(), async (sql) => {
      await sql.unsafe(`drop database ${name} with (force)`)
      await sql.unsafe(`drop user ${name}`)
    }),
  )

  it('may do all that a server does, in any style of dates and with any path of schemas', () => doAll(url))

  it('need not be the owner: a schema of the database is enough, with the rights that are documented', async () => {
    const user = `${name}_guest`
    const [, statements = expect.unreachable()] =
      /```sql\n([^`]*grant connect[^`]*)```/.exec(readFileSync(join(root, 'docs/operating.md'), 'utf8')) ?? []
    const renamed = statements.replace(/(user|to|authorization) rollcall/g, `$1 ${user}`).replace('plant', user)
    const as = (text: string) => administer(urlOf(postgresUrl(), user), (sql) => sql.unsafe(text))
    await administer(postgresUrl(), (sql) => sql.unsafe(`create database ${user}`))
    onTestFinished(() =>
      administer(postgresUrl(), async (sql) => {
        await sql.unsafe(`drop database ${user} with (force)`)
        await sql.unsafe(`drop user ${user}`)
      }),
    )
    await as(`revoke all on database ${user} from public; revoke all on schema public from public; ${renamed}`)
    const guest = Object.assign(new URL(urlOf(postgresUrl(), user)), { username: user, password: '…' }).href
    await expect(openDatabase({ url: guest, dataDir: 'memory' })).rejects.toThrow(
      'has no schema public that its user may use',
    )
    await doAll(`${guest}?options=-csearch_path%3Drollcall`)
  })

  async function doAll(given: string): Promise<void> {
    const config = { url: given, dataDir: 'memory' }
    const store = { config, open: () => openDatabase(config), drop: async () => {} }
    const server = await startApp({ on: store, env: { HISTORY_DAYS: '30', FORGET_REMOVED_DAYS: '30' } })
    try {
      const report = { deploymentId: 'd', status: { state: 'installed' }, components: [] }
      const before = Date.now()
      expect((await server.post('/device/e/deployment/d/status', report)).status).toBe(201)
      const { deployments } = await server.query('{ deployments { nodes { changedAt } } }')
      expect(Math.abs(Date.parse(deployments.nodes[0].changedAt) - before)).toBeLessThan(60_000)
      const done = async () => {
        const { duties } = await (await fetch(`${server.url}/readyz?verbose`)).json()
        return duties.flatMap(({ name, lastSuccess }: Duty) => (lastSuccess === null ? [] : name))
      }
      const all = ['alerts', 'forgetting', 'partitions', 'retention', 'silence', 'statistics', 'summaries']
      await expect.poll(done).toEqual(expect.arrayContaining(all))
    } finally {
      await server.stop()
    }
  }

  // A cluster that was made with the locale C has it.
  it('has to make another one if its encoding cannot store the text of reports', async () => {
    const ascii = `${name}_ascii`
    await administer(postgresUrl(), (sql) =>
      sql.unsafe(`create database ${ascii} owner ${name} encoding 'SQL_ASCII' locale 'C' template template0`),
    )
    onTestFinished(() => administer(postgresUrl(), (sql) => sql.unsafe(`drop database ${ascii} with (force)`)))
    const opening = openDatabase({ url: urlOf(url, ascii), dataDir: 'memory' })
    await expect(opening).rejects.toThrow('has the encoding SQL_ASCII, and must have UTF8')
  })

  it('gets the remedy when its tables cannot be in the schema public', async () => {
    const bare = `${name}_bare`
    await administer(postgresUrl(), (sql) => sql.unsafe(`create database ${bare} owner ${name}`))
    onTestFinished(() => administer(postgresUrl(), (sql) => sql.unsafe(`drop database ${bare} with (force)`)))
    await administer(urlOf(postgresUrl(), bare), (sql) => sql.unsafe('drop schema public'))
    const opening = openDatabase({ url: urlOf(url, bare), dataDir: 'memory' })
    await expect(opening).rejects.toThrow('has no schema public that its user may use: create it')
  })
})
