/** Kubernetes objects: whether they are applied, whether they work, and the reason if not. */
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Columns } from '../../data/export.ts'
import { formatNumber, plural, readinessOrder, readinessWords, type SyncStatus, syncWords } from '../../data/labels.ts'
import { describeLoading, useLoading } from '../../data/loading.ts'
import type { Resource, ResourceFilter, Resources } from '../../data/resource-rows.ts'
import { formatAge, formatFull } from '../../data/time.ts'
import { at, href, moment } from '../../route.ts'
import { ErrorMessage } from '../error-message.tsx'
import { TargetLink } from '../links.tsx'
import { Name } from '../name.tsx'
import { ReadinessMark, SyncMark } from '../states/readiness.tsx'
import { useIsNarrow } from '../theme.ts'
import { ExportButtons } from './export-buttons.tsx'
import { Choice, FilterChip, Filters, SearchField, useFilters } from './filters.tsx'
import { Cell, VirtualList } from './virtual-list.tsx'

/** The filter in the address. */
export function useResourceFilter(): ResourceFilter {
  const { text, many, one } = useFilters()
  const kind = one('kind')
  const app = one('app')
  return {
    apps: app === null ? [] : [app],
    kinds: kind === null ? [] : [kind],
    readiness: many('readiness', readinessOrder),
    sync: many('sync', Object.keys(syncWords) as SyncStatus[]),
    cluster: one('cluster'),
    text: text('object').trim(),
  }
}

const NoResources = () => (
  <p class="empty">
    {at.value === null
      ? 'No resources. They appear here when the orchestrator or the cluster reports them.'
      : 'No resources at this time.'}
  </p>
)

interface ResourceListProps {
  readonly source: Resources
  readonly label: string
  /** What an empty list says. */
  readonly empty?: VNode | undefined
}

const noMatches = <p class="empty">No resources match these filters.</p>

/** Filtered by the address. */
export function ResourceList({ source, label, empty }: ResourceListProps) {
  const { list, total, all, isComplete, error, more } = source
  const { one, set } = useFilters()
  const filter = useResourceFilter()
  const isNarrow = useIsNarrow()
  useLoading((total === null || all === null) && !error)
  const kinds = useMemo(() => [...new Set(list.map(({ kind }) => kind))].sort(), [list])
  const [app, cluster] = [one('app'), one('cluster')]
  return (
    <section aria-label={label}>
      <Filters
        label={`Filter ${label.toLowerCase()}`}
        names="app cluster kind object readiness sync"
        fields={<SearchField label="Name, reason, cluster" name="object" />}
      >
        <Choice name="readiness" label="Readiness" options={readinessWords} />
        <Choice name="sync" label="Sync" options={syncWords} />
        {app !== null && <FilterChip name="app">{`App ${app}`}</FilterChip>}
        {cluster !== null && <FilterChip name="cluster">{`Cluster ${cluster}`}</FilterChip>}
        <label class="order">
          <span>Kind</span>
          <select value={one('kind') ?? ''} onChange={(event) => set({ kind: event.currentTarget.value })}>
            <option value="">Any</option>
            {[...new Set([...kinds, ...filter.kinds])].map((kind) => (
              <option key={kind} value={kind}>
                {kind}
              </option>
            ))}
          </select>
        </label>
      </Filters>
      <div class="table-bar">
        <p class="muted number" role="status">
          {total === null || all === null
            ? !error && describeLoading()
            : total === all
              ? plural(all, 'resource')
              : `${formatNumber(total)} of ${plural(all, 'resource')}`}
        </p>
        <ExportButtons name="resources" pages={source.pages} columns={columns} />
      </div>
      {error && <ErrorMessage error={error} />}
      {list.length > 0 && (
        <VirtualList
          rows={list}
          keyOf={({ id }) => id}
          rowHeight={isNarrow ? 88 : 44}
          label={label}
          head={['Resource', 'Where', 'Sync', 'Readiness', 'Changed']}
          columns="resources"
          more={more}
        >
          {(resource) => <ResourceCells resource={resource} />}
        </VirtualList>
      )}
      {isComplete && list.length === 0 && !error && (empty ?? (all === 0 ? <NoResources /> : noMatches))}
    </section>
  )
}

const columns: Columns<Resource> = {
  kind: (row) => row.kind,
  name: (row) => row.name,
  namespace: (row) => row.namespace,
  component: (row) => row.component,
  target: (row) => row.target.name,
  sync: (row) => row.sync,
  presence: (row) => row.presence,
  readiness: (row) => row.readiness,
  reason: (row) => row.reason,
  message: (row) => row.message,
  changedAt: (row) => row.changedAt,
}

function ResourceCells({ resource }: { readonly resource: Resource }) {
  const { id, kind, name, namespace, component, target, sync, readiness, reason, message, changedAt } = resource
  const why = [reason, message].filter(Boolean).join(': ')
  return (
    <>
      <Cell class="main">
        <a href={href(['resource', id])} title={`${kind} ${name}`}>
          <Name>{name}</Name>
          <small>{[kind, namespace].filter(Boolean).join(' in ')}</small>
        </a>
      </Cell>
      <Cell class="where">
        <TargetLink target={target} /> <span class="muted">{component}</span>
      </Cell>
      <Cell class="sync">{sync && <SyncMark of={sync} />}</Cell>
      <Cell class="state">
        <ReadinessMark of={readiness} />
        {why && readiness !== 'READY' && (
          <span class="why" title={why}>
            {why}
          </span>
        )}
      </Cell>
      <Cell class="when number">
        <time dateTime={changedAt} title={formatFull(changedAt)}>
          {formatAge(changedAt, moment.value)}
        </time>
      </Cell>
    </>
  )
}
