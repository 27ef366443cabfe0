/** One rollout: how far it came and when, which component it hangs on, and what is blocking it. */
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { useAnswer, useStream } from '../answers.ts'
import { AreaChart } from '../area-chart.tsx'
import { CountsBar, CountsLegend } from '../counts-bar.tsx'
import type { Row } from '../deployment-rows.ts'
import { deploymentHref, useDeploymentRows } from '../deployment-table.tsx'
import { graphql, type ResultOf } from '../graphql.ts'
import { chooseStep, usePoints } from '../past-points.ts'
import { type Resource, useResources } from '../resource-rows.ts'
import { ResourceList } from '../resources.tsx'
import { at, href, moment, type Parameters } from '../route.ts'
import { Actions, Matrix, RunList, useRuns } from '../runs.tsx'
import { type Mark, StateMark } from '../state-mark.tsx'
import { formatAge, formatFull, formatSpan, now } from '../time.ts'
import { Trouble } from '../trouble.tsx'
import {
  type Counts,
  deploymentStates,
  formatNumber,
  formatShare,
  plural,
  readinessWords,
  syncWords,
} from '../words.ts'
import { FilteredDeployments } from './deployments.tsx'
import { type RolloutSummary, rolloutFragment, rolloutKinds } from './rollouts.tsx'

const rolloutDocument = graphql(
  `
    query Rollout($id: ID!, $asOf: DateTime) {
      revision
      rollout(id: $id, asOf: $asOf) { ...RolloutSummary }
      first: changes(filter: { rolloutIds: [$id] }, first: 1) { nodes { at } }
      last: changes(filter: { rolloutIds: [$id] }, last: 1) { nodes { at } }
    }
  `,
  [rolloutFragment],
)

const rolloutSubscription = graphql(
  `subscription RolloutProgress($id: ID!) { rollout(id: $id) { cursor rollout { ...RolloutSummary } } }`,
  [rolloutFragment],
)

type Data = ResultOf<typeof rolloutDocument>

export function RolloutPage({ steps: [id = ''] }: { readonly steps: readonly string[] }) {
  const asOf = at.value
  const { data, error } = useAnswer(rolloutDocument, { id, asOf })
  const live = useStream(rolloutSubscription, asOf === null ? { id } : null)
  const rollout = (asOf === null ? live?.rollout.rollout : null) ?? data?.rollout
  if (error) return <Trouble error={error} />
  if (!data) return <h1 aria-busy="true">Rollout</h1>
  if (!rollout) return <Gone />
  const isOrchestrated = rollout.kind !== 'DECLARED' && rollout.kind !== 'MARGO_DEPLOYMENT'
  const View = isOrchestrated ? Orchestrated : Rollout
  return <View id={id} rollout={rollout} data={data} />
}

interface RolloutProps {
  /** As the address has it: in the past the rollout has another, for good. */
  readonly id: string
  readonly rollout: RolloutSummary
  readonly data: Data
}

/** One with runs, of which one is looked at: its clusters, its applications and their resources. */
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
      <ResourceList source={resources} label="Its resources" empty="No resource is like that." />
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
  const wanted = counts.total - counts.removed
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
          <span class="muted"> of {plural(wanted, 'deployment')} installed</span>
          <span class="number share">{formatShare(counts.installed, wanted)}</span>
        </p>
        <CountsBar counts={counts} label="Deployments by state" />
        <CountsLegend counts={counts} to={(state) => href(['rollout', id], { state })} />
      </section>
      <div class="columns">
        <div>
          <Progress
            id={id}
            first={data.first.nodes[0]?.at ?? null}
            last={data.last.nodes[0]?.at ?? null}
            counts={counts}
          />
          <Components list={list} />
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

/** From its first change on; a rollout that is done does not grow longer. */
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

interface Cause {
  readonly key: string
  readonly code: string
  readonly message: string
  readonly components: Set<string>
  readonly isFailure: boolean
  readonly rows: Row[]
}

function findCauses(list: readonly Row[], isOrchestrated: boolean): readonly Cause[] {
  const causes = new Map<string, Cause>()
  const note = (row: Row, component: string | null, state: Row['state'], error: NonNullable<Row['error']>): void => {
    const key = `${state === 'FAILED'}/${error.code}/${error.message}`
    const cause = causes.get(key) ?? {
      key,
      code: error.code,
      message: error.message,
      components: new Set<string>(),
      isFailure: state === 'FAILED',
      rows: [],
    }
    if (cause.rows.at(-1) !== row) cause.rows.push(row)
    if (component !== null) cause.components.add(component)
    causes.set(key, cause)
  }
  for (const row of list) {
    const parts = row.components.filter((component) => component.error)
    for (const { name, state, error } of parts) if (error) note(row, name, state, error)
    if (row.error && parts.length === 0) note(row, null, row.state, row.error)
    // What an orchestrator's deployment failed for is said by its resources.
    if (row.state === 'FAILED' && !row.error && parts.length === 0 && !isOrchestrated)
      note(row, null, 'FAILED', { code: 'no error given', message: '' })
  }
  return [...causes.values()].sort((a, b) => Number(b.isFailure) - Number(a.isFailure) || b.rows.length - a.rows.length)
}

interface BlockingProps {
  readonly list: readonly Row[]
  readonly resources: readonly Resource[]
  readonly isComplete: boolean
  readonly id: string
}

/** Failed, stalled and offline are three facts, and a device may be in all of them. */
function Blocking({ list, resources, isComplete, id }: BlockingProps) {
  const causes = useMemo(() => findCauses(list, resources.length > 0), [list, resources])
  const stalled = list.filter((row) => row.stalled)
  const offline = list.filter(
    (row) => row.target.connectivity === 'OFFLINE' && row.state !== 'INSTALLED' && row.state !== 'REMOVED',
  )
  const unready = useMemo(() => findUnready(resources), [resources])
  const isClear = causes.length + stalled.length + offline.length + unready.length === 0
  return (
    <section class="panel" aria-labelledby="blocking">
      <h2 id="blocking">What is blocking</h2>
      {isClear && <p class="empty good">{isComplete ? <StateMark of="INSTALLED">Nothing.</StateMark> : 'Asking …'}</p>}
      <ul class="causes">
        {causes.slice(0, 8).map(({ key, code, message, components, isFailure, rows }) => (
          <li key={key}>
            <StateMark of={isFailure ? 'FAILED' : 'WAITING'}>{plural(rows.length, 'deployment')}</StateMark>
            <a
              href={rows.length === 1 && rows[0] ? deploymentHref(rows[0]) : href(['rollout', id], { code })}
              class="cause"
            >
              <code>{code}</code> {message}{' '}
              {components.size > 0 && <span class="component">in {[...components].join(', ')}</span>}
            </a>
          </li>
        ))}
        {unready.slice(0, 8).map(({ key, mark, words, found, filter }) => (
          <li key={key}>
            <StateMark of={mark}>{plural(found.length, 'resource')}</StateMark>
            <a
              href={found.length === 1 && found[0] ? href(['resource', found[0].id]) : href(['rollout', id], filter)}
              class="cause"
            >
              <code>{words}</code> {found[0]?.message}{' '}
              <span class="component">in {[...new Set(found.map(({ component }) => component))].join(', ')}</span>
            </a>
          </li>
        ))}
        {stalled.length > 0 && (
          <li>
            <StateMark of="STALLED">{plural(stalled.length, 'deployment')}</StateMark>
            <a href={href(['rollout', id], { stalled: 'true' })} class="cause">
              under way for longer than others took; the longest since <Oldest rows={stalled} />
            </a>
          </li>
        )}
        {offline.length > 0 && (
          <li>
            <StateMark of="OFFLINE">{plural(offline.length, 'device')}</StateMark>
            <a href={href(['rollout', id], { offline: 'true' })} class="cause">
              out of reach, and not done
            </a>
          </li>
        )}
      </ul>
    </section>
  )
}

interface Unready {
  readonly key: string
  readonly mark: Mark
  readonly words: string
  readonly filter: Parameters
  readonly found: readonly Resource[]
}

/** What could not be put there, and what is there and does not work; by reason, the worst first. */
function findUnready(resources: readonly Resource[]): readonly Unready[] {
  const kindOf = ({ sync, readiness, reason }: Resource): Omit<Unready, 'found'> | null => {
    if (sync === 'FAILED' || sync === 'RETRYING')
      return { key: `0 ${sync}`, mark: sync, words: syncWords[sync], filter: { sync } }
    if (readiness !== 'FAILED' && readiness !== 'PENDING') return null
    const words = reason ?? readinessWords[readiness]
    const mark = readiness === 'FAILED' ? 'FAILED' : 'WAITING'
    return { key: `${mark === 'FAILED' ? 1 : 2} ${words}`, mark, words, filter: { readiness, object: reason } }
  }
  const kinds = resources.flatMap((resource) => {
    const kind = kindOf(resource)
    return kind ? [{ kind, resource }] : []
  })
  return [...Map.groupBy(kinds, ({ kind }) => kind.key).values()]
    .flatMap(([first, ...rest]) =>
      first ? [{ ...first.kind, found: [first, ...rest].map(({ resource }) => resource) }] : [],
    )
    .sort((a, b) => a.key.localeCompare(b.key))
}

function Oldest({ rows }: { readonly rows: readonly Row[] }) {
  const [oldest] = rows.map(({ changedAt }) => changedAt).sort()
  return oldest ? <time title={formatFull(oldest)}>{formatAge(oldest, moment.value)}</time> : null
}

/** Which component the rollout hangs on. */
function Components({ list }: { readonly list: readonly Row[] }) {
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

const Gone = () => (
  <>
    <h1>No such rollout</h1>
    <p>
      It is not there{at.value && ' at that time'}. <a href={href(['rollouts'])}>All rollouts</a>
    </p>
  </>
)
