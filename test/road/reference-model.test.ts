/**
 * Whatever happens on the road (reports repeated, late, out of order, with wrong clocks and counters; declarations, restarts,
 * retention, subscribers that come and go), every answer is the reference model's.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, it } from 'vitest'
import { openDatabase } from '../../src/store/open.ts'
import { everyStore, postgresStores, type Store } from '../support/databases/stores.ts'
import { runs, someOf } from '../support/runner/depth.ts'
import { type Command, command } from './reference/reference-commands.ts'
import { play } from './reference/reference-play.ts'

const played = runs(someOf(1, 3), 30)

describe.each(everyStore)('the road on $name', (store) => {
  it(
    'says what the reference model says, whatever happens',
    async () => {
      const commands = fc.array(command, { minLength: 1, maxLength: 40, size: 'max' })
      // Time to shrink a failure, and an end to it.
      const options = { numRuns: played, interruptAfterTimeLimit: 240_000 + played * 5_000 }
      await fc.assert(
        fc.asyncProperty(commands, (list) => playOn(store, list)),
        options,
      )
    },
    600_000 + played * 5_000,
  )
})

describe.each(postgresStores)('three servers on $name', (store) => {
  it(
    'say what the reference model says, whichever of them writes for the others',
    async () => {
      const commands = fc.array(command, { minLength: 10, maxLength: 40, size: 'max' })
      const options = { numRuns: Math.ceil(played / 3), interruptAfterTimeLimit: 240_000 + played * 5_000 }
      await fc.assert(
        fc.asyncProperty(commands, (list) => playOn(store, list, 3)),
        options,
      )
    },
    600_000 + played * 5_000,
  )
})

async function playOn(store: Store, commands: readonly Command[], servers = 1): Promise<void> {
  const empty = await store.create()
  // In memory nothing outlives a restart.
  const dataDir = mkdtempSync(join(tmpdir(), 'rollcall-model-'))
  try {
    await play(() => (store.name === 'PGlite' ? openDatabase({ url: null, dataDir }) : empty.open()), commands, servers)
  } finally {
    await empty.drop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
