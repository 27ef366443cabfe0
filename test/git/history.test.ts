/** What repositories are made from, as it is read from the database. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHistory, type Version } from '../../src/api/git/history.ts'
import { beginEpoch } from '../../src/store/connection/epoch.ts'
import type { Session } from '../../src/store/database.ts'
import { declare, documentOf } from '../support/clients/desired.ts'
import { stores } from '../support/databases/stores.ts'
import { type RunningApp, startApp } from '../support/servers/app.ts'

describe.each(stores)('a history on $name', (store) => {
  let server: RunningApp
  beforeAll(async () => {
    server = await startApp({ store, env: { GIT: 'git' } })
  })
  afterAll(() => server.stop())

  async function read(session: Session, device: string, after: number): Promise<Version[]> {
    return Array.fromAsync(createHistory({ session }).after(device, after))
  }

  it('is read from where it is asked for, also across a restored copy', async () => {
    const { database } = server.app
    for (const release of ['1', '2'])
      await declare(server, [{ deviceId: 'edge', deploymentId: 'a', document: documentOf('a', release) }])
    const second = Math.floor(Date.now() / 1_000)
    await database.transaction((session) => beginEpoch(session, second * 1_000))
    await declare(server, [{ deviceId: 'edge', deploymentId: 'a', document: documentOf('a', '3') }])
    const versions = await read(database.session, 'edge', 1)
    const numbers = versions.map(({ version }) => version)
    // The empty version of the new epoch lies above every one that a lost future can have used.
    const [, , restored = 0] = numbers
    expect(restored).toBeGreaterThanOrEqual(second)
    expect(numbers).toEqual([2, 3, restored, restored + 1])
    expect(versions.map(({ changes }) => changes.map(({ content }) => content))).toEqual([
      [documentOf('a', '1')],
      [documentOf('a', '2')],
      [],
      [documentOf('a', '3')],
    ])
    expect(await read(database.session, 'edge', 3)).toEqual(versions.slice(2))
    expect(await read(database.session, 'edge', restored + 1)).toEqual([])
  })

  it('is never held whole, however large its documents are', async () => {
    const filler = `# ${'x'.repeat(200_000)}`
    for (let release = 0; release < 10; release++)
      await declare(
        server,
        Array.from({ length: 5 }, (_, n) => ({
          deviceId: 'large',
          deploymentId: `d${n}`,
          document: `${documentOf(`d${n}`, String(release))}${filler}`,
        })),
      )
    const { session } = server.app.database
    const held: number[] = []
    const watched: Session = {
      ...session,
      async rows<Row extends object>(query: Parameters<Session['rows']>[0]) {
        const rows = await session.rows<Row>(query)
        held.push((rows as readonly { content?: string }[]).reduce((sum, { content = '' }) => sum + content.length, 0))
        return rows
      },
    }
    const versions = await read(watched, 'large', 1)
    expect(versions.map(({ version, changes }) => [version, changes.length])).toEqual(
      Array.from({ length: 10 }, (_, n) => [n + 2, 5]),
    )
    for (const { changes } of versions) for (const { content } of changes) expect(content).toContain(filler)
    expect(Math.max(...held)).toBeLessThan(5 << 20)
  })
})
