/** What lists and counts of devices in the past touch: buffers, not times. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Revision } from '../../../../src/domain/values.ts'
import type { Database, Session } from '../../../../src/store/database.ts'
import { countByConnectivity, countDevices, pageDevices } from '../../../../src/store/read/targets/targets.ts'
import { stores } from '../../../support/databases/stores.ts'
import { buffersOf, openLongLog } from '../long-log.ts'

const size = 50_000
const fleet = { of: 'fleet' } as const
const page = { size: 100, after: null, before: null, backward: false }

describe.each(stores)('devices in the past on $name', (store) => {
  let database: Database
  let base: Revision
  let close = async (): Promise<void> => {}
  beforeAll(async () => {
    ;({ database, base, close } = await openLongLog(store, size))
    // 40 are FAILED after the first entries, and become INSTALLED. Each is on a device of its own.
    await database.session.run(
      `update change_log set from_state = 'FAILED' where first_revision between ${base + size + 1001} and ${base + size + 1040}`,
    )
    await database.session.run(
      `update past_deployments set state = 'FAILED' where until between ${base + size + 1001} and ${base + size + 1040}`,
    )
    await database.session.run('vacuum analyze')
  })
  afterAll(() => close())

  it('are found by the failures of then, not by all that has changed since', async () => {
    const at = base + size
    const reads: Record<string, (session: Session) => Promise<unknown>> = {
      list: async (s) => (await pageDevices(s, fleet, { failing: true }, page, undefined, at)).get(0)?.edges.length,
      count: async (s) => (await countDevices(s, fleet, { failing: true }, at)).get(0),
      others: async (s) => (await countDevices(s, fleet, { where: { failing: false } }, at)).get(0),
      connectivity: async (s) => (await countByConnectivity(s, fleet, { failing: true }, at)).get(0),
    }
    const answers: Record<string, unknown> = {}
    for (const [name, read] of Object.entries(reads)) {
      const { answer, buffers } = await buffersOf(database, read)
      answers[name] = answer
      // To unwind all deployments takes 200,000. To look for one entry of each device takes 100,000, and for each kind of entry 400,000.
      const most = name === 'others' ? 150_000 : 20_000
      expect([name, buffers < most, buffers]).toEqual([name, true, buffers])
    }
    expect(answers).toEqual({ list: 40, count: 40, others: size - 40, connectivity: { UNKNOWN: 40 } })
  })
})
