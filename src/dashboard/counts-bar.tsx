/** How many are in each state, as a bar and in words. */

import { StateMark } from './state-mark.tsx'
import { type Counts, countOf, type DeploymentState, deploymentStates, formatNumber, stateWords } from './words.ts'

export function CountsBar({ counts, label }: { readonly counts: Counts; readonly label: string }) {
  const present = deploymentStates.filter((state) => countOf(counts, state) > 0)
  const words = present.map((state) => `${formatNumber(countOf(counts, state))} ${stateWords[state].toLowerCase()}`)
  return (
    <div class="bar" role="img" aria-label={`${label}: ${words.join(', ') || 'none'}`}>
      {present.map((state) => (
        <span
          key={state}
          class={`segment ${state.toLowerCase()}`}
          style={{ flexGrow: countOf(counts, state) }}
          title={`${stateWords[state]}: ${formatNumber(countOf(counts, state))}`}
        />
      ))}
    </div>
  )
}

interface LegendProps {
  readonly counts: Counts
  readonly to: (state: DeploymentState) => string
}

/** Every state, also those that none is in: what appears later moves nothing. */
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
