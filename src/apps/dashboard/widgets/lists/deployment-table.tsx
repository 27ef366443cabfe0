/** Deployments as table rows: application, target, state, and the reason for a failure. */
import type { VNode } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { forgetDeployments, redeclareDeployments, removeDeployments } from '../../data/actions.ts'
import { createDeploymentRows, type ListOf, type Row } from '../../data/deployment-rows.ts'
import type { Columns } from '../../data/export.ts'
import { type Counts, expectedOf, formatOutside, isBroken, plural } from '../../data/labels.ts'
import { describeLoading, useLoading } from '../../data/loading.ts'
import { formatAge, formatFull } from '../../data/time.ts'
import { at, moment } from '../../route.ts'
import { ErrorMessage } from '../error-message.tsx'
import { DeploymentLink, TargetLink } from '../links.tsx'
import { Versions } from '../states/convergence.tsx'
import { ReadinessMark } from '../states/readiness.tsx'
import { StateMark, toMark } from '../states/state-mark.tsx'
import { useIsMedium, useIsNarrow } from '../theme.ts'
import { ExportButtons } from './export-buttons.tsx'
import { type Action, SelectBox, type Selection, SelectionBar, useSelection } from './selection.tsx'
import { Cell, VirtualList } from './virtual-list.tsx'

export function useDeploymentRows(list: ListOf) {
  const key = JSON.stringify(list)
  const source = useMemo(() => createDeploymentRows(list), [key])
  useEffect(() => source.stop, [source])
  return source
}

interface TableProps {
  readonly source: ReturnType<typeof createDeploymentRows>
  readonly label: string
  /** What an empty list says: a sentence, or how to fill it. */
  readonly empty: string | VNode
  /** All deployments run on one device, so the column of the device is left out. */
  readonly isOneDevice: boolean
}

export function DeploymentTable({ source, label, empty, isOneDevice }: TableProps) {
  const { list, total, isComplete, error } = source.rows.value
  const moved = source.moved.value.size
  const counts = source.counts.value
  const [isNarrow, isMedium] = [useIsNarrow(), useIsMedium()]
  const ids = useMemo(() => list.map(({ id }) => id), [list])
  const selection = useSelection({ isOn: at.value === null, about: source.about, listed: ids })
  useLoading(counts === null && !source.isUncounted.value && !error)
  return (
    <section aria-label={label}>
      <div class="table-bar">
        <p class="muted number" role="status">
          {counts
            ? describeCounts(counts)
            : source.isUncounted.value
              ? 'Too many to count'
              : !error && describeLoading()}
        </p>
        <button
          type="button"
          class="quiet"
          onClick={source.sortAgain}
          style={{ visibility: moved > 0 ? 'visible' : 'hidden' }}
        >
          {`${plural(moved, 'row')} changed. Sort again`}
        </button>
        <ExportButtons name="deployments" pages={source.pages} columns={columns} />
      </div>
      <SelectionBar of={selection} count={(count) => plural(count, 'deployment')} actions={actions} />
      {error && <ErrorMessage error={error} />}
      {list.length > 0 && (
        <VirtualList
          rows={list}
          keyOf={(row) => row.id}
          rowHeight={isNarrow ? 88 : isMedium ? 66 : 44}
          label={label}
          head={['Deployment', ...(isOneDevice ? [] : ['Where']), 'State', 'Manifest version', 'Components', 'Changed']}
          total={total ?? undefined}
          columns={isOneDevice ? 'deployments one-device' : 'deployments'}
          widths={{ '--version': `${Math.max(...list.map(versionLength))}ch` }}
          more={source.more}
        >
          {(row) => <DeploymentCells row={row} selection={selection} isOneDevice={isOneDevice} />}
        </VirtualList>
      )}
      {isComplete && list.length === 0 && !error && (typeof empty === 'string' ? <p class="empty">{empty}</p> : empty)}
    </section>
  )
}

const actions: readonly Action[] = [
  {
    word: 'Remove',
    effect: 'The desired state no longer contains them, so their devices remove them.',
    reason: 'optional',
    run: removeDeployments,
  },
  {
    word: 'Forget',
    effect: 'They leave all lists and counts. A new report brings a deployment back.',
    reason: 'none',
    run: forgetDeployments,
  },
  {
    word: 'Redeclare',
    effect:
      'Each is declared again with its newest document, so devices install again what was removed. Nothing changes for those that are declared already.',
    reason: 'optional',
    run: redeclareDeployments,
  },
]

const columns: Columns<Row> = {
  deploymentId: (row) => row.deploymentId,
  reporter: (row) => row.reporter,
  target: (row) => row.target.name,
  rollout: (row) => row.rollout.name,
  application: (row) => row.application,
  applicationVersion: (row) => row.applicationVersion,
  state: (row) => row.state,
  readiness: (row) => row.readiness,
  convergence: (row) => row.convergence,
  stalled: (row) => row.stalled,
  attempt: (row) => row.attempt,
  errorCode: (row) => row.error?.code,
  reason: (row) => reasonOf(row),
  changedAt: (row) => row.changedAt,
  revision: (row) => row.revision,
}

/** The number of deployments that the other pages count, and those that they do not: `430 deployments and 5 removed`. */
function describeCounts(counts: Counts): string {
  const [expected, outside] = [expectedOf(counts), formatOutside(counts)]
  if (outside === null) return plural(expected, 'deployment')
  return expected === 0
    ? `${outside} ${counts.total === 1 ? 'deployment' : 'deployments'}`
    : `${plural(expected, 'deployment')} and ${outside}`
}

/** A reported error, else the first object that fails on the cluster. */
function reasonOf(row: Row): string | null {
  const error = row.error ?? row.components.find((component) => component.error)?.error
  if (error) return error.message || error.code
  const [object] = row.broken.nodes
  return object ? [`${object.kind} ${object.name}`, object.reason, object.message].filter(Boolean).join(': ') : null
}

/** The width of the versions in characters, with the mark and the arrow. */
const versionLength = ({ adoptedManifestVersion, targetManifestVersion }: Row): number =>
  (adoptedManifestVersion ?? '').length + (targetManifestVersion ?? '').length + 6

/** Components with a mark in a row. The others are counted. */
const mostComponents = 8

interface CellsProps {
  readonly row: Row
  readonly selection: Selection | null
  readonly isOneDevice: boolean
}

function DeploymentCells({ row, selection, isOneDevice }: CellsProps) {
  const reason = reasonOf(row)
  return (
    <>
      <Cell class="main">
        <SelectBox of={selection} id={row.id} name={`${row.deploymentId} on ${row.target.name}`} />
        <DeploymentLink deployment={row} />
      </Cell>
      {!isOneDevice && (
        <Cell class="where">
          <TargetLink target={row.target} />
          {row.target.connectivity === 'OFFLINE' && <StateMark of="OFFLINE" isBare />}
        </Cell>
      )}
      <Cell class="state">
        <StateMark of={toMark(row.state, row.error !== null)} />
        {row.stalled && <StateMark of="STALLED" />}
        {row.convergence === 'STALE' && <StateMark of="STALE" />}
        {row.state === 'INSTALLED' && isBroken(row.readiness) && <ReadinessMark of={row.readiness} />}
        {reason !== null && (
          <span class="why" title={reason}>
            {reason}
          </span>
        )}
      </Cell>
      <Cell class="version number">
        <Versions deployment={row} />
      </Cell>
      <Cell class="parts">
        {row.components.slice(0, mostComponents).map(({ name, state, error: own }) => (
          <span key={name} class="part" title={`${name}: ${state.toLowerCase()}`}>
            <StateMark of={toMark(state, own !== null)} isBare>
              {`${name}: ${state.toLowerCase()}`}
            </StateMark>
          </span>
        ))}
        {row.components.length > mostComponents && (
          <small class="muted">+{row.components.length - mostComponents}</small>
        )}
      </Cell>
      <Cell class="when number">
        <time dateTime={row.changedAt} title={formatFull(row.changedAt)}>
          {formatAge(row.changedAt, moment.value)}
        </time>
      </Cell>
    </>
  )
}
