/** One rollout: its progress over time, its components, and what blocks it. */
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { causesFragment } from '../data/causes.ts'
import { useDatedId } from '../data/dated-id.ts'
import { graphql, type ResultOf } from '../data/graphql.ts'
import { type Insight, useInsight } from '../data/insight.ts'
import { type Counts, formatStatus } from '../data/labels.ts'
import { useBands } from '../data/maintenance.ts'
import { chooseStep, usePoints } from '../data/past-points.ts'
import { useResources } from '../data/resource-rows.ts'
import { formatSpan, now } from '../data/time.ts'
import { type SiteLabels, useCauses } from '../data/use-causes.ts'
import { knownUntil } from '../data/use-query.ts'
import { orOutside } from '../data/viewer.ts'
import { at, href, moment, type Parameters } from '../route.ts'
import { AreaChart } from '../widgets/area-chart.tsx'
import { Alerts, alertsFragment } from '../widgets/failures/alerts.tsx'
import { Causes } from '../widgets/failures/causes.tsx'
import { Diagnosis } from '../widgets/failures/diagnosis.tsx'
import { declarationFragment, Latest } from '../widgets/failures/latest.tsx'
import { useObjectCauses } from '../widgets/failures/object-causes.tsx'
import { Leaving } from '../widgets/gone.tsx'
import { Comparison } from '../widgets/insight/comparison.tsx'
import { Forecast } from '../widgets/insight/forecast.tsx'
import { useFilters } from '../widgets/lists/filters.tsx'
import { ResourceList, useResourceFilter } from '../widgets/lists/resource-list.tsx'
import { Loading } from '../widgets/loading.tsx'
import { ComponentCounts, componentsFragment } from '../widgets/rollout/component-counts.tsx'
import { Matrix } from '../widgets/rollout/matrix.tsx'
import { RolloutLabels } from '../widgets/rollout/rollout-labels.tsx'
import { Actions, RunList, useRuns } from '../widgets/rollout/runs.tsx'
import { ConvergenceSummary } from '../widgets/states/convergence.tsx'
import { CountsBar, CountsLegend } from '../widgets/states/counts-bar.tsx'
import { comparedFragment, Headline } from '../widgets/states/standing.tsx'
import { StateMark } from '../widgets/states/state-mark.tsx'
import { useTitle } from '../widgets/tab.ts'
import { FilteredDeployments } from './deployments.tsx'
import { hasFailedRun, isOrchestrated, rolloutFragment, rolloutKinds } from './rollouts.tsx'

const rolloutDocument = graphql(
  `
    query Rollout($id: ID!, $rolloutIds: [ID!], $instanceIds: [String!], $asOf: DateTime, $labelKey: String!, $hasLabels: Boolean!) {
      revision
      rollout(id: $id, asOf: $asOf) {
        ...RolloutSummary
        asOf
        newestDeclaration { ...Declared }
        done: deploymentCounts(filter: { states: [INSTALLED] }) { ...Compared }
        inside: deploymentCounts(filter: { states: [INSTALLED, INSTALLING, FAILED, PENDING] }) { ...Compared }
        components: deploymentGroups(by: COMPONENT, first: 30) { ...ComponentGroups }
      }
      first: changes(filter: { rolloutIds: $rolloutIds }, first: 1) { nodes { at } }
      last: changes(filter: { rolloutIds: $rolloutIds }, last: 1) { nodes { at } }
      ...Alerts
      ...Causes
    }
  `,
  [rolloutFragment, comparedFragment, componentsFragment, alertsFragment, causesFragment, declarationFragment],
)

type Data = ResultOf<typeof rolloutDocument>
type RolloutProgress = NonNullable<Data['rollout']>

export function RolloutPage({ steps: [id = ''] }: { readonly steps: readonly string[] }) {
  const asOf = at.value
  const { one } = useFilters()
  const { data, askedAt, isCurrent, error, labels } = useCauses(
    rolloutDocument,
    { id, rolloutIds: [id], instanceIds: null, asOf },
    asOf === null ? { rolloutIds: [id] } : null,
    one('by'),
  )
  const isDated =
    asOf === null
      ? (data?.rollout?.asOf ?? null) !== null || error?.code === 'HISTORY_EXPIRED'
      : error?.code === 'BAD_USER_INPUT'
  const dated = useDatedId(id, isDated)
  const insight = useInsight(id, data && !isDated ? subjectOf(data) : null)
  useTitle(data?.rollout?.name ?? null)
  if (dated.isReplacing) return <Loading title="Rollout" error={dated.error} toNow={dated.toNow} />
  // An answer about another time does not say that the rollout is missing now.
  if (!data || !(data.rollout || isCurrent)) return <Loading title="Rollout" error={error} />
  const { rollout } = data
  if (!rollout) return <Gone />
  if (!insight.isSettled) return <Loading title="Rollout" />
  const View = isOrchestrated(rollout) ? Orchestrated : Rollout
  return <View id={id} rollout={rollout} data={data} askedAt={askedAt} labels={labels} insight={insight} />
}

function subjectOf({ revision, rollout }: Data) {
  if (!rollout) return null
  const { deploymentCounts: counts, stalled } = rollout
  const hasProblems = counts.failed + counts.pending + counts.convergence.stale + stalled.total > 0
  return { revision, hasProblems }
}

interface RolloutProps {
  /** The ID in the address. At a past time the rollout has another ID, which never changes. */
  readonly id: string
  readonly rollout: RolloutProgress
  readonly data: Data
  readonly labels: SiteLabels
  readonly askedAt: number | null
  readonly insight: Insight
}

/** A rollout with runs. The page shows the clusters, applications and resources of one run. */
function Orchestrated(props: RolloutProps) {
  const { id } = props
  const runs = useRuns(id)
  const { chosen } = runs
  const objects = useObjectCauses(id, chosen)
  const resources = useResources(runs.rollout && { of: 'rollout', id, run: chosen }, useResourceFilter(), at.value)
  return (
    <Rollout
      {...props}
      objects={runs.rollout && objects}
      beside={
        <>
          <RunList id={id} runs={runs} />
          <Actions runs={runs} />
        </>
      }
      matrix={runs.rollout && <Matrix id={id} run={chosen} />}
    >
      <h2>Resources</h2>
      <ResourceList source={resources} label="Resources of this rollout" />
    </Rollout>
  )
}

interface RolloutViewProps extends RolloutProps {
  readonly objects?: readonly ComponentChildren[] | null
  readonly beside?: ComponentChildren
  readonly matrix?: ComponentChildren
  readonly children?: ComponentChildren
}

function Rollout(props: RolloutViewProps) {
  const { id, rollout, data, askedAt, labels, insight, objects = [], beside, matrix, children } = props
  const { deploymentCounts: counts, status } = rollout
  const standing = { counts, broken: rollout.broken.total }
  const scope = useMemo(() => ({ rolloutIds: [id] }), [id])
  const to = (parameters: Parameters): string => href(['rollout', id], parameters)
  const hasFailed = hasFailedRun(rollout)
  const changedAt = data.last.nodes[0]?.at ?? null
  return (
    <>
      <p class="crumbs">
        <a href={href(['rollouts'])}>Rollouts</a>
      </p>
      <section class="hero" aria-labelledby="rollout">
        <h1 id="rollout" class="named">
          {rollout.name}
          <small class="muted">
            {[rolloutKinds[rollout.kind], rollout.project, rollout.compositeApp, rollout.compositeAppVersion]
              .filter(Boolean)
              .join(' · ')}
          </small>
        </h1>
        <RolloutLabels key={id} id={id} labels={rollout.labels} revision={data.revision} />
        <p class="headline">
          <Headline of={standing} isObserved={isOrchestrated(rollout)} hasFailed={hasFailed} />
        </p>
        {hasFailed && status && (
          <p class="headline marks" role="status">
            <StateMark of="FAILED">{`Current run: ${formatStatus(status).toLowerCase()}`}</StateMark>
          </p>
        )}
        <CountsBar {...standing} old={rollout.done.convergence.stale} label="Deployments by state" />
        <CountsLegend
          counts={counts}
          to={(state) => to({ state })}
          broken={
            isOrchestrated(rollout)
              ? { count: standing.broken, to: to({ state: 'INSTALLED', broken: 'true' }) }
              : undefined
          }
        />
        <ConvergenceSummary counts={counts.convergence} inside={rollout.inside} installed={rollout.done} to={to} />
      </section>
      <Leaving id={id} />
      <Forecast of={insight} counts={counts} changedAt={at.value === null ? changedAt : null} />
      {/* Why it does not go on is read before how it went, on a narrow screen and by a screen reader. */}
      <div class="columns reasons">
        <div>
          {/* The actions on an orchestrated rollout have a list of their own. */}
          <Latest declaration={rollout.newestDeclaration} rolloutIds={scope.rolloutIds} hasActions={false} />
          <Alerts of={data.firing} rolloutIds={scope.rolloutIds} />
          <Causes title="What is blocking" data={data} labels={labels} to={to} objects={objects} />
          <Diagnosis of={insight} to={to} />
          {beside}
        </div>
        <div>
          <Progress
            id={id}
            first={data.first.nodes[0]?.at ?? null}
            last={changedAt}
            counts={counts}
            until={at.value === null ? knownUntil(askedAt) : now.value}
          />
          {/* The matrix shows the components of clusters, and whether they work. */}
          {!isOrchestrated(rollout) && <ComponentCounts of={rollout.components} />}
          <Comparison key={id} id={id} name={rollout.name} of={insight} />
        </div>
      </div>
      {matrix}
      <h2>Deployments</h2>
      <FilteredDeployments
        scope={scope}
        label="Deployments of this rollout"
        empty={
          <p class="empty">
            No deployments{at.value ? ' at this time' : ' yet'}. They appear here when{' '}
            {isOrchestrated(rollout) ? 'the rollout is instantiated' : 'they are declared for this rollout'}.
          </p>
        }
      />
      {children}
    </>
  )
}

interface ProgressProps {
  readonly id: string
  readonly first: string | null
  readonly last: string | null
  readonly counts: Counts
  /** Until when the counts are known. */
  readonly until: number
}

/** Starts with the rollout's first change. It stops growing when the rollout is done. */
function Progress({ id, first, last, counts, until }: ProgressProps) {
  const isDone = counts.total === counts.installed + counts.removed + counts.failed
  const began = first === null ? until : Date.parse(first)
  const end = isDone && last !== null ? Math.min(Date.parse(last) + 60_000, until) : until
  const step = chooseStep(end - began, 40)
  const to = Math.max(end, began + 60_000)
  const isPresent = at.value === null
  // In the past one point further: the last change may lie between the last two.
  const past = usePoints(id, began, isPresent ? end : end + step, step)
  const bands = useBands(id, began, to)
  const points = isPresent ? [...past, { time: end, counts, rate: null }] : past
  return (
    <section class="panel" aria-labelledby="progress">
      <h2 id="progress">
        Progress <small class="muted">over {formatSpan(to - began)}</small>
      </h2>
      <AreaChart
        points={points}
        bands={bands}
        from={began}
        to={to}
        label="Progress"
        isLoading={points.length === 0}
        at={at.value === null ? null : moment.value}
        height={170}
      />
    </section>
  )
}

const Gone = () => (
  <>
    <h1>Rollout not found</h1>
    <p>
      This rollout does not exist{at.value && ' at this time'}
      {orOutside.value}. <a href={href(['rollouts'])}>All rollouts</a>
    </p>
  </>
)
