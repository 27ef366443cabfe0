/** The states of a deployment and its components over time: one lane for each, with attempts separated and failures highlighted. */
import { convergenceWords, type DeploymentState, stateWords } from '../../data/labels.ts'
import { formatSpan, formatTime } from '../../data/time.ts'
import { useWidth } from '../area-chart.tsx'
import type { Change } from '../change-line.tsx'

interface SwimlanesProps {
  readonly changes: readonly Change[]
  /** The end of the segment. */
  readonly to: number
  /** The earlier part is not among the loaded changes. */
  readonly isPart: boolean
}

interface Segment {
  readonly from: number
  readonly to: number
  /** Its colour and its word. */
  readonly mark: string
  readonly word: string
}

const laneHeight = 26
const barHeight = 12
const whole = ''
/** The lane of convergence. No component has this name. */
const convergenceLane = '\0'

const nameOf = (lane: string): string =>
  lane === whole ? 'deployment' : lane === convergenceLane ? 'convergence' : lane

export function Swimlanes({ changes, to, isPart }: SwimlanesProps) {
  const [frame, width] = useWidth()
  const [first] = changes
  if (!first) return <p class="empty">No changes yet.</p>
  const from = Date.parse(first.at)
  const end = Math.max(to, Date.parse(changes.at(-1)?.at ?? first.at) + 1_000)
  const { lanes, attempts } = findLanes(changes, end)
  const names = [...lanes.keys()]
  const gutter = width < 480 ? 0 : 130
  const x = (time: number): number => gutter + ((time - from) / (end - from)) * (width - gutter)
  const height = names.length * (laneHeight + (gutter === 0 ? 12 : 0)) + 4
  const lane = (index: number): number => index * (laneHeight + (gutter === 0 ? 12 : 0)) + (gutter === 0 ? 14 : 0)
  return (
    <figure class="swimlanes" ref={frame}>
      <svg width={width} height={height} role="img" aria-label={describe(lanes, from, end)}>
        {attempts.map((time) => (
          <line key={time} x1={x(time)} x2={x(time)} y1={0} y2={height} class="attempt-line" />
        ))}
        {names.map((name, index) => (
          <g key={name} transform={`translate(0 ${lane(index)})`}>
            <text x={0} y={gutter === 0 ? -1 : 13} class={name === whole ? 'lane whole' : 'lane'}>
              {shorten(nameOf(name), gutter === 0 ? 40 : 17)}
            </text>
            {(lanes.get(name) ?? []).map((segment) => (
              <rect
                key={segment.from}
                class={`segment ${segment.mark}`}
                x={x(segment.from)}
                y={3}
                width={Math.max(x(segment.to) - x(segment.from) - 1, 2)}
                height={name === whole ? barHeight + 2 : barHeight - 2}
                rx={2}
              >
                <title>{`${nameOf(name)}: ${segment.word} for ${formatSpan(segment.to - segment.from)} from ${formatTime(segment.from)}`}</title>
              </rect>
            ))}
          </g>
        ))}
      </svg>
      <div class="axis" aria-hidden="true" style={{ marginInlineStart: `${gutter}px` }}>
        <span>
          {isPart && '… '}
          {formatTime(from)}
        </span>
        <span>{formatSpan(end - from)}</span>
        <span>{formatTime(end)}</span>
      </div>
    </figure>
  )
}

function findLanes(changes: readonly Change[], end: number) {
  const lanes = new Map<string, Segment[]>([[whole, []]])
  const attempts: number[] = []
  let attempt = 0
  const close = (name: string, time: number): Segment[] => {
    const segments = lanes.get(name) ?? []
    const open = segments.at(-1)
    if (open && open.to === end) segments[segments.length - 1] = { ...open, to: time }
    lanes.set(name, segments)
    return segments
  }
  for (const change of changes) {
    const time = Date.parse(change.at)
    if (change.__typename === 'DeploymentStateChanged') {
      if (attempt > 0 && change.attempt > attempt) attempts.push(time)
      attempt = change.attempt
      if (change.from !== change.to || lanes.get(whole)?.length === 0)
        close(whole, time).push({ from: time, to: end, ...ofState(change.to) })
    }
    if (change.__typename === 'ComponentStateChanged' && (change.from !== change.to || !lanes.has(change.component)))
      close(change.component, time).push({ from: time, to: end, ...ofState(change.to) })
    if (
      change.__typename === 'ConvergenceChanged' &&
      (change.fromConvergence !== change.toConvergence || !lanes.has(convergenceLane))
    )
      close(convergenceLane, time).push({
        from: time,
        to: end,
        mark: change.toConvergence.toLowerCase(),
        word: convergenceWords[change.toConvergence],
      })
    if (change.__typename === 'ComponentRemoved') close(change.component, time)
  }
  return { lanes, attempts }
}

const ofState = (state: DeploymentState): Pick<Segment, 'mark' | 'word'> => ({
  mark: state.toLowerCase(),
  word: stateWords[state],
})

const describe = (lanes: ReadonlyMap<string, readonly Segment[]>, from: number, end: number): string =>
  `From ${formatTime(from)} to ${formatTime(end)}. ${[...lanes]
    .map(([name, segments]) => `${nameOf(name)}: ${segments.map(({ word }) => word.toLowerCase()).join(', then ')}`)
    .join('. ')}.`

const shorten = (name: string, length: number): string =>
  name.length <= length ? name : `${name.slice(0, length - 1)}…`
