/** The progress of each component of a rollout. */
import { type FragmentOf, graphql } from '../../data/graphql.ts'
import { expectedOf, formatNumber } from '../../data/labels.ts'
import { CountsBar } from '../states/counts-bar.tsx'
import { StateMark } from '../states/state-mark.tsx'

export const componentsFragment = graphql(`
  fragment ComponentGroups on DeploymentGroupConnection {
    totalCount nodes { key counts { total pending installing installed failed removing removed } }
  }
`)

export function ComponentCounts({ of }: { readonly of: FragmentOf<typeof componentsFragment> }) {
  if (of.nodes.length === 0) return null
  return (
    <section class="panel" aria-labelledby="components">
      <h2 id="components">Components</h2>
      <ul class="components">
        {of.nodes.map(({ key, counts }) => (
          <li key={key}>
            <span class="component">{key}</span>
            <CountsBar counts={counts} label={key ?? ''} />
            <span class="number so-far">
              {formatNumber(counts.installed)}
              <span class="muted"> of {formatNumber(expectedOf(counts))}</span>
            </span>
            <span class="marks">
              {counts.failed > 0 && <StateMark of="FAILED">{`${formatNumber(counts.failed)} failed`}</StateMark>}
            </span>
          </li>
        ))}
      </ul>
      {of.totalCount > of.nodes.length && (
        <p class="muted">and {formatNumber(of.totalCount - of.nodes.length)} more components</p>
      )}
    </section>
  )
}
