/** The fleet on one page: progress, trend, and what needs attention. */
import { causesFragment } from '../data/causes.ts'
import { graphql } from '../data/graphql.ts'
import { type Counts, formatNumber, plural, readinessOrder } from '../data/labels.ts'
import { useBands } from '../data/maintenance.ts'
import { usePoints } from '../data/past-points.ts'
import { useCauses, usualLabel } from '../data/use-causes.ts'
import { knownUntil, useStream } from '../data/use-query.ts'
import { inScope } from '../data/viewer.ts'
import { at, href, moment, type Parameters } from '../route.ts'
import { AreaChart } from '../widgets/area-chart.tsx'
import { Alerts, alertsFragment } from '../widgets/failures/alerts.tsx'
import { Causes } from '../widgets/failures/causes.tsx'
import { declarationFragment, Latest } from '../widgets/failures/latest.tsx'
import { useFilters } from '../widgets/lists/filters.tsx'
import { GroupLines, groupsFragment } from '../widgets/lists/group-lines.tsx'
import { Loading, LoadingPast } from '../widgets/loading.tsx'
import { SitesInMaintenance, sitesInMaintenanceFragment } from '../widgets/maintenance.tsx'
import { FirstReport } from '../widgets/setup/first-report.tsx'
import { ConvergenceSummary } from '../widgets/states/convergence.tsx'
import { CountsBar, CountsLegend } from '../widgets/states/counts-bar.tsx'
import { countOfReadiness, ReadinessBar, ReadinessMark } from '../widgets/states/readiness.tsx'
import { comparedFragment, countsFragment, Headline } from '../widgets/states/standing.tsx'
import { StateMark } from '../widgets/states/state-mark.tsx'
import { describeHistory, useWindow, windowWords } from '../widgets/time-bar.tsx'
import { namedKinds, orchestratedKinds, RolloutLine, rolloutFragment } from './rollouts.tsx'

const overviewDocument = graphql(
  `
    query Overview($asOf: DateTime, $isPresent: Boolean!, $kinds: [RolloutKind!], $orchestrated: [RolloutKind!], $rolloutIds: [ID!], $instanceIds: [String!], $labelKey: String!, $hasLabels: Boolean!) {
      revision
      counts: deploymentCounts(asOf: $asOf) { ...Counts }
      done: deploymentCounts(filter: { states: [INSTALLED] }, asOf: $asOf) { ...Compared }
      inside: deploymentCounts(filter: { states: [INSTALLED, INSTALLING, FAILED, PENDING] }, asOf: $asOf) { ...Compared }
      broken: deploymentCounts(filter: { states: [INSTALLED], readiness: [FAILED, PENDING] }, asOf: $asOf) { total }
      retired: deploymentCounts(filter: { retired: true }, asOf: $asOf) { total }
      waiting: deploymentCounts(filter: { states: [PENDING], hasError: true }, asOf: $asOf) { total }
      offline: devices(filter: { connectivity: [OFFLINE] }, first: 0) @include(if: $isPresent) { totalCount }
      monitored: devices(filter: { connectivity: [ONLINE, OFFLINE, RETRYING] }, first: 1) @include(if: $isPresent) { nodes { id } }
      rollouts(filter: { kinds: $kinds }, first: 6) @include(if: $isPresent) { totalCount nodes { ...RolloutSummary } }
      newestDeclaration(asOf: $asOf) { ...Declared }
      orchestrated: rollouts(filter: { kinds: $orchestrated }, first: 0) { totalCount }
      applications: deploymentGroups(by: APPLICATION, first: 6) @include(if: $isPresent) { ...GroupLines }
      then: deploymentGroups(by: ROLLOUT, orderBy: FAILED_DESC, first: 6, asOf: $asOf) @skip(if: $isPresent) { ...GroupLines }
      ...Alerts
      ...Causes
      ...SitesInMaintenance
    }
  `,
  [
    countsFragment,
    comparedFragment,
    rolloutFragment,
    groupsFragment,
    alertsFragment,
    causesFragment,
    declarationFragment,
    sitesInMaintenanceFragment,
  ],
)

export function OverviewPage() {
  const asOf = at.value
  const { one } = useFilters()
  const { data, askedAt, error, labels } = useCauses(
    overviewDocument,
    {
      asOf,
      isPresent: asOf === null,
      kinds: [...namedKinds],
      orchestrated: [...orchestratedKinds],
      rolloutIds: null,
      instanceIds: null,
    },
    asOf === null ? {} : null,
    one('by'),
  )
  const range = useWindow()
  const history = describeHistory(range)
  if (error && !data) return <Loading title="Overview" error={error} />
  if (!data) return <OverviewShape />
  const { counts } = data
  const standing = { counts, broken: data.broken.total }
  const isEmpty = asOf === null && counts.total === 0
  const isMonitored = isEmpty || data.monitored?.nodes.length !== 0
  const isObserved = standing.broken > 0 || data.orchestrated.totalCount > 0
  const to = (parameters: Parameters): string => href(['deployments'], parameters)
  return (
    <div class="overview">
      <section class="hero" aria-labelledby="fleet">
        <h1 id="fleet">
          <Headline of={standing} isObserved={isObserved} />
        </h1>
        <CountsBar {...standing} old={data.done.convergence.stale} label="Deployments by state" />
        <CountsLegend
          counts={counts}
          to={(state) => to({ state })}
          broken={isObserved ? { count: standing.broken, to: to({ state: 'INSTALLED', broken: 'true' }) } : undefined}
          retired={{ count: data.retired.total, to: to({ retired: 'true' }) }}
        />
        <ConvergenceSummary counts={counts.convergence} inside={data.inside} installed={data.done} to={to} />
      </section>

      {isEmpty && <FirstReport />}
      <ul class="facts" aria-label="Needs attention">
        <Fact
          mark="FAILED"
          count={counts.failed}
          to={href(['deployments'], { state: 'FAILED' })}
          text="deployments failed"
        />
        <Fact
          mark="STALLED"
          count={data.slow.total}
          to={href(['deployments'], { stalled: 'true' })}
          text="deployments slower than their peers"
        />
        <Fact
          mark="WAITING"
          count={data.waiting.total}
          to={href(['deployments'], { state: 'PENDING', error: 'true' })}
          text="deployments pending, with a reason"
        />
        {data.offline && (
          <Fact
            mark="OFFLINE"
            count={isMonitored ? data.offline.totalCount : null}
            to={href(['devices'], { connectivity: isMonitored ? 'OFFLINE' : 'UNKNOWN' })}
            text={isMonitored ? 'devices offline' : 'not known: no device is monitored'}
          />
        )}
      </ul>

      <Alerts of={data.firing} rolloutIds={null} />
      <Causes title="Failures by cause" data={data} labels={labels} to={to} />
      {!isEmpty && (
        <Latest declaration={data.newestDeclaration} rolloutIds={null} hasActions={data.orchestrated.totalCount > 0} />
      )}

      <SitesInMaintenance of={data.inMaintenance} labelKey={labels.answered ?? usualLabel} />

      <section class="panel trend" aria-labelledby="trend">
        <h2 id="trend">
          Last {windowWords[range.name]} {history && <small class="muted number">({history})</small>}
        </h2>
        <Trend present={asOf === null ? counts : null} until={knownUntil(askedAt)} />
      </section>

      {asOf === null && <ResourceSummary />}

      <section class="panel" aria-labelledby="rollouts">
        <h2 id="rollouts">
          Rollouts{' '}
          <a href={href(['rollouts'])}>
            All{' '}
            {data.rollouts && data.rollouts.totalCount > 1 ? plural(data.rollouts.totalCount, 'rollout') : 'rollouts'}
          </a>
        </h2>
        {data.rollouts && data.rollouts.nodes.length > 0 && (
          <ul class="rollouts">
            {data.rollouts.nodes.map((rollout) => (
              <li key={rollout.id}>
                <RolloutLine rollout={rollout} />
              </li>
            ))}
          </ul>
        )}
        {data.rollouts?.totalCount === 0 && !isEmpty && data.applications && (
          <>
            <p class="muted">No rollouts are declared. These are the deployments by application.</p>
            <GroupLines of={data.applications} />
          </>
        )}
        {data.then && <GroupLines of={data.then} />}
        {isEmpty && <p class="empty">No rollouts yet{inScope.value}.</p>}
      </section>
    </div>
  )
}

const resourcesSubscription = graphql(`
  subscription ResourceCounts { resourceCounts { cursor counts { total readiness { ready pending failed unknown } } } }
`)

/** Shown only if there are resources: a fleet of devices has none. */
function ResourceSummary() {
  const counts = useStream(resourcesSubscription)?.resourceCounts.counts
  if (!counts || counts.total === 0) return null
  return (
    <section class="panel" aria-labelledby="resources">
      <h2 id="resources">
        Resources{' '}
        <a href={href(['resources'])}>All {counts.total > 1 ? plural(counts.total, 'resource') : 'resources'}</a>
      </h2>
      <ReadinessBar counts={counts.readiness} label="Resources by readiness" />
      <ul class="legend">
        {readinessOrder.map((readiness) => (
          <li key={readiness}>
            <a
              href={href(['resources'], { readiness })}
              class={countOfReadiness(counts.readiness, readiness) === 0 ? 'none' : undefined}
            >
              <ReadinessMark of={readiness} />
              <b class="number">{formatNumber(countOfReadiness(counts.readiness, readiness))}</b>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

interface TrendProps {
  readonly present: Counts | null
  /** Until when the present counts are known. */
  readonly until: number
}

function Trend({ present, until }: TrendProps) {
  const range = useWindow()
  const { from, to, step } = range
  const past = usePoints(null, from, to, step)
  const bands = useBands(null, from, to)
  const last = past.at(-1)
  const points = present && last && last.time < until ? [...past, { time: until, counts: present, rate: null }] : past
  return (
    <AreaChart
      points={points}
      bands={bands}
      from={from}
      to={to}
      label="Deployments by state over time"
      isLoading={past.length === 0}
      at={at.value === null ? null : moment.value}
    />
  )
}

interface FactProps {
  readonly mark: 'FAILED' | 'STALLED' | 'WAITING' | 'OFFLINE'
  /** Null: not known. */
  readonly count: number | null
  readonly to: string
  readonly text: string
}

function Fact({ mark, count, to, text }: FactProps) {
  return (
    <li class={count ? undefined : 'none'}>
      <a href={to}>
        <StateMark of={mark} />
        <b class="number">{count === null ? '–' : formatNumber(count)}</b>
        <small class="muted">{text}</small>
      </a>
    </li>
  )
}

/** A placeholder of the same size, so that nothing moves when the data arrives. */
const OverviewShape = () => (
  <div class="overview shape" aria-busy="true">
    <h1 class="unseen">Fleet</h1>
    <div class="hero">
      <LoadingPast />
    </div>
    <div class="facts" />
    <div class="panel trend" />
  </div>
)
