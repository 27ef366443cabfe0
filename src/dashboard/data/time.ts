/** Formats times and durations, and keeps the current second. */
import { signal } from '@preact/signals'

/** Updated once a second. */
export const now = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, 1_000)

const clockTime = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})
const minuteTime = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const dayTime = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})
const fullTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long', hourCycle: 'h23' })

const day = 86_400_000

/** To the second, with the date unless it is today. */
export function formatTime(time: string | number): string {
  const date = new Date(time)
  return Math.abs(date.getTime() - Date.now()) < day / 2 ? clockTime.format(date) : dayTime.format(date)
}

export const formatMinute = (time: number): string =>
  Math.abs(time - Date.now()) < day ? minuteTime.format(time) : dayTime.format(time)

export const formatFull = (time: string | number): string => fullTime.format(new Date(time))

/** Two units at most: `8 s`, `3 min`, `2 h 5 min`, `4 d`. */
export function formatSpan(milliseconds: number): string {
  const seconds = Math.round(Math.abs(milliseconds) / 1_000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`
  const days = Math.floor(hours / 24)
  return hours % 24 === 0 || days > 6 ? `${days} d` : `${days} d ${hours % 24} h`
}

export function formatAge(time: string | number, from: number): string {
  const span = from - new Date(time).getTime()
  return span < 1_500 ? 'now' : `${formatSpan(span)} ago`
}
