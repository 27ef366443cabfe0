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

it('begins where its local time does not exist, and once where it occurs twice', async () => {
  const sundays = { repeat: 'FREQ=WEEKLY', timeZone: 'Europe/Berlin' }
  const first = at('2026-03-22T01:30:00Z')
  const after = async (time: string) => iso(await occurrenceAfter(sundays, first, at(time)))
  expect(await after('2026-03-22T01:30:00Z')).toBe('2026-03-29T01:30:00.000Z')
  expect(await after('2026-03-29T01:30:00Z')).toBe('2026-04-05T00:30:00.000Z')
  expect(await after('2026-10-24T00:00:00Z')).toBe('2026-10-25T00:30:00.000Z')
  expect(await after('2026-10-25T00:30:00Z')).toBe('2026-11-01T01:30:00.000Z')
  // Where the clocks go round by half an hour, at the other end of the year.
  const lordHowe = { repeat: 'FREQ=DAILY', timeZone: 'Australia/Lord_Howe' }
  const night = at('2026-10-02T15:45:00Z')
  expect(iso(await occurrenceAfter(lordHowe, night, night))).toBe('2026-10-03T15:45:00.000Z')
  expect(iso(await occurrenceAfter(lordHowe, night, night + 86_400_000))).toBe('2026-10-04T15:15:00.000Z')
  await expect(occurrenceAfter({ ...sundays, timeZone: 'Mars/Base' }, first, first)).rejects.toThrow('Mars/Base')
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
