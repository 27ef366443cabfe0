/** A network that breaks at any statement, on any connection: the writer's, the readers' and the doorbell's. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { startFleet } from '../../support/clients/fleet.ts'
import { follow, watch } from '../../support/clients/follow.ts'
import { sendOver } from '../../support/clients/http-device.ts'
import { subscribe } from '../../support/clients/http-subscriber.ts'
import { expectKept, expectSound, revisionsBetween } from '../../support/databases/soundness.ts'
import { postgresStores } from '../../support/databases/stores.ts'
import { startWire } from '../../support/databases/wire.ts'
import { startProgram } from '../../support/servers/program.ts'
import { createRoad } from '../../support/servers/road.ts'

const cutsWanted = 100

describe.each(postgresStores)('a network to $name that breaks anywhere', (store) => {
  it('costs no report, doubles none, and no subscriber a change', async () => {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const wire = await startWire(empty.config.url ?? '')
    onTestFinished(() => wire.close())
    const options = { writer: { commitTimeout: 60_000 }, feed: { pollInterval: 20 } }
    const broken = await createRoad(await openDatabase({ url: wire.url, dataDir: 'memory' }), options)
    onTestFinished(() => broken.close())
    const whole = await createRoad(await empty.open(), options)
    onTestFinished(() => whole.close())
    const start = (await readHead(whole.database.session)).revision
    const followers = [follow(broken, start), follow(whole, start)]
    const watcher = watch(broken)
    await expect.poll(() => watcher.updates).toHaveLength(1)

    let cuts = 0
    wire.watch(() => {
      if (Math.random() > 0.02) return 'pass'
      cuts += 1
      return 'cut'
    })
    const fleet = startFleet(20, (device) => (said) => (device % 2 ? broken : whole).writer.submit(recordReport(said)))
    await expect.poll(() => fleet.acknowledged && cuts).toBeGreaterThan(cutsWanted)
    wire.watch(() => 'pass')
    const played = await fleet.finish()

    expect(played.flatMap(({ outcomes }) => outcomes.filter(({ verdict }) => verdict !== 'APPLIED'))).toEqual([])
    await expectKept(whole.database, played)
    await expectSound(whole.database)
    const { revision } = await readHead(whole.database.session)
    for (const follower of followers) {
      await expect.poll(() => follower.events.at(-1)?.cursor).toBe(revision)
      expect(follower.revisions()).toEqual(revisionsBetween(start, revision))
      await follower.leave()
    }
    await expect.poll(() => watcher.updates.at(-1)?.cursor).toBe(revision)
    const from = watcher.updates[0]?.cursor ?? expect.unreachable()
    expect(watcher.updates.flatMap(({ revisions }) => revisions)).toEqual(revisionsBetween(from, revision))
    await watcher.leave()
  })

  it('makes the server say "come again" at most, and never ends it', async () => {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const wire = await startWire(empty.config.url ?? '')
    onTestFinished(() => wire.close())
    const program = startProgram({ DATABASE_URL: wire.url })
    onTestFinished(() => program.dispose())
    const url = await program.listening
    const database = await empty.open()
    onTestFinished(() => database.close())
    const start = (await readHead(database.session)).revision
    let cuts = 0
    wire.watch(() => {
      if (Math.random() > 0.02) return 'pass'
      cuts += 1
      return 'cut'
    })
    const subscriber = subscribe(async () => url, start)
    const fleet = startFleet(20, () => sendOver(async () => url))
    const asking = Promise.all(Array.from({ length: 4 }, () => askOn(url, () => cuts > cutsWanted)))

    await expect.poll(() => fleet.acknowledged && cuts).toBeGreaterThan(cutsWanted)
    wire.watch(() => 'pass')
    const answers = await asking
    const played = await fleet.finish()

    const codes = new Set(answers.flat())
    // Audits are made one at a time: a second one is refused with a time to retry, too.
    expect([...codes].filter((code) => !['answered', 'UNAVAILABLE', 'TOO_MANY'].includes(code))).toEqual([])
    expect(codes).toContain('answered')
    await expectKept(database, played)
    await expectSound(database)
    const { revision } = await readHead(database.session)
    await expect.poll(() => subscriber.revisions.at(-1)).toBe(revision)
    expect(subscriber.revisions).toEqual(revisionsBetween(start, revision))
    await subscriber.leave()
    expect(program.child.exitCode).toBeNull()
  })
})

const question = `{ revision deploymentCounts { total } deployments(first: 5) { totalCount nodes { state components { name state } history(last: 2) {
  nodes { revision } } } } changes(last: 5) { nodes { revision } } audit { drift { scope } } }`

/** How each of its questions was answered: with data, or with an error's code. */
async function askOn(url: string, isOver: () => boolean): Promise<string[]> {
  const answers: string[] = []
  while (!isOver()) {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: question }),
    })
    const { errors } = (await response.json()) as { errors?: { message: string; extensions?: { code?: string } }[] }
    answers.push(...(errors?.map(({ message, extensions }) => extensions?.code ?? message) ?? ['answered']))
  }
  return answers
}
