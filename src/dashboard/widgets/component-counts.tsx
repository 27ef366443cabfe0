/** The progress of each component of a rollout. */
import { useMemo } from 'preact/hooks'
import type { Row } from '../data/deployment-rows.ts'
import { type Counts, deploymentStates, formatNumber } from '../data/labels.ts'
import { CountsBar } from './counts-bar.tsx'
import { StateMark } from './state-mark.tsx'

export function ComponentCounts({ list }: { readonly list: readonly Row[] }) {
  const components = useMemo(() => countComponents(list), [list])
  if (components.length === 0) return null
  return (
    <section class="panel" aria-labelledby="components">
      <h2 id="components">Components</h2>
      <ul class="components">
        {components.map(({ name, counts }) => (
          <li key={name}>
            <span class="component">{name}</span>
            <CountsBar counts={counts} label={name} />
            <span class="number so-far">
              {formatNumber(counts.installed)}
              <span class="muted"> of {formatNumber(counts.total - counts.removed)}</span>
            </span>
            <span class="marks">
              {counts.failed > 0 && <StateMark of="FAILED">{`${formatNumber(counts.failed)} failed`}</StateMark>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function countComponents(list: readonly Row[]): readonly { readonly name: string; readonly counts: Counts }[] {
  const byName = new Map<string, Record<keyof Counts, number>>()
  for (const { components } of list)
    for (const { name, state } of components) {
      const counts = byName.get(name) ?? zeroCounts()
      counts.total += 1
      counts[state.toLowerCase() as keyof Counts] += 1
      byName.set(name, counts)
    }
  return [...byName].map(([name, counts]) => ({ name, counts }))
}

const zeroCounts = (): Record<keyof Counts, number> => ({
  total: 0,
  ...(Object.fromEntries(deploymentStates.map((state) => [state.toLowerCase(), 0])) as Record<
    Exclude<keyof Counts, 'total'>,
    number
  >),
})
