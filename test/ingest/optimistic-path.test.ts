/** What a server that writes alone sends as one statement, without a transaction under the head's lock. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { spending } from '../../src/ingest/command.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { report } from '../support/clients/reports.ts'
import { openFresh } from '../support/databases/databases.ts'
import { expectSound } from '../support/databases/soundness.ts'
import { everyStore } from '../support/databases/stores.ts'
import { isOptimisticText } from '../support/databases/wire.ts'
import { createRoad } from '../support/servers/road.ts'

describe.each(everyStore)('a server that writes alone on $name', (store) => {
  it.each([
    { reports: 'first reports of new deployments', isFirst: true, isSigned: false, rollout: null },
    { reports: 'first reports of devices in a known rollout', isFirst: true, isSigned: false, rollout: 'known' },
    { reports: 'signed reports', isFirst: false, isSigned: true, rollout: null },
    { reports: 'signed first reports', isFirst: true, isSigned: true, rollout: null },
  ])('writes $reports in one statement', async ({ isFirst, isSigned, rollout }) => {
    const database = await openFresh(store)
    let [statements, transactions] = [0, 0]
    const road = await createRoad({
      ...database,
      append(connection, text, parameters) {
        if (isOptimisticText(text)) statements += 1
        return database.append(connection, text, parameters)
      },
      transaction(work) {
        transactions += 1
        return database.transaction(work)
      },
    })
    onTestFinished(() => road.feed.close())
    const until = Date.now() + 3_600_000
    const send = (devices: string, state: 'INSTALLING' | 'INSTALLED', mayBeSigned: boolean) =>
      Promise.all(
        Array.from({ length: 10 }, (_, n) => {
          const command = recordReport(
            report({ reporter: `${devices}-${n}`, deploymentId: rollout ?? `of-${devices}-${n}`, state }),
          )
          return road.writer.submit(
            mayBeSigned ? spending(command, { id: `${devices} ${state} ${n}`, until }) : command,
          )
        }),
      )
    // The first batch of a connection checks the identity of the database. After the second it is known that no other server writes.
    await send('known', 'INSTALLING', false)
    await send('known', 'INSTALLED', false)
    statements = 0
    transactions = 0
    const outcomes = await send(isFirst ? 'new' : 'known', 'INSTALLING', isSigned)
    expect(outcomes.map(({ verdict }) => verdict)).toEqual(Array(10).fill('APPLIED'))
    expect({ statements, transactions }).toEqual({ statements: 1, transactions: 0 })
    const used = await database.session.run('select id from used_signatures where held_until is null')
    expect(used).toHaveLength(isSigned ? 10 : 0)
    await expectSound(database)
  })
})
