/** Kubernetes objects: whether they are applied, whether they work, and the reason if not. */
import { useMemo } from 'preact/hooks'
import { formatNumber, plural, readinessOrder, readinessWords, type SyncStatus, syncWords } from '../data/labels.ts'
import { matchesFilter, type Resource, type ResourceFilter, type Resources } from '../data/resource-rows.ts'
import { formatAge, formatFull } from '../data/time.ts'
import { href, moment } from '../route.ts'
import { TargetLink } from './deployment-table.tsx'
import { ErrorMessage } from './error-message.tsx'
import { Choice, FilterChip, SearchField, useFilters } from './filters.tsx'
import { ReadinessMark, SyncMark } from './readiness.tsx'
import { useIsNarrow } from './theme.ts'
import { Cell, VirtualList } from './virtual-list.tsx'

/** The filter in the address. */
export function useResourceFilter(): ResourceFilter {
  const { many, one } = useFilters()
  const kind = one('kind')
  return {
    kinds: kind === null ? [] : [kind],
    readiness: many('readiness', readinessOrder),
    sync: many('sync', Object.keys(syncWords) as SyncStatus[]),
  }
}

interface ResourceListProps {
  readonly source: Resources
  readonly label: string
  readonly empty: string
}

/** Filtered by the address. The search covers the loaded rows. */
export function ResourceList({ source, label, empty }: ResourceListProps) {
  const { list, total, isComplete, error } = source
  const { text, one, set } = useFilters()
  const filter = useResourceFilter()
  const isNarrow = useIsNarrow()
  const kinds = useMemo(() => [...new Set(list.map(({ kind }) => kind))].sort(), [list])
  const [app, cluster, search] = [one('app'), one('cluster'), text('object').trim().toLowerCase()]
  const shown = list.filter(
    (resource) =>
      matchesFilter(filter, resource) &&
      (app === null || resource.component === app) &&
      (cluster === null || resource.target.name === cluster) &&
      (search === '' || searchable(resource).includes(search)),
  )
  return (
    <section aria-label={label}>
      <div
        class="filters"
        role="search"
        data-filters="app cluster kind object readiness sync"
        aria-label={`Filter ${label.toLowerCase()}`}
      >
        <SearchField label="Name, reason, cluster" name="object" />
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
      </div>
      <div class="table-bar">
        <p class="muted number" role="status">
          {total === null
            ? 'Loading…'
            : shown.length === total
              ? plural(total, 'resource')
              : `${formatNumber(shown.length)} of ${plural(total, 'resource')}`}
        </p>
      </div>
      {error && <ErrorMessage error={error} />}
      {shown.length > 0 && (
        <VirtualList
          rows={shown}
          keyOf={({ id }) => id}
          rowHeight={isNarrow ? 64 : 44}
          label={label}
          head={['Resource', 'Where', 'Sync', 'Readiness', 'Changed']}
          columns="resources"
        >
          {(resource) => <ResourceCells resource={resource} />}
        </VirtualList>
      )}
      {isComplete && shown.length === 0 && !error && <p class="empty">{empty}</p>}
    </section>
  )
}

const searchable = ({ name, kind, namespace, component, reason, message, target }: Resource): string =>
  [name, kind, namespace, component, reason, message, target.name].join(' ').toLowerCase()

function ResourceCells({ resource }: { readonly resource: Resource }) {
  const { id, kind, name, namespace, component, target, sync, readiness, reason, message, changedAt } = resource
  const why = [reason, message].filter(Boolean).join(': ')
  return (
    <>
      <Cell class="main">
        <a href={href(['resource', id])} title={`${kind} ${name}`}>
          {name}
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
