import { expect, it } from 'vitest'
import type { Connection } from '../../../src/store/connection/connection.ts'
import { createPool } from '../../../src/store/connection/connection-pool.ts'
import { createTimeout } from '../../../src/store/connection/timeout.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
const busy = (time: number): void => {
  for (const until = performance.now() + time; performance.now() < until; );
}

it('runs out, unless it is renewed or ended', async () => {
  const told: string[] = []
  const ended = createTimeout(20, () => told.push('ended'))
  ended.end()
  const renewed = createTimeout(20, () => told.push('renewed'))
  const renewing = setInterval(renewed.renew, 1)
  await new Promise<void>((resolve) => {
    createTimeout(60, () => {
      told.push('last')
      resolve()
    })
  })
  expect(told).toEqual(['last'])
  clearInterval(renewing)
  await expect.poll(() => told).toEqual(['last', 'renewed'])
})

it('is not lost with a connection that was free all the time, while this process was busy', async () => {
  const connection = { isLost: false, onLost: () => {}, close: async () => {} } as unknown as Connection
  const pool = createPool(() => connection, { size: 1, timeout: 50 })
  await pool.take()
  const second = pool.take()
  for (let times = 0; times < 4; times += 1) {
    busy(60)
    await turn()
  }
  pool.give(connection)
  expect(await second).toBe(connection)
  await expect(pool.take()).rejects.toMatchObject({ code: '53300' })
})
