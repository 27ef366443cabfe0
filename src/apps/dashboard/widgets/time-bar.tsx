/** The time slider: the rate of changes in the last hours, and a thumb that chooses the time that the page shows. */
import { useMemo, useState } from 'preact/hooks'
import { formatNumber } from '../data/labels.ts'
import { chooseStep, oldest, useOldest, usePoints } from '../data/past-points.ts'
import { throttle } from '../data/throttle.ts'
import { clock, formatFull, formatMinute, formatSpan, formatTime, now } from '../data/time.ts'
import { adjust, chosenTime, route } from '../route.ts'

const windows = {
  '15m': 15 * 60_000,
  '1h': 3_600_000,
  '6h': 6 * 3_600_000,
  '24h': 24 * 3_600_000,
  '7d': 7 * 24 * 3_600_000,
} as const
type Window = keyof typeof windows

export const windowWords: Readonly<Record<Window, string>> = {
  '15m': '15 minutes',
  '1h': 'hour',
  '6h': '6 hours',
  '24h': '24 hours',
  '7d': '7 days',
}

/** The range of the charts: the chosen one, or as much of it as there is history. */
export function useWindow() {
  const chosen = route.value.parameters.get('window')
  const name = chosen !== null && chosen in windows ? (chosen as Window) : fitting()
  const span = Math.min(windows[name], Math.max(now.value - (oldest.value ?? 0), 60_000))
  const step = chooseStep(span, steps)
  // Moves in steps, so that cached points are used again.
  const to = Math.ceil(now.value / step) * step
  const isWhole = span < windows[name]
  return { name, from: isWhole ? now.value - span : to - span, to, step, isWhole }
}

type Begin = Pick<ReturnType<typeof useWindow>, 'from' | 'isWhole'>

/** `history begins 02:38` if the range would begin earlier. */
export const describeHistory = ({ from, isWhole }: Begin): string | null =>
  isWhole ? `history begins ${formatMinute(Math.max(from, oldest.value ?? from))}` : null

const describeBegin = (begin: Begin): string => describeHistory(begin)?.replace(/^h/, 'H') ?? formatMinute(begin.from)

/** As long as the history, at most six hours, and longer only if the time that is shown would be outside. */
function fitting(): Window {
  const age = clock() - (oldest.value ?? clock())
  const usual = (['15m', '1h'] as const).find((name) => windows[name] >= age) ?? '6h'
  const shown = chosenTime.value === null ? 0 : clock() - Date.parse(chosenTime.value)
  // A time at the beginning of the range leaves it as time goes on, and the range stays for a while.
  const fits = (name: Window): boolean => windows[name] >= windows[usual] && windows[name] * 1.1 >= shown
  return (Object.keys(windows) as Window[]).find(fits) ?? '7d'
}

const steps = 60
/** Of the slider: a few pixels, or seconds. With finer ones, the arrow keys would not get away from now. */
const stops = 600

function WindowChoice() {
  const { name } = useWindow()
  return (
    <div class="choice" role="group" aria-label="Time range">
      {(Object.keys(windows) as Window[]).map((each) => (
        <button key={each} type="button" aria-pressed={each === name} onClick={() => adjust({ window: each })}>
          {each}
        </button>
      ))}
    </div>
  )
}

export function TimeBar() {
  const range = useWindow()
  const { from, to, step } = range
  useOldest()
  // Rates cost a look into the past, so only a reader who reaches for the slider sees them.
  const [isTouched, setIsTouched] = useState(false)
  const points = usePoints(null, from, to, step, isTouched || chosenTime.value !== null)
  const most = Math.max(...points.map(({ rate }) => rate ?? 0), 1)
  const then = chosenTime.value === null ? null : Date.parse(chosenTime.value)
  const choose = useMemo(() => {
    let chosen: number | null = null
    const apply = throttle(120, () => adjust({ at: chosen === null ? null : new Date(chosen).toISOString() }))
    return (time: number | null): void => {
      chosen = time
      apply()
    }
  }, [])
  // The charts end at a whole step, which may be still to come. The slider ends now.
  const end = now.value
  const stop = Math.max(Math.floor((end - from) / stops), 1)
  const slide = (event: Event): void => {
    const value = Number((event.currentTarget as HTMLInputElement).value)
    choose(value > end - stop ? null : value)
  }
  const isKnown = oldest.value !== undefined
  return (
    <aside class="time-bar" aria-label="History">
      <span class="time-now number">{then === null ? 'Now' : formatTime(then)}</span>
      {/* Until the beginning of the history is known, the place of a time is not. */}
      <div class="track" style={isKnown ? undefined : { visibility: 'hidden' }}>
        <svg viewBox={`0 0 ${steps} 20`} preserveAspectRatio="none" aria-hidden="true">
          {points.map(({ time, rate }) => {
            const height = rate ? Math.max((rate / most) * 18, 1) : 0
            const x = ((time - from) / (end - from)) * steps
            return height > 0 && <rect key={time} x={x - 0.85} y={20 - height} width={0.7} height={height} />
          })}
        </svg>
        <input
          type="range"
          min={from}
          max={end}
          step={stop}
          value={Math.min(then ?? end, end)}
          aria-label="Time shown"
          aria-valuetext={then === null ? 'now' : formatFull(then)}
          onPointerEnter={() => setIsTouched(true)}
          onFocus={() => setIsTouched(true)}
          onInput={slide}
        />
        <span class="from number" aria-hidden="true">
          {describeBegin(range)}
          {most > 1
            ? ` · at most ${formatNumber(Math.round((most * step) / 60_000))} changes in ${formatSpan(step)}`
            : ''}
        </span>
      </div>
      <WindowChoice />
    </aside>
  )
}
