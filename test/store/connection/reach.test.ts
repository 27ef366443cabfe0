/** The ways in which operators name a PostgreSQL, each with a real one; and what is said where it does not work. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openConnection } from '../../../src/store/connection/connection.ts'
import { createTarget, type DatabaseAddress } from '../../../src/store/connection/target/target.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { type Authority, createCertificates } from '../../auth/devices/certificates.ts'
import { administer } from '../../support/databases/postgres-admin.ts'
import { findPostgres, type PostgresServer, startPostgres } from '../../support/databases/postgres-server.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { freePort } from '../../support/servers/ports.ts'

const rules = [
  'local all all trust',
  'hostssl all certified all cert',
  'hostssl all encrypted all trust',
  'host all secret all scram-sha-256',
  'host all postgres all trust',
  'host replication postgres all trust',
]

/** A PostgreSQL that says something else. Returns its port. */
async function standBefore(port: number, change: (said: Buffer) => Buffer): Promise<string> {
  const server = createServer((client) => {
    const database = connect(port, '127.0.0.1')
    client.pipe(database)
    database.on('data', (said: Buffer) => client.write(change(said)))
    for (const [one, other] of [
      [client, database],
      [database, client],
    ] as const)
      one.on('error', () => {}).on('close', () => other.destroy())
  })
  await once(server.listen(0), 'listening')
  onTestFinished(() => void server.close())
  return String((server.address() as AddressInfo).port)
}

describe.skipIf(!findPostgres())('a PostgreSQL', () => {
  let server: PostgresServer
  let authority: Authority
  let folder = ''
  let port = ''
  beforeAll(async () => {
    const certificates = await createCertificates()
    authority = await certificates.authority('the plant')
    folder = mkdtempSync(join(tmpdir(), 'rollcall-reach-'))
    const { files } = await authority.issue('database', { names: 'DNS:localhost' })
    const client = await authority.issue('certified')
    for (const [from, to] of [
      [files.cert, 'server.pem'],
      [files.key, 'server.key'],
      [authority.files.cert, 'ca.pem'],
      [client.files.cert, 'client.pem'],
      [client.files.key, 'client.key'],
    ] as const)
      copyFileSync(from, join(folder, to))
    writeFileSync(join(folder, 'hba'), rules.join('\n'))
    execFileSync('chmod', ['-R', 'go-w,a+X', folder])
    // PostgreSQL refuses a key that others may read.
    execFileSync('chmod', ['600', join(folder, 'server.key')])
    if (process.getuid?.() === 0) execFileSync('chown', ['-R', 'postgres', folder])
    const of = (name: string) => join(folder, name)
    server = await startPostgres({
      settings: [
        'ssl=on',
        `ssl_cert_file=${of('server.pem')}`,
        `ssl_key_file=${of('server.key')}`,
        `ssl_ca_file=${of('ca.pem')}`,
        `hba_file=${of('hba')}`,
      ],
    })
    await administer(server.url, (sql) =>
      sql.unsafe(
        `create user certified; create user encrypted; create user outsider; create user secret password 'it''s: 1'`,
      ),
    )
    port = new URL(server.url).port
    await certificates.remove()
  }, 60_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  afterAll(() => server.dispose())

  interface Seen {
    readonly tls: boolean
    readonly by: string
    readonly path: string
  }

  async function look(given: DatabaseAddress | string): Promise<Seen | undefined> {
    const connection = openConnection({ target: createTarget(given), settings: {}, timeout: 20_000 })
    try {
      const [row] = await connection.run<Seen>(
        `select ssl as tls, coalesce(host(inet_client_addr()), 'socket') as by, current_setting('search_path') as path
           from pg_stat_ssl where pid = pg_backend_pid()`,
      )
      return row
    } finally {
      await connection.close()
    }
  }
  const at = (user: string, query = '', host = 'localhost'): string =>
    `postgres://${user}@${host}:${port}/postgres${query && `?${query}`}`

  it('is reached by the folder of its socket', async () => {
    let socket = ''
    await administer(server.url, async (sql) => {
      const [row] = await sql`show unix_socket_directories`
      socket = row?.unix_socket_directories
    })
    for (const url of [
      `postgres:///postgres?host=${socket}&port=${port}&user=postgres`,
      `postgresql://postgres@${encodeURIComponent(socket)}:${port}/postgres`,
    ])
      expect(await look(url)).toMatchObject({ by: 'socket' })
    await expect(look(`postgres:///postgres?host=${socket}&port=1`)).rejects.toThrow('there is no such socket (ENOENT)')
  })

  it('is reached with TLS as far as it was asked for, and its certificate is checked as far', async () => {
    const other = await createCertificates()
    onTestFinished(() => other.remove())
    const stranger = await other.authority('a stranger')
    const ca = `sslrootcert=${join(folder, 'ca.pem')}`
    expect(await look(at('postgres'))).toMatchObject({ tls: false })
    for (const query of ['sslmode=prefer', 'sslmode=require', `sslmode=verify-full&${ca}`, ca, 'ssl=true'])
      expect(await look(at('postgres', query)), query).toMatchObject({ tls: true })
    expect(await look(at('postgres', `sslmode=verify-ca&${ca}`, '127.0.0.1'))).toMatchObject({ tls: true })
    const refused = {
      [at('postgres', `sslmode=verify-full&${ca}`, '127.0.0.1')]: 'its certificate is for another name',
      [at('postgres', 'sslmode=verify-full')]: 'its certificate is of an authority that is not trusted',
      [at('postgres', `sslmode=require&sslrootcert=${stranger.files.cert}`)]: 'is of an authority that is not trusted',
      [at('postgres', 'sslmode=verify-full&sslrootcert=/nowhere')]:
        'the file /nowhere (sslrootcert) cannot be read (ENOENT)',
      [at('encrypted')]:
        'its pg_hba.conf does not let this user in from here without TLS (28000). Add sslmode=verify-full',
    }
    for (const [url, said] of Object.entries(refused)) await expect(look(url), said).rejects.toThrow(said)
  })

  it('knows its user by a certificate', async () => {
    const made = await createCertificates()
    onTestFinished(() => made.remove())
    const stranger = await (await made.authority('a stranger')).issue('certified')
    const files = (cert: string, key: string): string => `sslmode=require&sslcert=${cert}&sslkey=${key}`
    const own = files(join(folder, 'client.pem'), join(folder, 'client.key'))
    expect(await look(at('certified', own))).toMatchObject({ tls: true })
    await expect(look(at('encrypted', own))).resolves.toMatchObject({ tls: true })
    await expect(look(at('secret', own))).rejects.toThrow(/password/)
    await expect(look(at('certified', 'sslmode=require'))).rejects.toThrow('it wants a certificate')
    await expect(look(at('certified', files(stranger.files.cert, stranger.files.key)))).rejects.toThrow(
      /it wants a certificate|TLS failed|does not trust sslcert/,
    )
  })

  it('gets the password from the URL, or from a file that is read again for each connection', async () => {
    const file = join(temporaryFolder(), 'secret')
    const refusal = 'it refuses the password'
    expect(await look(at(`secret:${encodeURIComponent("it's: 1")}`))).toBeDefined()
    for (const url of [at('secret'), at('secret:wrong')]) await expect(look(url)).rejects.toThrow(refusal)
    const ways: readonly (readonly [Partial<DatabaseAddress>, string])[] = [
      [{ passwordFile: file }, "it's: 1\n"],
      [{ passFile: file }, `# of libpq\nelsewhere:*:*:*:no\nlocalhost:${port}:*:secret:it's\\: 1\n`],
      [{ urlFile: file }, at(`secret:${encodeURIComponent("it's: 1")}`)],
      [{ url: at('secret', `passfile=${file}`) }, `*:*:*:*:it's\\: 1`],
    ]
    for (const [way, right] of ways) {
      const target = createTarget({ url: at('secret'), ...way })
      const connect = async (): Promise<void> => {
        const connection = openConnection({ target, settings: {}, timeout: 20_000 })
        await connection.run('select 1').finally(() => connection.close())
      }
      writeFileSync(file, right.replace('1', '2'))
      await expect(connect()).rejects.toThrow(refusal)
      writeFileSync(file, right)
      await connect()
    }
    await expect(look({ url: at('secret'), passwordFile: '/nowhere' })).rejects.toThrow(
      'the file /nowhere (DATABASE_PASSWORD_FILE)',
    )
  })

  it('says what failed, and what to do', async () => {
    const free = await freePort()
    const said = {
      'postgres://postgres@no-such-host.invalid/postgres': /its name is not known \((ENOTFOUND|EAI_AGAIN)\)/,
      [`postgres://postgres@127.0.0.1:${free}/postgres`]:
        /it refuses connections \(ECONNREFUSED\). Start PostgreSQL there/,
      [at('outsider', 'sslmode=require')]: /its pg_hba.conf does not let this user in from here \(28000\)/,
      [at('postgres').replace(/postgres$/, 'nothing')]: /it has no such database \(3D000\)/,
    }
    for (const [url, pattern] of Object.entries(said)) await expect(look(url), url).rejects.toThrow(pattern)
  })

  it('is refused if it is older than 15', async () => {
    const old = await standBefore(Number(port), (said) =>
      Buffer.from(said.toString('latin1').replace(/(?<=server_version\0)\d\d/, '14'), 'latin1'),
    )
    await expect(look(at('postgres').replace(port, old))).rejects.toThrow(
      /it is PostgreSQL 14\..*Use PostgreSQL 15 or later/,
    )
  })

  it('is the one of several that takes writes, at the start and after the other was promoted', async () => {
    const standby = await startPostgres({ primary: server })
    onTestFinished(() => standby.dispose())
    const both = [standby, server].map(({ url }) => new URL(url).host).join(',')
    const target = createTarget(`postgres://postgres@${both}/postgres?target_session_attrs=read-write`)
    const ask = async (): Promise<string | undefined> => {
      const connection = openConnection({ target, settings: {}, timeout: 20_000 })
      const [row] = await connection
        .run<{ port: string }>(`select current_setting('port') as port`)
        .finally(() => connection.close())
      return row?.port
    }
    expect(await ask()).toBe(port)
    const kept = openConnection({ target, settings: {}, timeout: 20_000 })
    onTestFinished(() => kept.close())
    await kept.run('select 1')
    await server.stop('immediate')
    onTestFinished(() => server.start())
    await expect(ask()).rejects.toThrow(/takes no writes.*refuses connections|refuses connections.*takes no writes/)
    await standby.promote()
    await expect.poll(() => ask().catch(String), { timeout: 20_000 }).toBe(new URL(standby.url).port)
    expect(kept.isLost).toBe(true)
  })

  it('has two installations in two schemas, which do not see each other', async () => {
    await administer(server.url, (sql) => sql.unsafe('create database two'))
    const of = (schema: string) => `${server.url.replace(/postgres$/, 'two')}?options=-csearch_path%3D${schema}`
    await administer(of('x').replace(/\?.*/, ''), (sql) => sql.unsafe('create schema north; create schema south'))
    const [north, south] = await Promise.all(
      ['north', 'south'].map((schema) => openDatabase({ url: of(schema), dataDir: 'memory' })),
    )
    if (!north || !south) return expect.unreachable()
    onTestFinished(() => north.close())
    onTestFinished(() => south.close())
    const heard: (number | null)[] = []
    await south.listen((revision) => heard.push(revision))
    await north.session.run(`insert into leases values ('x', 'me', now(), now())`)
    await north.session.run(`select pg_notify('rollcall_feed_' || current_schema(), '1')`)
    await south.session.run(`select pg_notify('rollcall_feed_' || current_schema(), '2')`)
    await expect.poll(() => heard).toEqual([null, 2])
    expect(await south.session.run('select name from leases')).toEqual([])
    const elsewhere = openDatabase({ url: of('west'), dataDir: 'memory' })
    await expect(elsewhere).rejects.toThrow('has no schema west that its user may use')
  })
})
