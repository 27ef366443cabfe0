/** The fleet on one screen: how far, how fast, and what needs somebody. */
import { useLiveAnswer, useStream } from '../answers.ts'
import { AreaChart } from '../area-chart.tsx'
import { AgainstWhatIsMeant } from '../convergence.tsx'
import { CountsBar, CountsLegend } from '../counts-bar.tsx'
import { rowFragment } from '../deployment-rows.ts'
import { DeploymentCells } from '../deployment-table.tsx'
import { graphql } from '../graphql.ts'
import { usePoints } from '../past-points.ts'
import { ReadinessBar, ReadinessMark } from '../readiness.tsx'
import { at, href, moment } from '../route.ts'
import { StateMark } from '../state-mark.tsx'
import { now } from '../time.ts'
import { useWindow, windowWords } from '../time-bar.tsx'
import { Trouble } from '../trouble.tsx'
import { type Counts, formatNumber, formatShare, plural, readinessOrder } from '../words.ts'
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
  if (error && !data) return <Trouble error={error} />
  if (!data || !counts) return <OverviewShape />
  const wanted = counts.total - counts.removed
  const isEmpty = asOf === null && data.rollouts.nodes.length === 0
  const attention = [...data.failedFirst.nodes, ...data.stalledFirst.nodes.filter(({ state }) => state !== 'FAILED')]
  return (
    <div class="overview">
      <section class="hero" aria-labelledby="fleet">
        <h1 id="fleet">
          <span class="number big">{formatNumber(counts.installed)}</span>
          <span class="muted"> of {plural(wanted, 'deployment')} installed</span>
          <span class="number share">{formatShare(counts.installed, wanted)}</span>
        </h1>
        <CountsBar counts={counts} old={data.done.convergence.stale} label="Deployments by state" />
        <CountsLegend counts={counts} to={(state) => href(['deployments'], { state })} />
        <AgainstWhatIsMeant
          counts={counts.convergence}
          installed={data.done}
          to={(convergence) => href(['deployments'], { convergence })}
        />
      </section>

      {isEmpty && <FirstReport />}
      <ul class="facts" aria-label="What needs somebody">
        <Fact
          mark="FAILED"
          count={counts.failed}
          to={href(['deployments'], { state: 'FAILED' })}
          text="gave up, and said why"
        />
        <Fact
          mark="STALLED"
          count={data.stalled.total}
          to={href(['deployments'], { stalled: 'true' })}
          text="under way for too long"
        />
        <Fact
          mark="WAITING"
          count={data.waiting.total}
          to={href(['deployments'], { state: 'PENDING', error: 'true' })}
          text="pending for a reason"
        />
        <Fact
          mark="OFFLINE"
          count={data.offline.totalCount}
          to={href(['devices'], { connectivity: 'OFFLINE' })}
          text="devices out of reach"
        />
      </ul>

      <section class="panel trend" aria-labelledby="trend">
        <h2 id="trend">The last {windowWords[name]}</h2>
        <Trend present={asOf === null ? counts : null} />
      </section>

      <section class="panel" aria-labelledby="attention">
        <h2 id="attention">
          Failing and stalled <a href={href(['deployments'], { state: 'FAILED' })}>all</a>
        </h2>
        {attention.length === 0 ? (
          <p class="empty good">
            <StateMark of="INSTALLED">Nothing fails, nothing stalls.</StateMark>
          </p>
        ) : (
          <div class="table deployments compact" role="table" aria-label="Failing and stalled deployments">
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
          <p class="empty">Nothing has been rolled out{asOf !== null && ' by then'}.</p>
        )}
      </section>
    </div>
  )
}

const resourcesSubscription = graphql(`
  subscription ResourceCounts { resourceCounts { cursor counts { total readiness { ready pending failed unknown } } } }
`)

/** Only where there are any: a fleet of devices has none. */
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

/** Where everything will be: nothing moves when it comes. */
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
    <section class="panel empty" aria-label="How to begin">
      <p>Nobody has reported yet. A first report, from a terminal:</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
      <pre tabIndex={0}>{report}</pre>
      <p>
        Or a whole fleet: <code>npm run simulate</code>
      </p>
    </section>
  )
}
