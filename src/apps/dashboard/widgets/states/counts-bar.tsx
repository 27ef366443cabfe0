/** The counts by state, as a bar and as a legend. */
import {
  type Counts,
  countOf,
  type DeploymentState,
  formatNumber,
  insideStates,
  outsideStates,
  stateWords,
} from '../../data/labels.ts'
import { StateMark } from './state-mark.tsx'

interface BarProps {
  readonly counts: Counts
  /** The number of INSTALLED deployments that do not work, or do not work yet. */
  readonly broken?: number
  /** The number of INSTALLED deployments in an older version than the target version. */
  readonly old?: number
  readonly label: string
}

/** Shows the deployments that should be there. If all are removed on purpose, it shows those. */
export function CountsBar({ counts, broken = 0, old = 0, label }: BarProps) {
  const isEmpty = insideStates.every((state) => countOf(counts, state) === 0)
  const segments = (isEmpty ? [...outsideStates] : insideStates)
    .flatMap((state) => {
      const count = countOf(counts, state)
      const whole = { name: state.toLowerCase(), word: stateWords[state], count }
      if (state !== 'INSTALLED') return [whole]
      const bad = { name: 'installed broken', word: 'Installed, not working', count: Math.min(broken, count) }
      const stale = { name: 'installed old', word: 'Installed, older version', count: Math.min(old, count - bad.count) }
      return [{ ...whole, count: count - bad.count - stale.count }, stale, bad]
    })
    .filter(({ count }) => count > 0)
  const words = segments.map(({ word, count }) => `${formatNumber(count)} ${word.toLowerCase()}`)
  return (
    <div class="bar" role="img" aria-label={`${label}: ${words.join(', ') || 'none'}`}>
      {segments.map(({ name, word, count }) => (
        <span
          key={name}
          class={`segment ${name}`}
          style={{ flexGrow: count }}
          title={`${word}: ${formatNumber(count)}`}
        />
      ))}
    </div>
  )
}

interface LegendProps {
  readonly counts: Counts
  readonly to: (state: DeploymentState) => string
  /** Absent: no cluster reports whether deployments work. */
  readonly broken?: { readonly count: number; readonly to: string } | undefined
  /** Deployments on retired devices. */
  readonly retired?: { readonly count: number; readonly to: string }
}

/** Lists every state, also those with a count of 0, so that nothing moves when a count changes. */
export function CountsLegend({ counts, to, broken, retired }: LegendProps) {
  const entry = (state: DeploymentState) => (
    <li key={state}>
      <a href={to(state)} class={countOf(counts, state) === 0 ? 'none' : undefined}>
        <StateMark of={state} />
        <b class="number">{formatNumber(countOf(counts, state))}</b>
      </a>
    </li>
  )
  return (
    <ul class="legend">
      {insideStates.map(entry)}
      {broken && (
        <li>
          <a href={broken.to} class={broken.count === 0 ? 'none' : undefined}>
            <StateMark of="BROKEN" />
            <b class="number">{formatNumber(broken.count)}</b>
          </a>
        </li>
      )}
      <li class="outside">
        <span class="muted">Not counted:</span>
        <ul>
          {[...outsideStates].map(entry)}
          {retired && retired.count > 0 && (
            <li>
              <a href={retired.to}>
                On retired devices <b class="number">{formatNumber(retired.count)}</b>
              </a>
            </li>
          )}
        </ul>
      </li>
    </ul>
  )
}
