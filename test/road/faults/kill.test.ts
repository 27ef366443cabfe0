/** kill -9 at any instant, again and again, under load: every 2xx is kept once, and a subscriber who comes back misses nothing. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { readHead } from '../../../src/store/connection/log-head.ts'
import { openDatabase, type StoreConfig } from '../../../src/store/open.ts'
import { startFleet } from '../../support/clients/fleet.ts'
import { sendOver } from '../../support/clients/http-device.ts'
import { subscribe } from '../../support/clients/http-subscriber.ts'
import { expectKept, expectSound, revisionsBetween } from '../../support/databases/soundness.ts'
import { everyStore, type Store } from '../../support/databases/stores.ts'
import { expectDurations } from '../../support/durations.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { someOf } from '../../support/runner/depth.ts'
import { type Program, startProgram } from '../../support/servers/program.ts'

const kills = someOf(1, 4)
const devices = 25

async function lasting(store: Store): Promise<StoreConfig> {
  if (store.name === 'PGlite') return { url: null, dataDir: temporaryFolder() }
  const empty = await store.create()
  onTestFinished(() => empty.drop())
  return empty.config
}

describe.each(everyStore)('a server on $name that is killed under load', (store) => {
  it('keeps every report that it acknowledged, once, and every change in its place', async () => {
    const config = await lasting(store)
    const start = (): Program =>
      startProgram(config.url === null ? { DATA_DIR: config.dataDir } : { DATABASE_URL: config.url })
    let program = start()
    onTestFinished(() => program.dispose())
    const address = (): Promise<string> => program.listening

    const first = await (await fetch(`${await address()}/graphql?query={revision}`)).json()
    const begin = Number((first as { data: { revision: string } }).data.revision)
    const subscriber = subscribe(address, begin)
    const fleet = startFleet(devices, () => sendOver(address))
    for (let n = 1; n <= kills; n += 1) {
      const enough = fleet.acknowledged + 50 + Math.random() * 200
      await expect.poll(() => fleet.acknowledged, { interval: 5 }).toBeGreaterThan(enough)
      // Not always just after an answer.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
      program.child.kill('SIGKILL')
      await program.ended
      program = start()
    }
    const played = await fleet.finish()
    const newest = Math.max(...played.map(({ outcomes }) => outcomes.at(-1)?.revision ?? 0))
    await expect.poll(() => subscriber.revisions.at(-1)).toBe(newest)
    await subscriber.leave()
    program.child.kill('SIGKILL')
    await program.ended

    const database = await openDatabase(config)
    try {
      await expectKept(database, played)
      await expectSound(database)
      await expectDurations(database)
      expect((await readHead(database.session)).revision).toBe(newest)
    } finally {
      await database.close()
    }
    expect(subscriber.resets).toEqual([])
    expect(subscriber.revisions).toEqual(revisionsBetween(begin, newest))
    expect(subscriber.cuts).toBeGreaterThanOrEqual(kills)
  })
})
