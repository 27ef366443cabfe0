/** Hostile systems: for a moment with a fixed seed, and for ten minutes with another seed each time. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { stores } from '../support/databases/stores.ts'
import { isDeep, seed } from '../support/runner/depth.ts'
import { childEnvironment } from '../support/servers/child.ts'
import { attackOutbound } from './outbound/attack.ts'
import { describe, problemsOf } from './outbound/report.ts'

const [store] = stores

it('no system that the server asks brings it down, and each outage is logged once with its end', async () => {
  const empty = await store?.create()
  const { url, dataDir } = empty?.config ?? expect.unreachable()
  const database: Record<string, string> = url === null ? { DATA_DIR: dataDir } : { DATABASE_URL: url }
  try {
    const found = await attackOutbound({
      ...{ seed: 20_260_101, time: 15_000, phase: 1_000 },
      env: { ...childEnvironment(), ...database },
    })
    expect(problemsOf(found)).toEqual([])
    // Otherwise only the door was tested.
    expect(Object.entries(found.asked).filter(([, count]) => count === 0)).toEqual([])
    expect(Object.keys(found.outages).length).toBeGreaterThan(1)
  } finally {
    await empty?.drop()
  }
})

const minute = 60_000

// Ten minutes are too long for .ci/run.
it.runIf(isDeep)(
  'no system that the server asks brings it down in ten minutes, and its memory stays',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-attack-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const env = { ...childEnvironment(), DATA_DIR: folder }
    const found = await attackOutbound({ seed, time: 10 * minute, phase: 8_000, env })
    console.log(describe(found))
    expect(problemsOf(found)).toEqual([])
  },
  15 * minute,
)
