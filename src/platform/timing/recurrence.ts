/**
 * When a repeated event occurs next: an RRULE of RFC 5545, read by rrule-temporal. Only rules that certainly occur within a year are accepted:
 * a rule that never occurs, such as the 30th of February, would have the library search to the end of its calendar. A search begins at the first
 * occurrence: a later one may have been at another local time, where the clocks went forward.
 */
import type { RRuleTemporal } from 'rrule-temporal'
import type { Millis } from '../../domain/values.ts'

export interface Recurrence {
  readonly repeat: string
  readonly timeZone: string
}

const longestRule = 200
const longestInterval = 52
/** Periods of one search: a hundred years of days. */
const mostPeriods = 36_600

const days = '(?:MO|TU|WE|TH|FR|SA|SU)'
const parts: Readonly<Record<string, RegExp>> = {
  FREQ: /^(?:DAILY|WEEKLY)$/,
  INTERVAL: /^[1-9]\d?$/,
  BYDAY: new RegExp(`^${days}(?:,${days}){0,6}$`),
  UNTIL: /^\d{8}T\d{6}Z$/,
  WKST: new RegExp(`^${days}$`),
}

const hour: Millis = 3_600_000
const day = 24 * hour
const expected = 'FREQ=WEEKLY or FREQ=DAILY, with INTERVAL, UNTIL, WKST and, for WEEKLY, BYDAY: FREQ=WEEKLY;BYDAY=SA'

/** The parts of a rule. Null: it is not accepted. */
function read(repeat: string): ReadonlyMap<string, string> | null {
  if (repeat.length > longestRule) return null
  const found = new Map<string, string>()
  for (const part of repeat.split(';')) {
    const [name = '', value = '', ...more] = part.split('=')
    if (!Object.hasOwn(parts, name) || !parts[name]?.test(value) || more.length > 0 || found.has(name)) return null
    found.set(name, value)
  }
  const isDaily = found.get('FREQ') === 'DAILY'
  if (!found.has('FREQ') || (isDaily && found.has('BYDAY')) || Number(found.get('INTERVAL') ?? 1) > longestInterval)
    return null
  return found
}

/** Null: it is accepted. */
export function recurrenceProblem(repeat: string): string | null {
  return read(repeat) ? null : `must be ${expected}`
}

/** What an occurrence may last, so that it ends before the next one begins. */
export function longestOccurrence(repeat: string): Millis {
  const rule = read(repeat)
  const interval = Number(rule?.get('INTERVAL') ?? 1)
  const isOnceAWeek = rule?.get('FREQ') === 'WEEKLY' && !rule.get('BYDAY')?.includes(',')
  // An hour less: a night in spring has one hour less.
  return (isOnceAWeek ? 7 * 24 * interval : rule?.get('FREQ') === 'DAILY' ? 24 * interval : 24) * hour - hour
}

export function isTimeZone(name: string): boolean {
  try {
    return name.length <= 64 && new Intl.DateTimeFormat('en', { timeZone: name }) !== null
  } catch {
    return false
  }
}

/** The first occurrence after a time, of those that follow `first`, which is one itself. Null: there is none. Throws for a time zone that this server does not know. */
export async function occurrenceAfter(recurrence: Recurrence, first: Millis, after: Millis): Promise<Millis | null> {
  const { timeZone } = recurrence
  const until = untilOf(recurrence)
  const rule = await localRule(recurrence, first)
  // Where the clocks have changed, an earlier local time may be a later moment.
  let local = toLocal(Math.max(after, first), timeZone) - day
  for (;;) {
    const next = rule.next(new Date(local))?.epochMilliseconds
    if (next === undefined) return null
    const moment = toMoment(next, timeZone)
    if (moment > until) return null
    if (moment > Math.max(after, first)) return moment
    local = next
  }
}

/** Whether it occurs at this time. */
export async function occursAt(recurrence: Recurrence, time: Millis): Promise<boolean> {
  const local = toLocal(time, recurrence.timeZone)
  const next = (await localRule(recurrence, time)).next(new Date(local), true)?.epochMilliseconds
  return next === local && time <= untilOf(recurrence)
}

/** Of local times, as if they were UTC: the library leaves out those that do not exist where the clocks go forward. */
async function localRule({ repeat, timeZone }: Recurrence, first: Millis): Promise<RRuleTemporal> {
  if (!read(repeat)) throw new Error(`not a rule: ${repeat}`)
  const { RRuleTemporal } = await import('rrule-temporal')
  const local = `${new Date(toLocal(first, timeZone)).toISOString()}[UTC]`
  const dtstart = { timeZoneId: 'UTC', toString: () => local }
  const parts = repeat.split(';').filter((part) => !part.startsWith('UNTIL='))
  return new RRuleTemporal({ rruleString: `RRULE:${parts.join(';')}`, dtstart, maxIterations: mostPeriods })
}

function untilOf({ repeat }: Recurrence): Millis {
  const text = read(repeat)?.get('UNTIL')
  if (text === undefined) return Number.POSITIVE_INFINITY
  return Date.parse(text.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'))
}

/** What the clocks show there, as if it were UTC. */
function toLocal(moment: Millis, timeZone: string): Millis {
  const parts = clockOf(timeZone).formatToParts(moment)
  const [year = 0, month = 1, date = 1, hour = 0, minute = 0, second = 0] = parts.flatMap(({ type, value }) =>
    type === 'literal' ? [] : [Number(value)],
  )
  return Date.UTC(year, month - 1, date, hour, minute, second) + (moment % 1_000)
}

/** As RFC 5545 reads a local time that does not exist, or occurs twice: with the offset before the clocks change. */
function toMoment(local: Millis, timeZone: string): Millis {
  const [before = local, after = local] = [local - day, local + day].map(
    (near) => local - (toLocal(near, timeZone) - near),
  )
  return toLocal(after, timeZone) === local && toLocal(before, timeZone) !== local ? after : before
}

const clocks = new Map<string, Intl.DateTimeFormat>()

function clockOf(timeZone: string): Intl.DateTimeFormat {
  const numeric = 'numeric'
  const known = clocks.get(timeZone)
  if (known) return known
  const made = new Intl.DateTimeFormat('en-CA', {
    ...{ timeZone, calendar: 'iso8601', numberingSystem: 'latn', hourCycle: 'h23' },
    ...{ year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric },
  })
  clocks.set(timeZone, made)
  return made
}
