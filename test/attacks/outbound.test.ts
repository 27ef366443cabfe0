/** Hostile systems, for a moment: `npm run attack -- --outbound` is the long run. The seed is fixed. */
import { expect, it } from 'vitest'
import { stores } from '../support/databases/stores.ts'
import { childEnvironment } from '../support/servers/child.ts'
import { attackOutbound } from './outbound/attack.ts'
import { problemsOf } from './outbound/report.ts'

const [store] = stores

it('no system that the server asks brings it down, and each outage is logged once with its end', async () => {
  const empty = await store?.create()
  const { url, dataDir } = empty?.config ?? expect.unreachable()
  const database: Record<string, string> = url === null ? { DATA_DIR: dataDir } : { DATABASE_URL: url }
  try {
    const found = await attackOutbound({
      ...{ seed: 20_260_101, time: 6_000, phase: 1_000 },
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
