/**
 * When a repeated event occurs next: an RRULE of RFC 5545, read by rrule-temporal. Only rules that certainly occur within a year are accepted:
 * a rule that never occurs, such as the 30th of February, would have the library search to the end of its calendar. Each search begins at the
 * last occurrence, which has the same phase, so none gets longer with the years.
 */
import type { RRuleTemporal } from 'rrule-temporal'
import type { Millis } from '../../domain/values.ts'

export interface Recurrence {
  readonly repeat: string
  readonly timeZone: string
}

const longestRule = 200
const longestInterval = 52
/** Periods of one search: ten years of days. */
const mostPeriods = 3_660

const days = '(?:MO|TU|WE|TH|FR|SA|SU)'
const parts: Readonly<Record<string, RegExp>> = {
  FREQ: /^(?:DAILY|WEEKLY)$/,
  INTERVAL: /^[1-9]\d?$/,
  BYDAY: new RegExp(`^${days}(?:,${days}){0,6}$`),
  UNTIL: /^\d{8}T\d{6}Z$/,
  WKST: new RegExp(`^${days}$`),
}

const hour: Millis = 3_600_000
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

/** The first occurrence after a time, of those that follow `from`, which is one itself. Null: there is none. */
export async function occurrenceAfter(
  { repeat, timeZone }: Recurrence,
  from: Millis,
  after: Millis,
): Promise<Millis | null> {
  return (await ruleFrom({ repeat, timeZone }, from)).next(new Date(Math.max(after, from)))?.epochMilliseconds ?? null
}

/** Whether it occurs at this time. */
export async function occursAt(recurrence: Recurrence, time: Millis): Promise<boolean> {
  return (await ruleFrom(recurrence, time)).next(new Date(time), true)?.epochMilliseconds === time
}

async function ruleFrom({ repeat, timeZone }: Recurrence, from: Millis): Promise<RRuleTemporal> {
  if (!read(repeat)) throw new Error(`not a rule: ${repeat}`)
  const { RRuleTemporal } = await import('rrule-temporal')
  const dtstart = { timeZoneId: timeZone, toString: () => `${new Date(from).toISOString()}[${timeZone}]` }
  return new RRuleTemporal({ rruleString: `RRULE:${repeat}`, dtstart, maxIterations: mostPeriods })
}
