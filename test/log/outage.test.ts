import { describe, expect, it } from 'vitest'
import { createLog } from '../../src/platform/log/log.ts'
import { createOutage } from '../../src/server/log/outage.ts'
import { incomplete } from '../../src/store/connection/failure.ts'

const gone = Object.assign(new Error('no route'), { code: 'ECONNREFUSED' })

function prepare() {
  const logged: string[] = []
  const levels: string[] = []
  const write = (line: string): void => {
    const { msg, level } = JSON.parse(line)
    logged.push(msg)
    levels.push(level)
  }
  const log = createLog({ level: 'info', to: { write } })
  const database = { isAway: true, pings: 0 }
  let now = Date.parse('2026-03-01T02:14:00.000Z')
  const outage = createOutage({
    log,
    interval: 1,
    clock: () => now,
    async ping() {
      database.pings += 1
      if (database.isAway) throw gone
    },
  })
  return {
    logged,
    levels,
    database,
    outage,
    pass(seconds: number) {
      now += seconds * 1_000
    },
  }
}

describe('the log while the database is away', () => {
  it('says so once, however much fails, and once when it is back', async () => {
    const { logged, database, outage, pass } = prepare()
    for (let n = 0; n < 100; n += 1) outage.note('the log cannot be read: trying again')(gone)
    await expect.poll(() => database.pings).toBeGreaterThan(3)
    for (let n = 0; n < 100; n += 1) outage.note('a request failed in the database')(gone)
    pass(42)
    database.isAway = false
    await expect
      .poll(() => logged)
      .toEqual([
        'database unreachable since 2026-03-01T02:14:00.000Z: reports get 503 until it answers',
        'database reachable again after 42 s',
      ])
    const { pings } = database
    outage.note('the log cannot be read: trying again')(gone)
    await expect.poll(() => logged.at(-1)).toBe('the log cannot be read: trying again')
    expect(database.pings).toBe(pings + 1)
    outage.close()
  })

  it('names what an incomplete database lacks as an error, once for each reason, also when it was away before', async () => {
    const { logged, levels, database, outage, pass } = prepare()
    outage.note('a request failed in the database')(gone)
    await expect.poll(() => logged.length).toBe(1)
    pass(1)
    for (const missing of ['the database lacks our tables', 'the database has no log head']) {
      for (let n = 0; n < 100; n += 1) outage.note('a request failed in the database')(incomplete(missing))
      await expect.poll(() => logged.at(-1)).toMatch(missing)
    }
    for (let n = 0; n < 100; n += 1) outage.note('a request failed in the database')(gone)
    pass(41)
    database.isAway = false
    await expect.poll(() => logged.at(-1)).toBe('database complete again after 42 s')
    expect(logged.slice(1, -1)).toEqual([
      'the database lacks our tables since 2026-03-01T02:14:00.000Z: reports get 503 until it is complete',
      'the database has no log head since 2026-03-01T02:14:00.000Z: reports get 503 until it is complete',
    ])
    expect(levels).toEqual(['warn', 'error', 'error', 'info'])
    outage.close()
  })

  it('shows failures of another kind as what they are, meanwhile too', async () => {
    const { logged, outage } = prepare()
    outage.note('first')(gone)
    await expect.poll(() => logged.length).toBe(1)
    outage.note('a defect')(new Error('undefined is not a function'))
    await expect.poll(() => logged.at(-1)).toBe('a defect')
    outage.close()
    outage.note('after the end')(new Error('x'))
    expect(logged).toHaveLength(2)
  })
})
