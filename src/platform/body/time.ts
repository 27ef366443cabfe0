import type { Millis } from '../../domain/values.ts'
import { shown } from './problems.ts'

const iso = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)? ?(Z|[+-]\d\d(?::?\d\d)?)?$/i

const lastInstant: Millis = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/**
 * An ISO 8601 date and time from 1970 on. Tolerances: a space instead of T (the 2024-06 proposal), any number of decimals, and no offset,
 * which means UTC. Null: it cannot be read, or it is Go's unset time, 0001-01-01T00:00:00Z.
 */
export function readTime(value: unknown): Millis | null {
  if (typeof value !== 'string' || value.length > 64) return null
  const parts = iso.exec(value)
  if (parts === null) return null
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  const [hour, minute, second] = [Number(parts[4]), Number(parts[5]), Number(parts[6] ?? 0)]
  if (year < 1969 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return null
  // 60 is a leap second. JavaScript has none, so it becomes the next second.
  if (hour > 23 || minute > 59 || second > 60) return null
  const offset = readOffset(parts[8])
  if (offset === null) return null
  const millis = Number((parts[7] ?? '').slice(0, 3).padEnd(3, '0'))
  const instant = Date.UTC(year, month - 1, day, hour, minute, second, millis) - offset
  return isReportable(instant) ? instant : null
}

/** Whether a time that another system states is from 1970 to 9999: the database and ISO 8601 write those with four digits. */
export function isReportable(time: Millis): boolean {
  return time >= 0 && time <= lastInstant
}

export function timeProblem(value: unknown): string {
  return `must be an ISO 8601 time from 1970 on, such as 2026-07-10T06:12:03Z, but is ${shown(value)}`
}

function readOffset(text: string | undefined): Millis | null {
  if (text === undefined || text === 'Z' || text === 'z') return 0
  const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(3).replace(':', ''))]
  if (hours > 23 || minutes > 59) return null
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}
