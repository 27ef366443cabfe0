/** Why deployments fail or wait: each cause once, with how many it affects, since when, and where. */
import type { ComponentChildren } from 'preact'
import { type Cause, type CausesData, writeGroup } from '../../data/causes.ts'
import { byWhom, plural } from '../../data/labels.ts'
import { formatAge, formatFull, formatSpan } from '../../data/time.ts'
import type { SiteLabels } from '../../data/use-causes.ts'
import { moment, type Parameters } from '../../route.ts'
import { deploymentHref } from '../links.tsx'
import { StateMark } from '../states/state-mark.tsx'
import { SiteChoice, Sites } from './sites.tsx'

interface CausesProps {
  readonly title: string
  readonly data: CausesData
  readonly labels: SiteLabels
  /** The address of the list of deployments with these filters. */
  readonly to: (parameters: Parameters) => string
  /** Other causes: list items. Null: they are not known yet. */
  readonly objects?: readonly ComponentChildren[] | null
}

/** A deployment can be failed, stalled and offline at the same time, so each is counted separately. */
export function Causes({ title, data, labels, to, objects = [] }: CausesProps) {
  const { failedBy, waitingFor, slow, slowest, unreachable } = data
  // An orchestrated deployment has no error of its own: its objects give the reason.
  const causes = failedBy.nodes.filter(({ key }) => key !== null || !objects?.length)
  const [oldest] = slowest.nodes
  const known = causes.length + waitingFor.nodes.length + slow.total + unreachable.total
  return (
    <section class="panel" aria-labelledby="causes">
      <h2 id="causes">{title}</h2>
      {known === 0 && objects?.length === 0 && (
        <p class="empty good">
          <StateMark of="INSTALLED">Nothing is failing or stalled.</StateMark>
        </p>
      )}
      {known === 0 && objects === null && <p class="empty">Loading…</p>}
      {causes.length > 0 && <SiteChoice of={data.failedAt} labels={labels} to={to} />}
      <ul class="causes">
        {causes.map((cause) => (
          <CauseLine key={groupOf(cause)} cause={cause} state="FAILED" to={to}>
            {causes.length > 1 && labels.chosen !== null && (
              <Sites
                of={cause.sites}
                labels={labels}
                label={`This cause, by ${labels.chosen}`}
                to={(label) => to({ state: 'FAILED', group: groupOf(cause), label })}
              />
            )}
          </CauseLine>
        ))}
        {failedBy.totalCount > failedBy.nodes.length && (
          <li>
            <a href={to({ state: 'FAILED' })}>{plural(failedBy.totalCount - failedBy.nodes.length, 'more cause')}</a>
          </li>
        )}
        {objects}
        {waitingFor.nodes.map((cause) => (
          <CauseLine key={groupOf(cause)} cause={cause} state="PENDING" to={to} />
        ))}
        {slow.total > 0 && oldest && (
          <li>
            <StateMark of="STALLED">{plural(slow.total, 'deployment')}</StateMark>
            <a href={to({ stalled: 'true' })} class="cause">
              slower than their peers; the slowest last changed{' '}
              <time title={formatFull(oldest.changedAt)}>{formatAge(oldest.changedAt, moment.value)}</time>
            </a>
          </li>
        )}
        {unreachable.total > 0 && (
          <li>
            <StateMark of="OFFLINE">{plural(unreachable.total, 'deployment')}</StateMark>
            <a href={to({ offline: 'true', state: ['PENDING', 'INSTALLING', 'FAILED'] })} class="cause">
              not finished, on offline devices
            </a>
          </li>
        )}
      </ul>
    </section>
  )
}

function groupOf({ key, detail }: Pick<Cause, 'key' | 'detail'>): string {
  return writeGroup({ by: 'ERROR', key, detail })
}

/** A stack trace would fill the screen. Its deployments show all of it. */
function shorten(text: string, most = 240): string {
  const letters = text.length > most ? [...text] : []
  return letters.length > most ? `${letters.slice(0, most).join('')}…` : text
}

interface LineProps {
  readonly cause: Cause
  readonly state: 'FAILED' | 'PENDING'
  readonly to: CausesProps['to']
  readonly children?: ComponentChildren
}

function CauseLine({ cause: { key, detail, components, since, counts, deployments }, state, to, children }: LineProps) {
  const [example] = deployments
  const [object] = example?.broken.nodes ?? []
  const desired = example?.desired
  const isOne = counts.total === 1 && example !== undefined
  const group = groupOf({ key, detail })
  return (
    <li>
      <span class="marks">
        <StateMark of={state === 'FAILED' ? 'FAILED' : 'WAITING'}>{plural(counts.total, 'deployment')}</StateMark>
        <time class="muted" dateTime={since} title={`The first: ${formatFull(since)}`}>
          for {formatSpan(moment.value - Date.parse(since))}
        </time>
      </span>
      <a href={isOne ? deploymentHref(example) : to({ state, group })} class="cause">
        <code>{key ?? object?.reason ?? 'no error reported'}</code>{' '}
        <bdi>{shorten(detail ?? (key === null ? object?.message : null) ?? '')}</bdi>{' '}
        {components.length > 0 && <span class="component">in {components.join(', ')}</span>}
      </a>
      {children}
      {desired && state === 'FAILED' && (
        <small class="muted before">
          Declared <time title={formatFull(desired.declaredAt)}>{formatAge(desired.declaredAt, moment.value)}</time>{' '}
          {byWhom(desired.declaredBy)}
          {desired.reason && <q>{desired.reason}</q>}
        </small>
      )}
    </li>
  )
}
