/**
 * Prints how many bytes become old with each report, for short-lived.test.ts. It is a process of its own: in a worker, where other tests have run
 * before, V8 moves objects to the old ones at other times. `STORE`: the configuration of an empty store, as JSON.
 */
import { getHeapSpaceStatistics } from 'node:v8'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { openDatabase } from '../../src/store/open.ts'
import { report } from '../support/clients/reports.ts'
import { collect } from '../support/garbage.ts'
import { createRoad } from '../support/servers/road.ts'

const devices = 64
const turns = 60
const states = ['INSTALLING', 'INSTALLED', 'REMOVING'] as const

function oldBytes(): number {
  return getHeapSpaceStatistics()
    .filter(({ space_name }) => /^(old|large_object)/.test(space_name))
    .reduce((sum, { space_used_size }) => sum + space_used_size, 0)
}

const { STORE = '', MOST_KEPT = '' } = process.env
const road = await createRoad(await openDatabase(JSON.parse(STORE)))

async function work(from: number, until: number): Promise<void> {
  for (let turn = from; turn < until; turn += 1) {
    await Promise.all(
      Array.from({ length: devices }, (_, n) => {
        const state = states[turn % states.length] ?? 'INSTALLED'
        const components = ['database', 'web'].map((name) => ({ name, state, error: null }))
        return road.writer.submit(
          recordReport(report({ reporter: `r-${n}`, deploymentId: `d-${n}`, state, components })),
        )
      }),
    )
    collect({ type: 'minor' })
  }
}

// On a busy machine some batches are still in use at two collections, so some rounds keep more. An object that holds batches does so in each.
const kept: number[] = []
for (let round = 0; round < 6 && !kept.some((bytes) => bytes < Number(MOST_KEPT)); round += 1) {
  await work(2 * round * turns, (2 * round + 1) * turns)
  collect()
  const before = oldBytes()
  await work((2 * round + 1) * turns, (2 * round + 2) * turns)
  kept.push((oldBytes() - before) / (turns * devices))
}
console.log(`kept ${Math.min(...kept)}`)
await road.close()
