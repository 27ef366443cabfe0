/** How the page writes times: without a date where it is clear. And whose clock they are of. */
import { afterAll, expect, it, vi } from 'vitest'

// Before the import, which begins an interval that needs a browser.
vi.useFakeTimers({ now: new Date(2026, 10, 26, 4, 34) })
afterAll(() => vi.useRealTimers())
const { clock, formatMinute, setClock } = await import('../../../src/apps/dashboard/data/time.ts')

it('writes a time of today without its date, and a time of tomorrow with it unless it is near', () => {
  const halfDay = 43_200_000
  const write = (date: Date): string => formatMinute(date.getTime(), halfDay)
  expect(write(new Date(2026, 10, 26, 5, 42))).toBe('05:42')
  expect(write(new Date(2026, 10, 26, 23, 14))).toBe('23:14')
  expect(write(new Date(2026, 10, 27, 3, 14))).toMatch(/27.*03:14$/)
  vi.setSystemTime(new Date(2026, 10, 26, 23, 50))
  expect(write(new Date(2026, 10, 27, 0, 10))).toBe('00:10')
})

it('takes the clock of the server where that of the browser is wrong, but not from an answer that may have been late', () => {
  vi.stubGlobal('document', { hidden: false })
  const begun = new Date(2026, 10, 26, 12, 0, 10)
  vi.setSystemTime(begun)
  const leadAfter = (secondsAhead: number, took: number): number => {
    setClock(new Date(begun.getTime() + secondsAhead * 1_000).toUTCString(), took)
    return clock() - Date.now()
  }
  expect([leadAfter(-5, 10), leadAfter(300, 10), leadAfter(-1, 10)]).toEqual([-5_000, 300_000, 0])
  expect([leadAfter(-5, 5_000), leadAfter(-300, 5_000)]).toEqual([0, -300_000])
  vi.unstubAllGlobals()
})
