/** A replica that is frozen while it holds the log's lock: the others wait for it only so long, and it finds its way back. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { startFleet } from '../../support/clients/fleet.ts'
import { sendOver } from '../../support/clients/http-device.ts'
import { subscribe } from '../../support/clients/http-subscriber.ts'
import { report } from '../../support/clients/reports.ts'
import { expectKept, expectSound, revisionsBetween } from '../../support/databases/soundness.ts'
import { postgresStores } from '../../support/databases/stores.ts'
import { startWire } from '../../support/databases/wire.ts'
import { type Program, startProgram } from '../../support/servers/program.ts'
import { createRoad } from '../../support/servers/road.ts'

const isLock = (statement: string): boolean => statement.includes('from log_head') && statement.includes('for update')

async function register(url: string): Promise<void> {
  const query = 'mutation { registerDevices(input: { devices: [{ deviceId: "another" }] }) { __typename } }'
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })
  expect(await answer.json()).toEqual({ data: { registerDevices: { __typename: 'RegisterDevicesSuccess' } } })
}

describe.each(postgresStores)('two replicas on $name', (store) => {
  it('write and tell the same, also while one is stopped in the middle of a transaction', async () => {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const wire = await startWire(empty.config.url ?? '')
    onTestFinished(() => wire.close())
    const database = await empty.open()
    onTestFinished(() => database.close())
    const start = (DATABASE_URL: string): Program => {
      const program = startProgram({ DATABASE_URL })
      onTestFinished(() => program.dispose())
      return program
    }
    const [frozen, other] = [start(wire.url), start(empty.config.url ?? '')]
    const begin = (await readHead(database.session)).revision
    const subscribers = [frozen, other].map(({ listening }) => subscribe(() => listening, begin))
    const answered = { frozen: 0, other: 0 }
    const fleet = startFleet(30, (device) => async (said) => {
      const name = device % 2 === 0 ? 'frozen' : 'other'
      const outcome = await sendOver(() => (name === 'frozen' ? frozen : other).listening)(said)
      answered[name] += 1
      return outcome
    })
    const progress = async (name: keyof typeof answered): Promise<void> => {
      const enough = answered[name] + 100
      await expect.poll(() => fleet.acknowledged && answered[name]).toBeGreaterThan(enough)
    }
    await Promise.all([progress('frozen'), progress('other')])

    const stopped = new Promise<void>((resolve) =>
      wire.watch(({ statement, moment }) => {
        if (moment === 'answered' && isLock(statement)) {
          frozen.child.kill('SIGSTOP')
          wire.watch(() => 'pass')
          resolve()
        }
        return 'pass'
      }),
    )
    // While one server writes for both, only what cannot be handed over is written under the lock.
    const registering = register(await frozen.listening)
    await stopped
    await progress('other')
    frozen.child.kill('SIGCONT')
    await Promise.all([progress('frozen'), progress('other'), registering])

    const played = await fleet.finish()
    const { revision } = await readHead(database.session)
    for (const { revisions } of subscribers) await expect.poll(() => revisions.at(-1)).toBe(revision)
    for (const { revisions, resets, cuts, leave } of subscribers) {
      expect(revisions).toEqual(revisionsBetween(begin, revision))
      expect({ resets, cuts }).toEqual({ resets: [], cuts: 0 })
      await leave()
    }
    await expectKept(database, played)
    await expectSound(database)
  })

  it('wait only so long for one that does not take what it asked for', async () => {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const wire = await startWire(empty.config.url ?? '')
    onTestFinished(() => wire.close())
    const other = await createRoad(await empty.open())
    onTestFinished(() => other.close())
    const deaf = await createRoad(await openDatabase({ url: wire.url, dataDir: 'memory' }), {
      writer: { commitTimeout: 60_000 },
    })
    onTestFinished(() => deaf.close())
    // More than the network holds for a process that does not read.
    const message = 'x'.repeat(100_000)
    const large = Array.from({ length: 200 }, (_, n) =>
      recordReport(report({ deploymentId: `d-${n}`, state: 'FAILED', error: { code: '1', message } })),
    )
    await Promise.all(large.map((command) => other.writer.submit(command)))

    const deafened = new Promise<void>((resolve) =>
      wire.watch(({ statement, moment }) => {
        if (moment !== 'asked' || !statement.includes('from deployments d')) return 'pass'
        resolve()
        wire.watch(() => 'pass')
        return 'deafen'
      }),
    )
    const waiting = Promise.allSettled(large.map((command) => deaf.writer.submit(command)))
    await deafened
    expect(await other.writer.submit(recordReport(report({ state: 'INSTALLED' })))).toMatchObject({
      verdict: 'APPLIED',
    })
    wire.cut()
    expect(new Set((await waiting).map(({ status }) => status))).toEqual(new Set(['fulfilled']))
    await expectSound(other.database)
  })
})
