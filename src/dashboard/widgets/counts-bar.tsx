/** The counts by state, as a bar and as a legend. */

import {
  type Counts,
  countOf,
  type DeploymentState,
  deploymentStates,
  formatNumber,
  stateWords,
} from '../data/labels.ts'
import { StateMark } from './state-mark.tsx'

interface BarProps {
  readonly counts: Counts
  /** The number of INSTALLED deployments in an older version than the target version. */
  readonly old?: number
  readonly label: string
}

export function CountsBar({ counts, old = 0, label }: BarProps) {
  const segments = deploymentStates
    .flatMap((state) => {
      const count = countOf(counts, state)
      const whole = { name: state.toLowerCase(), word: stateWords[state], count }
      if (state !== 'INSTALLED' || old === 0) return [whole]
      const stale = { name: 'installed old', word: 'Installed, older version', count: Math.min(old, count) }
      return [{ ...whole, count: count - stale.count }, stale]
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
}

/** Lists every state, also those with a count of 0, so that nothing moves when a count changes. */
export function CountsLegend({ counts, to }: LegendProps) {
  return (
    <ul class="legend">
      {deploymentStates.map((state) => (
        <li key={state}>
          <a href={to(state)} class={countOf(counts, state) === 0 ? 'none' : undefined}>
            <StateMark of={state} />
            <b class="number">{formatNumber(countOf(counts, state))}</b>
          </a>
        </li>
      ))}
    </ul>
  )
}
