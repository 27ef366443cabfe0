/** A batch whose rows are not cached is read while the batch before it is written. What that one changes counts, and not what was read. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { declareDeployments } from '../../src/ingest/commands/declare.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import type { Database } from '../../src/store/database.ts'
import { loadBeside } from '../../src/store/write/load/load.ts'
import { report } from '../support/clients/reports.ts'
import { openFresh } from '../support/databases/databases.ts'
import { expectSound } from '../support/databases/soundness.ts'
import { type Store, stores } from '../support/databases/stores.ts'
import { isOptimisticText } from '../support/databases/wire.ts'
import { createRoad } from '../support/servers/road.ts'

const declared = {
  deviceId: 'gate:child',
  deploymentId: 'declared',
  application: null,
  applicationVersion: null,
  components: [],
}

type Sent = Parameters<typeof report>[0]

/** Pairs of reports. Nothing that the second needs is cached, and the first changes some of it. */
const pairs: readonly {
  readonly name: string
  readonly sent: readonly [Sent, Sent]
  readonly isWrittenAgain?: true
}[] = [
  {
    name: 'the first reports of two devices about one deployment',
    sent: [
      { reporter: 'one', deploymentId: 'shared' },
      { reporter: 'two', deploymentId: 'shared' },
    ],
  },
  {
    name: 'a gateway that takes a declared deployment over, and then its child',
    sent: [
      { reporter: 'gate', deviceId: 'gate:child', deploymentId: 'declared', state: 'INSTALLED' },
      { reporter: 'gate:child', deploymentId: 'declared', state: 'INSTALLING' },
    ],
    // The rollout of the second is not read, because the deployment is still the child's. So the database refuses to create it again.
    isWrittenAgain: true,
  },
  {
    name: 'a child that takes a declared deployment over, and then its gateway',
    sent: [
      { reporter: 'gate:child', deploymentId: 'declared', state: 'INSTALLING' },
      { reporter: 'gate', deviceId: 'gate:child', deploymentId: 'declared', state: 'INSTALLED' },
    ],
  },
  {
    name: 'a gateway about two new children',
    sent: [
      { reporter: 'gate', deviceId: 'gate:left' },
      { reporter: 'gate', deviceId: 'gate:right' },
    ],
  },
]

/** `isHeld`: the second report of a pair is read, decided and sent before the first is written. Otherwise each waits for the answer to the one before. */
async function play(store: Store, [first, second]: readonly [Sent, Sent], isHeld: boolean) {
  const fresh = await openFresh(store)
  const waiting: (() => void)[] = []
  let [isGated, transactions] = [false, 0]
  const database: Database = {
    ...fresh,
    async append(connection, text, parameters) {
      if (isGated && isOptimisticText(text)) await new Promise<void>((resolve) => waiting.push(resolve))
      return fresh.append(connection, text, parameters)
    },
    transaction(work) {
      transactions += 1
      return fresh.transaction(work)
    },
  }
  const road = await createRoad(database, { writer: { clock: () => 4_000_000_000_000 } })
  onTestFinished(() => road.feed.close())
  const submit = (sent: Sent) => road.writer.submit(recordReport(report(sent)))
  await road.writer.submit(declareDeployments(null, [declared]))
  // After two batches it is known that no other server writes.
  for (const state of ['INSTALLING', 'INSTALLED'] as const) await submit({ reporter: 'known', state })
  transactions = 0
  isGated = isHeld
  const answers = [submit(first)]
  if (!isHeld) await answers[0]
  else await expect.poll(() => waiting.length).toBe(1)
  answers.push(submit(second))
  if (isHeld) await expect.poll(() => waiting.length).toBe(2)
  isGated = false
  for (const pass of waiting) pass()
  const outcomes = await Promise.all(answers)
  const verdicts = outcomes.map(({ verdict }) => verdict)
  const rows =
    await fresh.session.run(`select d.deployment_id, d.reporter, d.state, d.claimed, t.name, r.name as rollout
    from deployments d join targets t on t.key = d.target_key left join rollouts r on r.key = d.rollout_key order by 1, 2`)
  await expectSound(fresh)
  return { verdicts, rows, transactions }
}

describe.each(stores)('a batch that is read while another is written on $name', (store) => {
  it.each(pairs)('has what that one changes: $name', async ({ sent, isWrittenAgain = false }) => {
    const { transactions, ...held } = await play(store, sent, true)
    expect({ ...held, transactions: 0 }).toEqual(await play(store, sent, false))
    expect(transactions).toBe(isWrittenAgain ? 1 : 0)
    expect(held.verdicts).toEqual(['APPLIED', 'APPLIED'])
  })

  it('is not taken from a database that is elsewhere in its history', async () => {
    const database = await openFresh(store)
    const [head] = await database.session.run<{ writes: number; stamp: string }>('select writes, stamp from log_head')
    const at = { revision: 0, at: 0, nextKey: 0, writes: head?.writes ?? Number.NaN, stamp: head?.stamp ?? '' }
    const load = (heads: Parameters<typeof loadBeside>[2]) =>
      database.readBeside((reader) => loadBeside(reader, [{ devices: ['edge-1'] }], heads))
    expect(await load([{ ...at, writes: at.writes + 1 }, at])).toMatchObject({ targets: [] })
    expect(await load([{ ...at, writes: at.writes + 1 }])).toBeNull()
    expect(await load([{ ...at, stamp: 'of another server' }])).toBeNull()
  })
})
