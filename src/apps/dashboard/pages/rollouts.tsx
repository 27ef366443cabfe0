/** All rollouts, with their progress. */
import { ask } from '../data/api.ts'
import { type Columns, readPages } from '../data/export.ts'
import { type FragmentOf, graphql, type VariablesOf } from '../data/graphql.ts'
import { expectedOf, formatNumber, formatStatus, plural } from '../data/labels.ts'
import { describeLoading } from '../data/loading.ts'
import { useLiveAnswer } from '../data/use-query.ts'
import { at, href } from '../route.ts'
import { ErrorMessage } from '../widgets/error-message.tsx'
import { ExportButtons } from '../widgets/lists/export-buttons.tsx'
import {
  Choice,
  describeNoLabel,
  Filters,
  Pager,
  parseLabel,
  SearchField,
  useFilters,
} from '../widgets/lists/filters.tsx'
import { GroupLines, groupsFragment } from '../widgets/lists/group-lines.tsx'
import { MaintenanceBadge } from '../widgets/maintenance.tsx'
import { Name } from '../widgets/name.tsx'
import { LabelLinks } from '../widgets/rollout/rollout-labels.tsx'
import { FirstRollout } from '../widgets/setup/first-report.tsx'
import { CountsBar } from '../widgets/states/counts-bar.tsx'
import { countsFragment, ShortHeadline } from '../widgets/states/standing.tsx'
import { StateMark } from '../widgets/states/state-mark.tsx'

export const rolloutFragment = graphql(
  `
    fragment RolloutSummary on Rollout {
      id presentId name kind project state status compositeApp compositeAppVersion labels { key value }
      deploymentCounts { ...Counts }
      broken: deploymentCounts(filter: { states: [INSTALLED], readiness: [FAILED, PENDING] }) { total }
      stalled: deploymentCounts(filter: { stalled: true }) { total }
      old: deploymentCounts(filter: { states: [INSTALLED], convergence: [STALE] }) { total }
      maintenance { deployments until }
    }
  `,
  [countsFragment],
)

type RolloutSummary = FragmentOf<typeof rolloutFragment>

const rolloutsDocument = graphql(
  `
    query Rollouts($filter: RolloutFilter, $after: String, $asOf: DateTime, $isPlain: Boolean!, $isCounted: Boolean!) {
      revision
      rollouts(filter: $filter, first: 25, after: $after, asOf: $asOf) { totalCount nodes { ...RolloutSummary } pageInfo { hasNextPage endCursor } }
      undeclared: rollouts(filter: { kinds: [MARGO_DEPLOYMENT] }, first: 0) @include(if: $isCounted) { totalCount }
      applications: deploymentGroups(by: APPLICATION, first: 50, asOf: $asOf) @include(if: $isPlain) { ...GroupLines }
    }
  `,
  [rolloutFragment, groupsFragment],
)

type Kind = NonNullable<NonNullable<VariablesOf<typeof rolloutsDocument>['filter']>['kinds']>[number]

export const rolloutKinds: Readonly<Record<Kind, string>> = {
  DECLARED: 'Declared',
  DEPLOYMENT_INTENT_GROUP: 'Intent group',
  CLUSTER_INTENTS: 'Cluster intents',
  RESOURCE_BUNDLE: 'Resource bundle',
  MARGO_DEPLOYMENT: 'Undeclared',
}

/** Clusters report whether their deployments work. */
export const orchestratedKinds = ['DEPLOYMENT_INTENT_GROUP', 'CLUSTER_INTENTS', 'RESOURCE_BUNDLE'] as const
/** A rollout that only a deployment ID names is one deployment, or few. A fleet can have as many of them as deployments. */
export const namedKinds = ['DECLARED', ...orchestratedKinds] as const

export function RolloutsPage() {
  const { text, many, one } = useFilters()
  const kinds = many('kind', Object.keys(rolloutKinds) as Kind[])
  const search = text()
  const label = parseLabel(one('label'))
  // A search finds undeclared rollouts too.
  const isPlain = kinds.length === 0 && search === '' && label === null
  const filter = {
    ...(isPlain ? { kinds: [...namedKinds] } : kinds.length > 0 ? { kinds } : {}),
    ...(label ? { rolloutLabel: { key: label.key, equals: label.value } } : {}),
    text: search || null,
  }
  const after = one('after')
  const asOf = at.value
  const isPresent = asOf === null
  // In the past, their number would be found from all deployments that have changed since.
  const variables = { filter, after, asOf, isPlain, isCounted: isPlain && isPresent }
  const { data, isCurrent, error } = useLiveAnswer(rolloutsDocument, variables, isPresent ? {} : null)
  const found = isCurrent ? data : null
  const undeclared = found?.undeclared?.totalCount ?? 0
  const isEmpty = found?.rollouts.totalCount === 0
  return (
    <>
      <h1>Rollouts</h1>
      <Filters
        label="Filter rollouts"
        names="text label kind"
        fields={
          <>
            <SearchField label="Name or project" />
            <SearchField label="Label: team=packaging" name="label" />
          </>
        }
      >
        <Choice name="kind" label="Kind" options={rolloutKinds} />
      </Filters>
      {error && <ErrorMessage error={error} />}
      <div class="table-bar">
        <p class="muted number" role="status">
          {found
            ? plural(found.rollouts.totalCount, 'rollout') + describeNoLabel(one('label'))
            : !error && describeLoading()}
          {(undeclared > 0 || (found && isPlain && !isPresent)) && (
            <>
              {' '}
              <a href={href(['rollouts'], { kind: 'MARGO_DEPLOYMENT' })}>
                and {isPresent ? `${formatNumber(undeclared)} undeclared` : 'those undeclared'}
              </a>
            </>
          )}
        </p>
        <ExportButtons
          name="rollouts"
          pages={() =>
            readPages(
              async (next) =>
                (await ask(rolloutsDocument, { ...variables, after: next, isPlain: false, isCounted: false })).rollouts,
            )
          }
          columns={columns}
        />
      </div>
      {data && data.rollouts.nodes.length > 0 && (
        <ul class="rollouts panel">
          {data.rollouts.nodes.map((rollout) => (
            <li key={rollout.id}>
              <RolloutLine rollout={rollout} />
            </li>
          ))}
        </ul>
      )}
      {isEmpty && (
        <NoRollouts
          isPlain={isPlain}
          isPresent={isPresent}
          hasUndeclared={undeclared > 0}
          applications={found.applications ?? null}
        />
      )}
      <Pager page={found?.rollouts.pageInfo} />
    </>
  )
}

const columns: Columns<RolloutSummary> = {
  name: (row) => row.name,
  kind: (row) => row.kind,
  project: (row) => row.project,
  labels: (row) => row.labels.map(({ key, value }) => `${key}=${value}`).join(' '),
  status: (row) => row.status,
  expected: (row) => expectedOf(row.deploymentCounts),
  installed: (row) => row.deploymentCounts.installed,
  notWorking: (row) => row.broken.total,
  installing: (row) => row.deploymentCounts.installing,
  pending: (row) => row.deploymentCounts.pending,
  failed: (row) => row.deploymentCounts.failed,
  stalled: (row) => row.stalled.total,
  inMaintenance: (row) => row.maintenance?.deployments ?? 0,
  removing: (row) => row.deploymentCounts.removing,
  removed: (row) => row.deploymentCounts.removed,
}

interface NoRolloutsProps {
  /** Whether no filter is set. */
  readonly isPlain: boolean
  readonly isPresent: boolean
  readonly hasUndeclared: boolean
  readonly applications: FragmentOf<typeof groupsFragment> | null
}

function NoRollouts({ isPlain, isPresent, hasUndeclared, applications }: NoRolloutsProps) {
  if (!isPlain) return <p class="empty">No rollouts match these filters.</p>
  const hasApplications = (applications?.totalCount ?? 0) > 0
  return (
    <>
      {applications && hasApplications && <Applications of={applications} />}
      {isPresent && !hasUndeclared && <FirstRollout />}
      {!isPresent && !hasApplications && <p class="empty">No rollouts at this time.</p>}
    </>
  )
}

function Applications({ of }: { readonly of: FragmentOf<typeof groupsFragment> }) {
  return (
    <section class="panel" aria-labelledby="applications">
      <h2 id="applications">Applications</h2>
      <p class="muted">No rollouts are declared. These are the deployments by application.</p>
      <GroupLines of={of} />
    </section>
  )
}

/** The current run of the orchestrator has failed, whatever its deployments report. */
export const hasFailedRun = ({ status }: Pick<RolloutSummary, 'status'>): boolean =>
  status?.endsWith('_FAILED') ?? false

/** Clusters report whether its deployments work. */
export const isOrchestrated = ({ kind }: Pick<RolloutSummary, 'kind'>): boolean =>
  orchestratedKinds.some((each) => each === kind)

export function RolloutLine({ rollout }: { readonly rollout: RolloutSummary }) {
  const { deploymentCounts: counts } = rollout
  const standing = { counts, broken: rollout.broken.total }
  const hasFailed = hasFailedRun(rollout)
  return (
    <div class="rollout-line">
      <a href={href(['rollout', rollout.presentId])}>
        <Name>{rollout.name}</Name>
      </a>
      <small class="muted kind">{[rolloutKinds[rollout.kind], rollout.project].filter(Boolean).join(' · ')}</small>
      <CountsBar {...standing} old={rollout.old.total} label={rollout.name} />
      <ShortHeadline of={standing} isObserved={isOrchestrated(rollout)} hasFailed={hasFailed} />
      <span class="marks">
        {hasFailed && rollout.status && <StateMark of="FAILED">{formatStatus(rollout.status)}</StateMark>}
        {counts.failed > 0 && <StateMark of="FAILED">{`${formatNumber(counts.failed)} failed`}</StateMark>}
        {rollout.broken.total > 0 && (
          <StateMark of="BROKEN">{`${formatNumber(rollout.broken.total)} not working`}</StateMark>
        )}
        {counts.convergence.stale > 0 && (
          <StateMark of="STALE">{`${formatNumber(counts.convergence.stale)} on an older version`}</StateMark>
        )}
        {rollout.stalled.total > 0 && (
          <StateMark of="STALLED">{`${formatNumber(rollout.stalled.total)} stalled`}</StateMark>
        )}
        {rollout.maintenance && (
          <MaintenanceBadge
            count={rollout.maintenance.deployments}
            total={counts.total}
            until={rollout.maintenance.until}
          />
        )}
      </span>
      <LabelLinks labels={rollout.labels} />
    </div>
  )
}
