/** What blocks a rollout: each cause once, with the number of deployments that it affects. */
import { useMemo } from 'preact/hooks'
import type { Row } from '../data/deployment-rows.ts'
import { plural, readinessWords, syncWords } from '../data/labels.ts'
import type { Resource } from '../data/resource-rows.ts'
import { formatAge, formatFull } from '../data/time.ts'
import { href, moment, type Parameters } from '../route.ts'
import { deploymentHref } from './deployment-table.tsx'
import { type Mark, StateMark } from './state-mark.tsx'

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
    // An orchestrated deployment has no error of its own: its resources give the reason.
    if (row.state === 'FAILED' && !row.error && parts.length === 0 && !isOrchestrated)
      note(row, null, 'FAILED', { code: 'no error reported', message: '' })
  }
  return [...causes.values()].sort((a, b) => Number(b.isFailure) - Number(a.isFailure) || b.rows.length - a.rows.length)
}

interface BlockingProps {
  readonly list: readonly Row[]
  readonly resources: readonly Resource[]
  readonly isComplete: boolean
  readonly id: string
}

/** A device can be failed, stalled and offline at the same time, so each is counted separately. */
export function Blocking({ list, resources, isComplete, id }: BlockingProps) {
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
      {isClear && (
        <p class="empty good">{isComplete ? <StateMark of="INSTALLED">Nothing is blocking.</StateMark> : 'Loading…'}</p>
      )}
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
              slower than their peers; the slowest last changed <Oldest rows={stalled} />
            </a>
          </li>
        )}
        {offline.length > 0 && (
          <li>
            <StateMark of="OFFLINE">{plural(offline.length, 'device')}</StateMark>
            <a href={href(['rollout', id], { offline: 'true' })} class="cause">
              offline, deployment not finished
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

/** Resources that could not be applied, and resources that do not work, grouped by reason, the worst first. */
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
