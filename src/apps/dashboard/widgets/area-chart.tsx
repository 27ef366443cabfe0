/** A stacked chart of counts over time, with the rate of changes below. Plain SVG: a few paths need no library. */
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { countOf, deploymentStates, formatNumber, stateWords } from '../data/labels.ts'
import type { Band } from '../data/maintenance.ts'
import type { Point } from '../data/past-points.ts'
import { chooseTicks, formatMinute, formatTime, zoneName } from '../data/time.ts'

interface AreaChartProps {
  readonly points: readonly Point[]
  /** When devices were in maintenance windows. */
  readonly bands?: readonly Band[]
  readonly from: number
  readonly to: number
  readonly label: string
  readonly height?: number
  /** The past time that the page shows. */
  readonly at?: number | null
  readonly isLoading?: boolean
}

/** From the bottom: good states, then states in progress. Failures are on top, where they are visible. */
const stacked = ['INSTALLED', 'INSTALLING', 'PENDING', 'REMOVING', 'REMOVED', 'FAILED'] as const

export function AreaChart({
  points,
  bands = [],
  from,
  to,
  label,
  height = 180,
  at = null,
  isLoading = false,
}: AreaChartProps) {
  const [frame, width] = useWidth()
  const hatch = useId()
  const [hovered, setHovered] = useState<number | null>(null)
  const most = Math.max(...points.map(({ counts }) => counts.total), 1)
  const x = (time: number): number => ((time - from) / Math.max(to - from, 1)) * width
  const y = (count: number): number => height - (count / most) * (height - 8)
  const shown = hovered === null ? null : (points[hovered] ?? null)
  const last = points.at(-1)
  const ticks = chooseTicks(from, to, Math.max(Math.floor(width / 120), 2))
  const isFine = (ticks[1] ?? to) - (ticks[0] ?? from) < 60_000
  const say = isFine ? formatTime : formatMinute
  const present = stacked.filter((state) => points.some(({ counts }) => countOf(counts, state) > 0))

  const hover = (event: PointerEvent): void => {
    const box = (event.currentTarget as Element).getBoundingClientRect()
    const time = from + ((event.clientX - box.left) / box.width) * (to - from)
    const distance = ({ time: moment }: Point): number => Math.abs(moment - time)
    const nearest = points.reduce(
      (best, point, index) => (distance(point) < distance(points[best] ?? point) ? index : best),
      0,
    )
    setHovered(points.length > 0 ? nearest : null)
  }

  return (
    <figure class="chart" ref={frame}>
      <svg
        width={width}
        height={height}
        role="img"
        class={isLoading ? 'loading' : undefined}
        aria-label={`${label}, ${formatMinute(from)} to ${formatMinute(to)} ${zoneName}. ${last ? summarize(last, say) : isLoading ? 'Loading…' : 'No data yet.'}${bands.map((band) => ` ${describeBand(band)}.`).join('')}`}
        onPointerMove={hover}
        onPointerLeave={() => setHovered(null)}
      >
        <defs>
          <pattern
            id={hatch}
            class="hatch"
            width={6}
            height={6}
            patternUnits="userSpaceOnUse"
            patternTransform="rotate(45)"
          >
            <path d="M0 0H6V6H0z" />
            <path d="M1 0V6" class="stripe" />
          </pattern>
        </defs>
        {[0, 0.25, 0.5, 0.75].map((part) => (
          <line key={part} x1={0} x2={width} y1={y(most * (1 - part))} y2={y(most * (1 - part))} class="grid" />
        ))}
        {stacked.map((state, layer) => {
          const below = (point: Point): number =>
            stacked.slice(0, layer).reduce((sum, each) => sum + countOf(point.counts, each), 0)
          const upper = points.map(
            (point) => `${x(point.time).toFixed(1)},${y(below(point) + countOf(point.counts, state)).toFixed(1)}`,
          )
          const lower = points.map((point) => `${x(point.time).toFixed(1)},${y(below(point)).toFixed(1)}`).toReversed()
          return (
            points.length > 1 && (
              <polygon
                key={state}
                class={`area ${state.toLowerCase()}`}
                points={[...upper, ...lower].join(' ')}
                style={state === 'REMOVED' ? { fill: `url(#${hatch})` } : undefined}
              />
            )
          )
        })}
        {bands.map((band) => {
          const begin = Math.max(x(Date.parse(band.from)), 0)
          const end = Math.min(x(Date.parse(band.until)), width)
          return (
            <rect
              key={`${band.from} ${band.until}`}
              class="band"
              x={begin}
              width={Math.max(end - begin, 1)}
              y={0}
              height={height}
            >
              <title>{describeBand(band)}</title>
            </rect>
          )
        })}
        {ticks.map((time) => (
          <line key={time} x1={x(time)} x2={x(time)} y1={height - 4} y2={height} class="tick" />
        ))}
        {at !== null && <line x1={x(at)} x2={x(at)} y1={0} y2={height} class="at" />}
        {shown && <line x1={x(shown.time)} x2={x(shown.time)} y1={0} y2={height} class="cursor" />}
      </svg>
      <div class="axis" aria-hidden="true">
        {ticks.map((time) => (
          <span
            key={time}
            class="at-tick"
            style={{ insetInlineStart: `${Math.min(Math.max(x(time), 24), width - 24)}px` }}
          >
            {say(time)}
          </span>
        ))}
        {points.length > 0 && <span class="most">{formatNumber(most)}</span>}
      </div>
      <ul class="chart-legend">
        {deploymentStates.map((state) => (
          <li key={state} class={`tip-row ${state.toLowerCase()}${present.includes(state) ? '' : ' none'}`}>
            <i /> {stateWords[state]}
          </li>
        ))}
        {bands.length > 0 && (
          <li class="tip-row maintenance">
            <i /> In maintenance
          </li>
        )}
        <li class="muted zone">{zoneName}</li>
      </ul>
      {shown && (
        <figcaption
          class="tip"
          aria-hidden="true"
          style={{ insetInlineStart: `${Math.min(Math.max(x(shown.time), 80), width - 80)}px` }}
        >
          <b>{say(shown.time)}</b>
          {deploymentStates.map((state) =>
            countOf(shown.counts, state) > 0 ? (
              <span key={state} class={`tip-row ${state.toLowerCase()}`}>
                <i />
                {stateWords[state]} <b class="number">{formatNumber(countOf(shown.counts, state))}</b>
              </span>
            ) : null,
          )}
        </figcaption>
      )}
    </figure>
  )
}

const describeBand = ({ from, until, reason, targets }: Band): string =>
  `${formatNumber(targets)} in maintenance from ${formatMinute(Date.parse(from))} to ${formatMinute(Date.parse(until))}: ${reason}`

const summarize = ({ time, counts }: Point, say: (time: number) => string): string =>
  `At ${say(time)} ${deploymentStates
    .filter((state) => countOf(counts, state) > 0)
    .map((state) => `${formatNumber(countOf(counts, state))} ${stateWords[state].toLowerCase()}`)
    .join(', ')}.`

/** The width of the element, updated when it changes. */
export function useWidth() {
  const element = useRef<HTMLElement>(null)
  const [width, setWidth] = useState(320)
  useEffect(() => {
    if (!element.current) return
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.max(Math.floor(entry.contentRect.width), 1))
    })
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  return [element, width] as const
}
