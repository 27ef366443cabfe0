/** Whether a rollout is worse than the last one, in words, and a chart of both from their starts. */
import { useState } from 'preact/hooks'
import { type Side, useComparison } from '../../data/comparison.ts'
import type { Insight } from '../../data/insight.ts'
import { formatShare } from '../../data/labels.ts'
import { formatSpan } from '../../data/time.ts'
import { at } from '../../route.ts'
import { useWidth } from '../area-chart.tsx'
import { ErrorMessage } from '../error-message.tsx'
import { StateMark } from '../states/state-mark.tsx'

/** The API compares five: this one and four others. */
const mostOthers = 4
/** Of the other rollouts: only states have colour. */
const dashes = ['6 3', '2 3', '10 3 2 3', '1 5', '14 4']

interface ComparisonProps {
  readonly id: string
  readonly name: string
  readonly of: Insight
}

/** The API compares the present only. */
export function Comparison({ id, name, of: { earlier, startedAt, finishedAt } }: ComparisonProps) {
  const started = earlier.filter((one) => one.startedAt !== null)
  const [chosen, setChosen] = useState<readonly string[] | null>(null)
  const isShown = at.value === null && startedAt !== null && started.length > 0
  const others = started.map((one) => one.id).filter((one, index) => chosen?.includes(one) ?? index === 0)
  const { comparison, isCurrent, error } = useComparison(id, isShown ? others : [], finishedAt !== null)
  if (!isShown) return null
  // Until the answer arrives, the words and charts are of the last choice.
  const freshness = isCurrent ? undefined : 'outdated'
  const dashOf = (one: string): string => dashes[started.findIndex((each) => each.id === one)] ?? ''
  const toggle = (one: string): void =>
    setChosen(others.includes(one) ? others.filter((each) => each !== one) : [...others, one])
  return (
    <section class="panel" aria-labelledby="comparison">
      <h2 id="comparison">
        Comparison <small class="muted">with earlier rollouts, each from its own start</small>
      </h2>
      {error && <ErrorMessage error={error} />}
      {comparison && (
        <p role="status" class={freshness}>
          {comparison.isWorse && (
            <>
              <StateMark of="FAILED">Worse than the last one</StateMark>{' '}
            </>
          )}
          {comparison.summary}
        </p>
      )}
      <ul class="chart-legend compared">
        <li>
          <Sample /> <bdi>{name}</bdi>
        </li>
        {started.map((one) => (
          <li key={one.id}>
            <label>
              <input
                type="checkbox"
                checked={others.includes(one.id)}
                disabled={!others.includes(one.id) && others.length >= mostOthers}
                onChange={() => toggle(one.id)}
              />{' '}
              <Sample dash={dashOf(one.id)} /> <bdi>{one.name}</bdi>
            </label>
          </li>
        ))}
      </ul>
      {comparison ? (
        <div class={freshness} aria-busy={!isCurrent}>
          {(['installed', 'failed'] as const).map((state) => (
            <LineChart key={state} state={state} sides={comparison.rollouts} dashOf={dashOf} />
          ))}
        </div>
      ) : (
        <p class="empty">{others.length === 0 ? 'No rollout is chosen.' : error ? '' : '…'}</p>
      )}
    </section>
  )
}

const Sample = ({ dash }: { readonly dash?: string }) => (
  <svg width={28} height={8} aria-hidden="true">
    <line x1={0} x2={28} y1={4} y2={4} class={dash === undefined ? 'own' : 'other'} stroke-dasharray={dash} />
  </svg>
)

interface LineChartProps {
  readonly state: 'installed' | 'failed'
  /** The rollout in question first. */
  readonly sides: readonly Side[]
  readonly dashOf: (id: string) => string
}

const words = { installed: 'Installed', failed: 'Failed' }
const height = 110

/** Parts of all deployments, because rollouts have different sizes. */
function LineChart({ state, sides, dashOf }: LineChartProps) {
  const [frame, width] = useWidth()
  const lines = sides.map(({ rollout, points }) => ({
    rollout,
    points: points.map(({ seconds, counts }) => ({ seconds, part: counts.total && counts[state] / counts.total })),
  }))
  const all = lines.flatMap(({ points }) => points)
  const end = Math.max(...all.map(({ seconds }) => seconds), 1)
  const most = Math.max(...all.map(({ part }) => part), 0.01)
  const x = (seconds: number): number => (seconds / end) * width
  const y = (part: number): number => height - 1.5 - (part / most) * (height - 8)
  const last = lines.map(({ rollout, points }) => `${rollout.name} ${formatShare(points.at(-1)?.part ?? 0, 1)}`)
  return (
    <figure class="chart" ref={frame}>
      <svg
        width={width}
        height={height}
        role="img"
        aria-label={`${words[state]}, as a part of the deployments, over ${formatSpan(end * 1_000)} from the start. At the end ${last.join(', ')}.`}
      >
        <line x1={0} x2={width} y1={height - 0.5} y2={height - 0.5} class="grid" />
        {lines.toReversed().map(({ rollout, points }, index) => {
          const isOwn = index === lines.length - 1
          return (
            <polyline
              key={rollout.id}
              class={`compared ${isOwn ? `own ${state}` : 'other'}`}
              stroke-dasharray={isOwn ? undefined : dashOf(rollout.id)}
              points={points.map(({ seconds, part }) => `${x(seconds).toFixed(1)},${y(part).toFixed(1)}`).join(' ')}
            />
          )
        })}
      </svg>
      <div class="axis" aria-hidden="true">
        <span>{words[state]}</span>
        <span class="most">{formatShare(most, 1)}</span>
        <span>{formatSpan(end * 1_000)}</span>
      </div>
    </figure>
  )
}
