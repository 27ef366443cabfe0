/** One rollout: its progress over time, its components, and what blocks it. */
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { type FragmentOf, graphql, type ResultOf } from '../data/graphql.ts'
import { type Counts, formatNumber, formatShare, plural } from '../data/labels.ts'
import { chooseStep, usePoints } from '../data/past-points.ts'
import { type Resource, useResources } from '../data/resource-rows.ts'
import { formatSpan, now } from '../data/time.ts'
import { useAnswer, useStream } from '../data/use-query.ts'
import { at, href, moment } from '../route.ts'
import { AreaChart } from '../widgets/area-chart.tsx'
import { Blocking } from '../widgets/blocking.tsx'
import { ComponentCounts } from '../widgets/component-counts.tsx'
import { ConvergenceSummary } from '../widgets/convergence.tsx'
import { CountsBar, CountsLegend } from '../widgets/counts-bar.tsx'
import { useDeploymentRows } from '../widgets/deployment-table.tsx'
import { ErrorMessage } from '../widgets/error-message.tsx'
import { ResourceList } from '../widgets/resources.tsx'
import { Actions, Matrix, RunList, useRuns } from '../widgets/runs.tsx'
import { FilteredDeployments } from './deployments.tsx'
import { installedFragment, rolloutFragment, rolloutKinds } from './rollouts.tsx'

const progressFragment = graphql(
  `
    fragment RolloutProgress on Rollout {
      ...RolloutSummary
      done: deploymentCounts(filter: { states: [INSTALLED] }) { ...Installed }
    }
  `,
  [rolloutFragment, installedFragment],
)

type RolloutProgress = FragmentOf<typeof progressFragment>

const rolloutDocument = graphql(
  `
    query Rollout($id: ID!, $asOf: DateTime) {
      revision
      rollout(id: $id, asOf: $asOf) { ...RolloutProgress }
      first: changes(filter: { rolloutIds: [$id] }, first: 1) { nodes { at } }
      last: changes(filter: { rolloutIds: [$id] }, last: 1) { nodes { at } }
    }
  `,
  [progressFragment],
)

const rolloutSubscription = graphql(
  `subscription RolloutProgress($id: ID!) { rollout(id: $id) { cursor rollout { ...RolloutProgress } } }`,
  [progressFragment],
)

type Data = ResultOf<typeof rolloutDocument>

export function RolloutPage({ steps: [id = ''] }: { readonly steps: readonly string[] }) {
  const asOf = at.value
  const { data, error } = useAnswer(rolloutDocument, { id, asOf })
  const live = useStream(rolloutSubscription, asOf === null ? { id } : null)
  const rollout = (asOf === null ? live?.rollout.rollout : null) ?? data?.rollout
  if (error) return <ErrorMessage error={error} />
  if (!data) return <h1 aria-busy="true">Rollout</h1>
  if (!rollout) return <Gone />
  const isOrchestrated = rollout.kind !== 'DECLARED' && rollout.kind !== 'MARGO_DEPLOYMENT'
  const View = isOrchestrated ? Orchestrated : Rollout
  return <View id={id} rollout={rollout} data={data} />
}

interface RolloutProps {
  /** The ID in the address. At a past time the rollout has another ID, which never changes. */
  readonly id: string
  readonly rollout: RolloutProgress
  readonly data: Data
}

/** A rollout with runs. The page shows the clusters, applications and resources of one run. */
function Orchestrated({ id, rollout, data }: RolloutProps) {
  const runs = useRuns(id)
  const { chosen } = runs
  const filter = { rolloutIds: [id], ...(chosen === null ? {} : { instanceIds: [chosen] }) }
  const { list } = useDeploymentRows({ filter, orderBy: 'NAME', asOf: at.value }).rows.value
  const resources = useResources(runs.rollout && { of: 'rollout', id, run: chosen }, at.value)
  return (
    <Rollout
      id={id}
      rollout={rollout}
      data={data}
      resources={resources.list}
      beside={
        <>
          <RunList id={id} runs={runs} />
          <Actions runs={runs} />
        </>
      }
      matrix={<Matrix id={id} run={chosen} deployments={list} resources={resources.list} />}
    >
      <h2>Resources</h2>
      <ResourceList source={resources} label="Resources of this rollout" empty="No resources match these filters." />
    </Rollout>
  )
}

interface RolloutViewProps extends RolloutProps {
  readonly resources?: readonly Resource[]
  readonly beside?: ComponentChildren
  readonly matrix?: ComponentChildren
  readonly children?: ComponentChildren
}

function Rollout({ id, rollout, data, resources = [], beside, matrix, children }: RolloutViewProps) {
  const { deploymentCounts: counts } = rollout
  const filter = useMemo(() => ({ rolloutIds: [id] }), [id])
  const all = useDeploymentRows({ filter, orderBy: 'CHANGED_DESC', asOf: at.value })
  const expected = counts.total - counts.removed
  const { list, isComplete } = all.rows.value
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
        <p class="headline">
          <span class="number big">{formatNumber(counts.installed)}</span>
          <span class="muted"> of {plural(expected, 'deployment')} installed</span>
          <span class="number share">{formatShare(counts.installed, expected)}</span>
        </p>
        <CountsBar counts={counts} old={rollout.done.convergence.stale} label="Deployments by state" />
        <CountsLegend counts={counts} to={(state) => href(['rollout', id], { state })} />
        <ConvergenceSummary
          counts={counts.convergence}
          installed={rollout.done}
          to={(convergence) => href(['rollout', id], { convergence })}
        />
      </section>
      <div class="columns">
        <div>
          <Progress
            id={id}
            first={data.first.nodes[0]?.at ?? null}
            last={data.last.nodes[0]?.at ?? null}
            counts={counts}
          />
          <ComponentCounts list={list} />
        </div>
        <div>
          <Blocking list={list} resources={resources} isComplete={isComplete} id={id} />
          {beside}
        </div>
      </div>
      {matrix}
      <h2>Deployments</h2>
      <RolloutDeployments id={id} />
      {children}
    </>
  )
}

function RolloutDeployments({ id }: { readonly id: string }) {
  const scope = useMemo(() => ({ rolloutIds: [id] }), [id])
  return <FilteredDeployments scope={scope} label="Deployments of this rollout" />
}

interface ProgressProps {
  readonly id: string
  readonly first: string | null
  readonly last: string | null
  readonly counts: Counts
}

/** Starts with the rollout's first change. It stops growing when the rollout is done. */
function Progress({ id, first, last, counts }: ProgressProps) {
  const isDone = counts.total === counts.installed + counts.removed + counts.failed
  const began = first === null ? now.value : Date.parse(first)
  const end = isDone && last !== null ? Math.min(Date.parse(last) + 60_000, now.value) : now.value
  const step = chooseStep(end - began, 40)
  const to = Math.max(end, began + 60_000)
  const past = usePoints(id, began, end, step)
  const points = isDone || at.value ? past : [...past, { time: now.value, counts, rate: null }]
  return (
    <section class="panel" aria-labelledby="progress">
      <h2 id="progress">
        Progress <small class="muted">over {formatSpan(to - began)}</small>
      </h2>
      <AreaChart
        points={points}
        from={began}
        to={to}
        label="Progress"
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
      This rollout does not exist{at.value && ' at this time'}. <a href={href(['rollouts'])}>All rollouts</a>
    </p>
  </>
)
