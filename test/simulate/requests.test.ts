/** What a simulated device does with a server's Retry-After. */
import { expect, it } from 'vitest'
import { waitBefore } from '../../src/apps/simulate/requests.ts'

const after = (value: string | null): number =>
  waitBefore(1, { headers: new Headers(value === null ? {} : { 'retry-after': value }) })

it('waits as long as the server says, and at most five minutes', () => {
  expect(after('2')).toBe(2_000)
  for (const value of ['1e308', '99999999999', 'Infinity']) expect(after(value)).toBe(300_000)
})

it('waits as usual if the server says nothing, a time that is over, or what is no time', () => {
  for (const value of [null, '', '0', '-1', 'x', 'Fri, 31 Dec 1999 23:59:59 GMT']) {
    expect(after(value)).toBeGreaterThanOrEqual(250)
    expect(after(value)).toBeLessThanOrEqual(500)
  }
})
