/** All rollouts, with their progress. */

import { type FragmentOf, graphql, type VariablesOf } from '../data/graphql.ts'
import { formatNumber, formatShare, plural } from '../data/labels.ts'
import { useLiveAnswer } from '../data/use-query.ts'
import { href } from '../route.ts'
import { convergenceCountsFragment } from '../widgets/convergence.tsx'
import { CountsBar } from '../widgets/counts-bar.tsx'
import { ErrorMessage } from '../widgets/error-message.tsx'
import { Choice, Pager, SearchField, useFilters } from '../widgets/filters.tsx'
import { StateMark } from '../widgets/state-mark.tsx'

export const countsFragment = graphql(
  `
    fragment Counts on DeploymentCounts {
      total pending installing installed failed removing removed revision
      convergence { ...ConvergenceNumbers }
    }
  `,
  [convergenceCountsFragment],
)

/** For installed deployments: whether the installed version is the target version. */
export const installedFragment = graphql(
  `fragment Installed on DeploymentCounts { total convergence { ...ConvergenceNumbers } }`,
  [convergenceCountsFragment],
)

export const rolloutFragment = graphql(
  `
    fragment RolloutSummary on Rollout {
      id name kind project state status compositeApp compositeAppVersion
      deploymentCounts { ...Counts }
      stalled: deploymentCounts(filter: { stalled: true }) { total }
      old: deploymentCounts(filter: { states: [INSTALLED], convergence: [STALE] }) { total }
    }
  `,
  [countsFragment],
)

export type RolloutSummary = FragmentOf<typeof rolloutFragment>

const rolloutsDocument = graphql(
  `
    query Rollouts($filter: RolloutFilter, $after: String) {
      revision
      rollouts(filter: $filter, first: 50, after: $after) { totalCount nodes { ...RolloutSummary } pageInfo { hasNextPage endCursor } }
    }
  `,
  [rolloutFragment],
)

type Kind = NonNullable<NonNullable<VariablesOf<typeof rolloutsDocument>['filter']>['kinds']>[number]

export const rolloutKinds: Readonly<Record<Kind, string>> = {
  DECLARED: 'Declared',
  DEPLOYMENT_INTENT_GROUP: 'Intent group',
  CLUSTER_INTENTS: 'Cluster intents',
  RESOURCE_BUNDLE: 'Resource bundle',
  MARGO_DEPLOYMENT: 'Undeclared',
}

export function RolloutsPage() {
  const { text, many, one } = useFilters()
  const kinds = many('kind', Object.keys(rolloutKinds) as Kind[])
  const search = text()
  const filter = { ...(kinds.length > 0 ? { kinds } : {}), ...(search ? { text: search } : {}) }
  const after = one('after')
  const { data, error } = useLiveAnswer(rolloutsDocument, { filter, after }, {})
  return (
    <>
      <h1>Rollouts</h1>
      <div class="filters" role="search" aria-label="Filter rollouts">
        <SearchField label="Name or project" />
        <Choice name="kind" label="Kind" options={rolloutKinds} />
      </div>
      {error && <ErrorMessage error={error} />}
      <p class="muted number" role="status">
        {data ? plural(data.rollouts.totalCount, 'rollout') : 'Loading…'}
      </p>
      <ul class="rollouts panel">
        {data?.rollouts.nodes.map((rollout) => (
          <li key={rollout.id}>
            <RolloutLine rollout={rollout} />
          </li>
        ))}
      </ul>
      {data && data.rollouts.nodes.length === 0 && (
        <p class="empty">{Object.keys(filter).length > 0 ? 'No rollouts match these filters.' : 'No rollouts yet.'}</p>
      )}
      <Pager page={data?.rollouts.pageInfo} />
    </>
  )
}

export function RolloutLine({ rollout }: { readonly rollout: RolloutSummary }) {
  const { deploymentCounts: counts } = rollout
  const expected = counts.total - counts.removed
  return (
    <div class="rollout-line">
      <a href={href(['rollout', rollout.id])}>{rollout.name}</a>
      <small class="muted kind">{[rolloutKinds[rollout.kind], rollout.project].filter(Boolean).join(' · ')}</small>
      <CountsBar counts={counts} old={rollout.old.total} label={rollout.name} />
      <span class="number so-far">
        {formatNumber(counts.installed)}
        <span class="muted"> of {formatNumber(expected)}</span>
      </span>
      <b class="number share">{formatShare(counts.installed, expected)}</b>
      <span class="marks">
        {counts.failed > 0 && <StateMark of="FAILED">{`${formatNumber(counts.failed)} failed`}</StateMark>}
        {counts.convergence.stale > 0 && (
          <StateMark of="STALE">{`${formatNumber(counts.convergence.stale)} stale`}</StateMark>
        )}
        {rollout.stalled.total > 0 && (
          <StateMark of="STALLED">{`${formatNumber(rollout.stalled.total)} stalled`}</StateMark>
        )}
      </span>
    </div>
  )
}
