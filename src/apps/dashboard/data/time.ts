/** Formats times and durations, and keeps the current second. */
import { signal } from '@preact/signals'

/** Milliseconds by which the server's clock is ahead of the browser's. The page shows times of the server, and ages are relative to its clock. */
const lead = signal(0)
/** Milliseconds. The server names its time to the second. */
const tolerance = 2_000

/** The time of the server, as far as it is known. */
export const clock = (): number => Date.now() + lead.value

/** Updated once a second. */
export const now = signal(Date.now())
export const tick = (): void => {
  if (!document.hidden) now.value = clock()
}
setInterval(tick, 1_000)

/** `date`: the `Date` header of an answer that has just arrived. `took`: the milliseconds since its request, in which the server named that time. */
export function setClock(date: string | null, took: number): void {
  const difference = Date.parse(date ?? '') - Date.now()
  if (Number.isNaN(difference)) return
  lead.value = Math.abs(difference) < tolerance + took ? 0 : difference
  tick()
}

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
const yearTime = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})
const fullTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long', hourCycle: 'h23' })

const day = 86_400_000

/** To the second. With the date if it is twelve hours away or more, and then with the year unless it is this one. */
export function formatTime(time: string | number): string {
  const date = new Date(time)
  return Math.abs(date.getTime() - clock()) < day / 2 ? clockTime.format(date) : withDate(date)
}

/** With the date if the time is `dated` milliseconds away or more, and not today. */
export function formatMinute(time: number, dated = day): string {
  const [date, today] = [new Date(time), new Date(clock())]
  const isNear = Math.abs(time - today.getTime()) < dated || date.toDateString() === today.toDateString()
  return isNear ? minuteTime.format(time) : withDate(date)
}

const withDate = (date: Date): string =>
  (date.getFullYear() === new Date(clock()).getFullYear() ? dayTime : yearTime).format(date)

const zone = new Intl.DateTimeFormat(undefined, { timeZoneName: 'short' })

/** The zone of all times of the page, such as `CET` or `GMT+2`, in winter or in summer. */
export const zoneAt = (time: number): string =>
  zone.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? ''

export const zoneName = zoneAt(Date.now())

const tickSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400]

/** At most `most` round local times between two times. */
export function chooseTicks(from: number, to: number, most: number): readonly number[] {
  const seconds =
    tickSteps.find((each) => (to - from) / 1_000 / each <= most) ?? Math.ceil((to - from) / most / day / 1_000) * 86_400
  const step = seconds * 1_000
  const offset = new Date(from).getTimezoneOffset() * 60_000
  const first = Math.ceil((from - offset) / step) * step + offset
  return Array.from({ length: Math.max(Math.floor((to - first) / step) + 1, 0) }, (_, index) => first + index * step)
}

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

/** The state at a time includes the changes of its millisecond. */
export const justAfter = (time: string): string => new Date(Date.parse(time) + 1).toISOString()
