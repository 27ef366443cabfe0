/** The user and the database of docs/operating.md: the user owns the database, and nothing more. All other tests run as a superuser. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../src/store/open.ts'
import { administer, urlOf } from '../support/databases/postgres-admin.ts'
import { postgresStores, postgresUrl } from '../support/databases/stores.ts'
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

  it('may do all that a server does, in any style of dates and with any path of schemas', async () => {
    const config = { url, dataDir: 'memory' }
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
  })

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
    const elsewhere = openDatabase({ url: `${url}?search_path=${name}`, dataDir: 'memory' })
    await expect(elsewhere).rejects.toThrow(
      `DATABASE_URL sets search_path to the schema ${name}, and the tables are in public: leave search_path out`,
    )
    const bare = `${name}_bare`
    await administer(postgresUrl(), (sql) => sql.unsafe(`create database ${bare} owner ${name}`))
    onTestFinished(() => administer(postgresUrl(), (sql) => sql.unsafe(`drop database ${bare} with (force)`)))
    await administer(urlOf(postgresUrl(), bare), (sql) => sql.unsafe('drop schema public'))
    const opening = openDatabase({ url: urlOf(url, bare), dataDir: 'memory' })
    await expect(opening).rejects.toThrow('has no schema public that its user may use: create it')
  })
})
