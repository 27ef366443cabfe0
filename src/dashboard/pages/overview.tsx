/** The fleet on one page: progress, trend, and what needs attention. */

import { rowFragment } from '../data/deployment-rows.ts'
import { graphql } from '../data/graphql.ts'
import { type Counts, formatNumber, formatShare, plural, readinessOrder } from '../data/labels.ts'
import { usePoints } from '../data/past-points.ts'
import { now } from '../data/time.ts'
import { useLiveAnswer, useStream } from '../data/use-query.ts'
import { at, href, moment } from '../route.ts'
import { AreaChart } from '../widgets/area-chart.tsx'
import { ConvergenceSummary } from '../widgets/convergence.tsx'
import { CountsBar, CountsLegend } from '../widgets/counts-bar.tsx'
import { DeploymentCells } from '../widgets/deployment-table.tsx'
import { ErrorMessage } from '../widgets/error-message.tsx'
import { ReadinessBar, ReadinessMark } from '../widgets/readiness.tsx'
import { StateMark } from '../widgets/state-mark.tsx'
import { useWindow, windowWords } from '../widgets/time-bar.tsx'
import { countsFragment, installedFragment, RolloutLine, type RolloutSummary, rolloutFragment } from './rollouts.tsx'

const overviewDocument = graphql(
  `
    query Overview($asOf: DateTime) {
      revision
      counts: deploymentCounts(asOf: $asOf) { ...Counts }
      done: deploymentCounts(filter: { states: [INSTALLED] }, asOf: $asOf) { ...Installed }
      stalled: deploymentCounts(filter: { stalled: true }, asOf: $asOf) { total }
      waiting: deploymentCounts(filter: { states: [PENDING], hasError: true }, asOf: $asOf) { total }
      offline: devices(filter: { connectivity: [OFFLINE] }, first: 0) { totalCount }
      failedFirst: deployments(filter: { states: [FAILED] }, first: 6, asOf: $asOf) { nodes { ...Row } }
      stalledFirst: deployments(filter: { stalled: true }, first: 6, asOf: $asOf) { nodes { ...Row } }
      rollouts(first: 6) { nodes { ...RolloutSummary } }
    }
  `,
  [countsFragment, installedFragment, rowFragment, rolloutFragment],
)

const countsSubscription = graphql(`subscription FleetCounts { deploymentCounts { cursor counts { ...Counts } } }`, [
  countsFragment,
])

export function OverviewPage() {
  const asOf = at.value
  const { data, error } = useLiveAnswer(overviewDocument, { asOf }, asOf === null ? {} : null)
  const live = useStream(countsSubscription, asOf === null ? {} : null)
  const counts = (asOf === null ? live?.deploymentCounts.counts : null) ?? data?.counts
  const { name } = useWindow()
  if (error && !data) return <ErrorMessage error={error} />
  if (!data || !counts) return <OverviewShape />
  const expected = counts.total - counts.removed
  const isEmpty = asOf === null && data.rollouts.nodes.length === 0
  const attention = [...data.failedFirst.nodes, ...data.stalledFirst.nodes.filter(({ state }) => state !== 'FAILED')]
  return (
    <div class="overview">
      <section class="hero" aria-labelledby="fleet">
        <h1 id="fleet">
          <span class="number big">{formatNumber(counts.installed)}</span>
          <span class="muted"> of {plural(expected, 'deployment')} installed</span>
          <span class="number share">{formatShare(counts.installed, expected)}</span>
        </h1>
        <CountsBar counts={counts} old={data.done.convergence.stale} label="Deployments by state" />
        <CountsLegend counts={counts} to={(state) => href(['deployments'], { state })} />
        <ConvergenceSummary
          counts={counts.convergence}
          installed={data.done}
          to={(convergence) => href(['deployments'], { convergence })}
        />
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
          count={data.stalled.total}
          to={href(['deployments'], { stalled: 'true' })}
          text="deployments stalled, slower than their peers"
        />
        <Fact
          mark="WAITING"
          count={data.waiting.total}
          to={href(['deployments'], { state: 'PENDING', error: 'true' })}
          text="deployments pending, with a reason"
        />
        <Fact
          mark="OFFLINE"
          count={data.offline.totalCount}
          to={href(['devices'], { connectivity: 'OFFLINE' })}
          text="devices offline"
        />
      </ul>

      <section class="panel trend" aria-labelledby="trend">
        <h2 id="trend">Last {windowWords[name]}</h2>
        <Trend present={asOf === null ? counts : null} />
      </section>

      <section class="panel" aria-labelledby="attention">
        <h2 id="attention">
          Failed and stalled <a href={href(['deployments'], { state: 'FAILED' })}>all failed</a>
        </h2>
        {attention.length === 0 ? (
          <p class="empty good">
            <StateMark of="INSTALLED">No failed or stalled deployments.</StateMark>
          </p>
        ) : (
          <div class="table deployments compact" role="table" aria-label="Failed and stalled deployments">
            <div role="rowgroup">
              {attention.slice(0, 8).map((row) => (
                <div key={row.id} class="row" role="row">
                  <DeploymentCells row={row} />
                </div>
              ))}
            </div>
          </div>
        )}
      </section>

      {asOf === null && <ResourceSummary />}

      <section class="panel" aria-labelledby="rollouts">
        <h2 id="rollouts">
          Rollouts <a href={href(['rollouts'])}>all</a>
        </h2>
        <ul class="rollouts">
          {data.rollouts.nodes.map((rollout: RolloutSummary) => (
            <li key={rollout.id}>
              <RolloutLine rollout={rollout} />
            </li>
          ))}
        </ul>
        {data.rollouts.nodes.length === 0 && (
          <p class="empty">{asOf === null ? 'No rollouts yet.' : 'No rollouts at this time.'}</p>
        )}
      </section>
    </div>
  )
}

const resourcesSubscription = graphql(`
  subscription ResourceCounts { resourceCounts { cursor counts { total readiness { ready pending failed unknown } } } }
`)

/** Shown only if there are resources: a fleet of devices has none. */
function ResourceSummary() {
  const counts = useStream(resourcesSubscription, {})?.resourceCounts.counts
  if (!counts || counts.total === 0) return null
  const { ready, pending, failed, unknown } = counts.readiness
  const byReadiness = { READY: ready, PENDING: pending, FAILED: failed, UNKNOWN: unknown }
  return (
    <section class="panel" aria-labelledby="resources">
      <h2 id="resources">
        Resources <a href={href(['resources'])}>all</a>
      </h2>
      <ReadinessBar counts={byReadiness} label="Resources by readiness" />
      <ul class="legend">
        {readinessOrder.map((readiness) => (
          <li key={readiness}>
            <a href={href(['resources'], { readiness })} class={byReadiness[readiness] === 0 ? 'none' : undefined}>
              <ReadinessMark of={readiness} />
              <b class="number">{formatNumber(byReadiness[readiness])}</b>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Trend({ present }: { readonly present: Counts | null }) {
  const { from, to, step } = useWindow()
  const past = usePoints(null, from, to, step)
  const points = present && past.length > 0 ? [...past, { time: now.value, counts: present, rate: null }] : past
  return (
    <AreaChart
      points={points}
      from={from}
      to={to}
      label="Deployments by state over time"
      at={at.value === null ? null : moment.value}
    />
  )
}

interface FactProps {
  readonly mark: 'FAILED' | 'STALLED' | 'WAITING' | 'OFFLINE'
  readonly count: number
  readonly to: string
  readonly text: string
}

function Fact({ mark, count, to, text }: FactProps) {
  return (
    <li class={count === 0 ? 'none' : undefined}>
      <a href={to}>
        <StateMark of={mark} />
        <b class="number">{formatNumber(count)}</b>
        <small class="muted">{text}</small>
      </a>
    </li>
  )
}

/** A placeholder of the same size, so that nothing moves when the data arrives. */
const OverviewShape = () => (
  <div class="overview shape" aria-busy="true">
    <h1 class="unseen">Fleet</h1>
    <div class="hero" />
    <div class="facts" />
    <div class="panel trend" />
  </div>
)

function FirstReport() {
  const report = `curl -X POST -H 'Content-Type: application/json' \\
  -d '{"deploymentId":"hello","status":{"state":"installing"},"components":[{"name":"web","state":"installing"}]}' \\
  ${new URL('device/edge-1/deployment/hello/status', document.baseURI)}`
  return (
    <section class="panel empty" aria-label="Get started">
      <p>No reports yet. Send the first one from a terminal:</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
      <pre tabIndex={0}>{report}</pre>
      <p>
        Or simulate a whole fleet: <code>npm run simulate</code>
      </p>
    </section>
  )
}
