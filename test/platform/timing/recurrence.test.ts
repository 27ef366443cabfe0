import { expect, it } from 'vitest'
import {
  longestOccurrence,
  occurrenceAfter,
  occursAt,
  recurrenceProblem,
} from '../../../src/platform/timing/recurrence.ts'

const at = (text: string): number => Date.parse(text)
const iso = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString())

it('keeps its local time when the clocks change', async () => {
  const weekly = { repeat: 'FREQ=WEEKLY;BYDAY=SA', timeZone: 'Europe/Berlin' }
  const before = at('2026-03-28T01:00:00Z')
  expect(await occursAt(weekly, before)).toBe(true)
  expect(await occursAt(weekly, before + 86_400_000)).toBe(false)
  expect(iso(await occurrenceAfter(weekly, before, before))).toBe('2026-04-04T00:00:00.000Z')
  const daily = { repeat: 'FREQ=DAILY;INTERVAL=2;UNTIL=20260401T000000Z', timeZone: 'UTC' }
  expect(iso(await occurrenceAfter(daily, before, at('2026-03-29T00:00:00Z')))).toBe('2026-03-30T01:00:00.000Z')
  expect(await occurrenceAfter(daily, before, at('2026-04-01T00:00:00Z'))).toBeNull()
})

it('accepts only rules that certainly occur again, so that no search is long', async () => {
  const refused = [
    ...['', 'FREQ=YEARLY', 'FREQ=SECONDLY', 'FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=2', 'FREQ=DAILY;BYDAY=MO;INTERVAL=7'],
    ...['FREQ=WEEKLY;INTERVAL=0', 'FREQ=WEEKLY;INTERVAL=53', 'FREQ=WEEKLY;COUNT=3', 'FREQ=WEEKLY;FREQ=WEEKLY'],
    ...['FREQ=WEEKLY;BYDAY=5MO', 'FREQ=WEEKLY;BYSETPOS=1', 'FREQ=WEEKLY\nEXDATE:20260101', 'freq=weekly'],
    ...['FREQ=WEEKLY;constructor=1', `FREQ=WEEKLY;BYDAY=${'MO,'.repeat(100)}MO`, 'FREQ=WEEKLY=1'],
  ]
  expect(refused.filter((rule) => recurrenceProblem(rule) === null)).toEqual([])
  expect(recurrenceProblem('FREQ=WEEKLY;INTERVAL=52;BYDAY=MO,SU;WKST=SU;UNTIL=20300101T000000Z')).toBeNull()
})

it('bounds an occurrence by the time to the next one', () => {
  const hours = (repeat: string) => longestOccurrence(repeat) / 3_600_000
  expect(
    ['FREQ=DAILY', 'FREQ=WEEKLY', 'FREQ=WEEKLY;INTERVAL=2;BYDAY=FR', 'FREQ=WEEKLY;BYDAY=SA,SU'].map(hours),
  ).toEqual([...[23, 167, 335, 23]])
})
