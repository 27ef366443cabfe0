/** The log: what GraphQL's `changes` shows, one row a change, in the form that webhooks send. */
import type { Change } from '../../../domain/change.ts'
import { type ChangeFilter, matchesChange } from '../../../domain/nouns/change.ts'
import type { Revision } from '../../../domain/values.ts'
import { describeChanges } from '../../../outlets/sinks/change-data.ts'
import { visibleChanges } from '../../../store/read/access-scope.ts'
import { readLog } from '../../../store/read/changes/changes.ts'
import { rangeOfTimes } from '../../../store/read/changes/time-range.ts'
import { requireRetained } from '../../../store/read/past.ts'
import { columnsOf, type Row, rolloutColumns, targetColumns } from '../columns.ts'
import { changeFilterOf, conditionParameters, conditionsOf } from '../conditions.ts'
import { cursorNumbers, givenIn, type Query, refused, timeIn } from '../query.ts'
import { momentParameters, rangeOf } from './bounds.ts'
import type { Extent, Kind, Sessions } from './kind.ts'
import { readPlaces } from './places.ts'

export const changeColumns = columnsOf({
  revision: 'revision',
  at: 'time',
  observedAt: 'time',
  kind: 'text',
  deploymentId: 'text',
  ...targetColumns,
  ...rolloutColumns,
  instanceId: 'text',
  component: 'text',
  from: 'text',
  to: 'text',
  errorCode: 'text',
  errorMessage: 'text',
  resource: 'json',
  details: 'json',
  traceparent: 'text',
  cursor: 'text',
})

/** What all kinds of changes have is in columns of its own. */
const shared: ReadonlySet<string> = new Set([
  'kind',
  'revision',
  'at',
  'observedAt',
  'deploymentId',
  'instanceId',
  'rollout',
  'target',
])

/** Entries of the log in a part: an entry may have many changes, and one of them a long text. */
const entries = 400

export const changes: Kind = {
  columns: changeColumns,
  accepts: [...momentParameters, 'afterRevision', 'since', 'before', ...conditionParameters],
  async open({ scoped }, query) {
    const range = await rangeOf(scoped, query)
    const times = timesIn(query)
    const filter: ChangeFilter = { ...changeFilterOf(query), ...times }
    const recorded = await rangeOfTimes(scoped, filter)
    const from = Math.max(range.from, (recorded.from ?? 1) - 1)
    const to = Math.min(range.to, recorded.to ?? range.to)
    return createExtent({ ...range, first: from, last: to }, filter, query)
  },
}

function timesIn(query: Query): Pick<ChangeFilter, 'since' | 'before'> {
  const [since, before] = [timeIn(query, 'since'), timeIn(query, 'before')]
  return { ...(since !== null && { since }), ...(before !== null && { before }) }
}

interface Bounds {
  readonly from: Revision
  readonly to: Revision
  /** The same, narrowed to the times that are asked for. */
  readonly first: Revision
  readonly last: Revision
}

function createExtent({ from, to, first, last }: Bounds, filter: ChangeFilter, query: Query): Extent {
  return {
    revision: to,
    parameters: {
      afterRevision: String(from),
      atRevision: String(to),
      ...givenIn(query, ['since', 'before']),
      ...conditionsOf(query),
    },
    async read(sessions, after) {
      const [given = first] = after === null ? [] : cursorNumbers(after, 1)
      if (given > to) throw refused('after', `is after ${to}, the revision of this export`)
      // Without `afterRevision` the bounds have moved with retention, so they do not say what the client has missed.
      const start = Math.max(await requireRetained(sessions.whole, given), first)
      if (start >= last) return { rows: [], next: null }
      const found = await readLog(sessions.whole, start, entries, last)
      const end = found.at(-1)?.revision ?? last
      const rows = await changeRows(sessions, filter, found)
      return { rows, next: end < last ? String(end) : null }
    },
  }
}

export async function changeRows(
  { scoped, whole }: Sessions,
  filter: ChangeFilter,
  found: readonly Change[],
): Promise<Row[]> {
  const visible = (await visibleChanges(scoped, found)).flatMap(({ change }) => change ?? [])
  const matching = visible.filter((change) => matchesChange(filter, change))
  const described = await describeChanges(whole, matching, scoped)
  const showPlace = await readPlaces(
    whole,
    matching.map(({ targetKey }) => targetKey),
    matching.map(({ rolloutKey }) => rolloutKey),
  )
  return matching.map((change, index) => {
    const { resource, component, from, to, error, ...rest } = described[index] ?? {}
    const details = Object.entries(rest).filter(([name]) => !shared.has(name))
    const { code = null, message = null } = (error ?? {}) as Partial<Record<'code' | 'message', string>>
    return {
      revision: change.revision,
      at: change.at,
      observedAt: change.observedAt,
      kind: change.kind,
      deploymentId: change.deploymentId,
      ...showPlace(change.targetKey, change.rolloutKey),
      instanceId: change.instanceId,
      component: component ?? null,
      from: from ?? null,
      to: to ?? null,
      errorCode: code,
      errorMessage: message,
      resource: resource ?? null,
      details: details.length > 0 ? Object.fromEntries(details) : null,
      traceparent: change.traceparent,
      cursor: String(change.revision),
    }
  })
}
