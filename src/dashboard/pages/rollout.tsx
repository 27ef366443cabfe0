/** One rollout: how far it came and when, which component it hangs on, and what is blocking it. */
import { useMemo } from 'preact/hooks'
import { useAnswer, useStream } from '../answers.ts'
import { AreaChart } from '../area-chart.tsx'
import { CountsBar, CountsLegend } from '../counts-bar.tsx'
import type { Row } from '../deployment-rows.ts'
import { deploymentHref, useDeploymentRows } from '../deployment-table.tsx'
import { graphql } from '../graphql.ts'
import { chooseStep, usePoints } from '../past-points.ts'
import { at, href, moment } from '../route.ts'
import { StateMark } from '../state-mark.tsx'
import { formatAge, formatFull, formatSpan, now } from '../time.ts'
import { Trouble } from '../trouble.tsx'
import { type Counts, deploymentStates, formatNumber, formatShare, plural } from '../words.ts'
import { FilteredDeployments } from './deployments.tsx'
import { rolloutFragment, rolloutKinds } from './rollouts.tsx'

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

export function RolloutPage({ steps: [id = ''] }: { readonly steps: readonly string[] }) {
  const asOf = at.value
  const { data, error } = useAnswer(rolloutDocument, { id, asOf })
  const live = useStream(rolloutSubscription, asOf === null ? { id } : null)
  const all = useDeploymentRows({ filter: useMemo(() => ({ rolloutIds: [id] }), [id]), orderBy: 'CHANGED_DESC', asOf })
  const rollout = (asOf === null ? live?.rollout.rollout : null) ?? data?.rollout
  if (error) return <Trouble error={error} />
  if (!data) return <h1 aria-busy="true">Rollout</h1>
  if (!rollout) return <Gone />
  const { deploymentCounts: counts } = rollout
  const wanted = counts.total - counts.removed
  const list = all.rows.value.list
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
        <Blocking list={list} isComplete={all.rows.value.isComplete} id={id} />
      </div>
      <h2>Deployments</h2>
      <RolloutDeployments id={id} />
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

function findCauses(list: readonly Row[]): readonly Cause[] {
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
    if (row.state === 'FAILED' && !row.error && parts.length === 0)
      note(row, null, 'FAILED', { code: 'no error given', message: '' })
  }
  return [...causes.values()].sort((a, b) => Number(b.isFailure) - Number(a.isFailure) || b.rows.length - a.rows.length)
}

interface BlockingProps {
  readonly list: readonly Row[]
  readonly isComplete: boolean
  readonly id: string
}

/** Failed, stalled and offline are three facts, and a device may be in all of them. */
function Blocking({ list, isComplete, id }: BlockingProps) {
  const causes = useMemo(() => findCauses(list), [list])
  const stalled = list.filter((row) => row.stalled)
  const offline = list.filter(
    (row) => row.target.connectivity === 'OFFLINE' && row.state !== 'INSTALLED' && row.state !== 'REMOVED',
  )
  const isClear = causes.length === 0 && stalled.length === 0 && offline.length === 0
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
