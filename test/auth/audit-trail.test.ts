import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAuditTrail, type Refusal } from '../../src/api/auth/audit-trail.ts'
import { pageAuditLog } from '../../src/store/read/api-access.ts'
import { stores } from '../support/databases/stores.ts'
import { createEmptyRoad, type Road } from '../support/servers/road.ts'

const refusal = (address: string, action = 'ask'): Refusal => ({
  caller: '',
  credential: 'key',
  address,
  action,
  outcome: 'unknown key',
})

describe.each(stores)('refused credentials on $name', (store) => {
  let road: Road
  beforeAll(async () => {
    road = await createEmptyRoad(store)
  })
  afterAll(() => road.close())

  /** A trail that writes only when it is closed. */
  const open = () => createAuditTrail({ writer: road.writer, clock: () => 1_000, interval: 2 ** 30 })
  const lines = async (action: string, size = 1_000) => {
    const page = { size, after: null, before: null, backward: false }
    const { edges } = await pageAuditLog(road.database.session, { actions: [action] }, page)
    return edges.map(({ node: { address, times, outcome } }) => ({ address, times, outcome }))
  }

  it('that are alike are one line that says how many times, written at the latest when the server ends', async () => {
    const trail = open()
    for (let n = 0; n < 3; n += 1) trail.refused(refusal('192.0.2.1'))
    trail.refused(refusal('192.0.2.2'))
    expect(await lines('ask')).toEqual([])
    await trail.close()
    expect((await lines('ask')).toSorted((a, b) => a.times - b.times)).toEqual([
      { address: '192.0.2.2', times: 1, outcome: 'unknown key' },
      { address: '192.0.2.1', times: 3, outcome: 'unknown key' },
    ])
  })

  it('of a caller with ever new names are counted together, and those that are known continue', async () => {
    const trail = open()
    for (let n = 0; n < 600; n += 1) trail.refused(refusal(`host-${n}`, 'flood'))
    trail.refused(refusal('host-0', 'flood'))
    await trail.close()
    const own = await lines('flood')
    expect(own).toHaveLength(500)
    expect(own.find(({ address }) => address === 'host-0')).toMatchObject({ times: 2 })
    expect(await lines('several')).toHaveLength(100)
  })

  it('of one address fill its share of lines and one more, whatever differs in them', async () => {
    const trail = open()
    let logged = 0
    for (let n = 0; n < 5_000; n += 1)
      if (trail.refused(refusal(`2001:db8::${(n % 9) + 1}`, `guess-${n}`.padEnd(8_000, 'x')))) logged += 1
    await trail.close()
    const page = { size: 1_000, after: null, before: null, backward: false }
    const { edges } = await pageAuditLog(road.database.session, {}, page)
    const own = edges.filter(({ node: { address } }) => address.startsWith('2001:db8::'))
    expect([own.length, logged]).toEqual([21, 20])
    expect(own.reduce((sum, { node: { times } }) => sum + times, 0)).toBe(5_000)
    for (const { node } of own) expect(node.action.length).toBeLessThanOrEqual(200)
  })
})
