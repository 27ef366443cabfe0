/** Servers that write the same rows lock the log's head first. So one waits for the other there, and they cannot deadlock. */
import { describe, expect, it } from 'vitest'
import { createRandom } from '../../src/apps/simulate/random.ts'
import { DomainError } from '../../src/domain/errors.ts'
import { spending } from '../../src/ingest/command.ts'
import { declareDeployments } from '../../src/ingest/commands/declare.ts'
import { registerDevices } from '../../src/ingest/commands/devices/register.ts'
import { retireDevices } from '../../src/ingest/commands/devices/retire.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import type { Database } from '../../src/store/database.ts'
import { claimSignatures, type Proof } from '../../src/store/signature-claims.ts'
import { report } from '../support/clients/reports.ts'
import { countDeadlocks } from '../support/databases/deadlocks.ts'
import { expectSound } from '../support/databases/soundness.ts'
import { postgresStores } from '../support/databases/stores.ts'
import { createRoad, type Road } from '../support/servers/road.ts'
import { openEmpty } from '../support/servers/servers.ts'
import { manifestUpdate } from './commands/desired-model.ts'

const lock = /\b(for (no key )?update|for (key )?share|insert into|update|delete from)\b/
const headLock = /^(select [^;]* from log_head where id = 1 for update|with head as \(update log_head )/

interface Recorded {
  /** The first statement of each transaction that locks a row. */
  readonly first: { readonly inTransaction: string[]; readonly appended: string[] }
  readonly database: Database
}

function record(database: Database): Recorded {
  const first: Recorded['first'] = { inTransaction: [], appended: [] }
  return {
    first,
    database: {
      ...database,
      append(connection, text, parameters) {
        if (lock.test(text)) first.appended.push(text)
        return database.append(connection, text, parameters)
      },
      transaction: (work) =>
        database.transaction((session) => {
          let hasLocked = false
          const run: typeof session.run = (text, parameters) => {
            if (!hasLocked && lock.test(text)) first.inTransaction.push(text)
            hasLocked ||= lock.test(text)
            return session.run(text, parameters)
          }
          return work({ ...session, run })
        }),
    },
  }
}

const rounds = 15
const devices = Array.from({ length: 8 }, (_, n) => `edge-${n}`)
const states = ['PENDING', 'INSTALLING', 'INSTALLED', 'FAILED'] as const
const declaration = { application: null, applicationVersion: null, components: null }
const registration = { name: null, labels: null, parent: null, expectedInterval: null, tokenHash: 'hash' }

/** All servers write about all devices at once, each in an order of its own. */
async function play({ writer, database }: Road, name: string): Promise<void> {
  const random = createRandom(name)
  const answers = async (sent: readonly Promise<unknown>[]): Promise<void> => {
    for (const answer of await Promise.allSettled(sent))
      if (answer.status === 'rejected') expect(answer.reason).toBeInstanceOf(DomainError)
  }
  const shuffled = (): string[] =>
    devices
      .map((device) => ({ device, place: random.next() }))
      .toSorted((a, b) => a.place - b.place)
      .map(({ device }) => device)
  for (let round = 0; round < rounds; round += 1) {
    const proofs = shuffled().map((device): Proof => ({ id: `${round}-${device}`, until: Date.now() + 3_600_000 }))
    await claimSignatures(database.session, proofs, 3_600)
    const reports = shuffled().map((reporter) => {
      const command = recordReport(report({ reporter, deploymentId: `of-${reporter}`, state: random.pick(states) }))
      return writer.submit(spending(command, random.chance(0.5) ? random.pick(proofs) : null))
    })
    const [deviceId, other] = [random.pick(devices), random.pick(devices)]
    const retirement = { deviceId, replacedBy: null }
    const declared = shuffled().map((device) => ({ ...declaration, deviceId: device, deploymentId: `of-${device}` }))
    await answers([
      ...reports,
      writer.submit(declareDeployments({ name: `rollout-${round % 3}`, project: null }, declared)),
      writer.submit(retireDevices([retirement], { reason: 'scrapped', withChildren: true, manifestUpdate })),
      writer.submit(
        registerDevices(
          shuffled().map((device) => ({ ...registration, deviceId: device, tokenHash: `${name} ${round} ${device}` })),
        ),
      ),
      writer.submit(recordReport(report({ reporter: other, deploymentId: `more-of-${other}`, state: 'INSTALLED' }))),
    ])
  }
}

describe.each(postgresStores)('three servers that write the same devices on $name', (store) => {
  it('lock the head of the log before any other row, and have no deadlock', async () => {
    const empty = await openEmpty(store)
    const servers = await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        const { first, database } = record(await empty.open())
        return { name, first, road: await createRoad(database, { writer: { name } }) }
      }),
    )
    await Promise.all(servers.map(({ road, name }) => play(road, name)))
    await expectSound((servers[0] ?? expect.unreachable()).road.database)
    for (const { road } of servers) await road.close()
    expect(await countDeadlocks(empty)).toBe(0)
    for (const { first } of servers) expect(first.inTransaction.length).toBeGreaterThan(rounds)
    const other = servers.flatMap(({ first }) =>
      [...first.inTransaction, ...first.appended].filter((text) => !headLock.test(text)),
    )
    expect(other).toEqual([])
  })
})
