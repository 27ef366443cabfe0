/** The live feed: the latest changes, then each new one exactly once, also after a reconnect. */
import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { ask } from '../data/api.ts'
import { graphql, type ResultOf } from '../data/graphql.ts'
import { deploymentStates, formatNumber, plural, stateWords } from '../data/labels.ts'
import { perFrame } from '../data/throttle.ts'
import { type ChangeFilter, followChanges, useAnswer } from '../data/use-query.ts'
import { type Change, ChangeLine, changeFragment } from '../widgets/change-line.tsx'
import { ErrorMessage } from '../widgets/error-message.tsx'
import { changeColumns } from '../widgets/lists/change-columns.ts'
import { ExportButtons } from '../widgets/lists/export-buttons.tsx'
import { Choice, FilterChip, Filters, useFilters } from '../widgets/lists/filters.tsx'
import { Cell, VirtualList } from '../widgets/lists/virtual-list.tsx'
import { FirstReport } from '../widgets/setup/first-report.tsx'
import { useIsMedium, useIsNarrow } from '../widgets/theme.ts'

const lastDocument = graphql(
  `
    query LastChanges($filter: ChangeFilter) {
      revision
      changes(filter: $filter, last: 100) { nodes { ...Line } }
    }
  `,
  [changeFragment],
)

const feedSubscription = graphql(
  `
    subscription Feed($after: Revision, $filter: ChangeFilter) {
      changes(after: $after, filter: $filter) { cursor reset { reason } change { ...Line } }
    }
  `,
  [changeFragment],
)

/** The most changes that the page holds. The log has all of them. */
const most = 2_000

const pageDocument = graphql(
  `
    query FeedPage($filter: ChangeFilter, $before: Revision) {
      changes(filter: $filter, before: $before, last: 100) { nodes { ...Line } pageInfo { hasPreviousPage startCursor } }
    }
  `,
  [changeFragment],
)

/** The most changes of a file, newest first. */
const mostSaved = 10_000

async function* readNewest(filter: ChangeFilter): AsyncGenerator<readonly Change[]> {
  let before: string | null = null
  for (let count = 0; count < mostSaved; ) {
    const { changes: page }: ResultOf<typeof pageDocument> = await ask(pageDocument, { filter, before })
    yield page.nodes.toReversed()
    count += page.nodes.length
    before = page.nodes[0]?.revision ?? null
    if (!page.pageInfo.hasPreviousPage || before === null) return
  }
}

const kinds = {
  deployment: [
    'DEPLOYMENT_STATE_CHANGED',
    'DEPLOYMENT_STALLED',
    'DEPLOYMENT_MOVED',
    'DEPLOYMENT_REVISED',
    'DEPLOYMENT_FORGOTTEN',
  ],
  component: ['COMPONENT_STATE_CHANGED', 'COMPONENT_REMOVED'],
  desired: ['CONVERGENCE_CHANGED'],
  connectivity: ['CONNECTIVITY_CHANGED'],
  device: ['DEVICE_RETIRED', 'DEVICE_REINSTATED', 'MAINTENANCE_STARTED', 'MAINTENANCE_ENDED'],
  maintenance: ['MAINTENANCE_PLANNED', 'MAINTENANCE_CANCELLED'],
  alert: ['ALERT_RAISED', 'ALERT_ACKNOWLEDGED', 'ALERT_RESOLVED'],
  rollout: [
    'ROLLOUT_LABELS_CHANGED',
    'INSTANCE_STATUS_CHANGED',
    'LIFECYCLE_ACTION_RECORDED',
    'RESOURCE_STATUS_CHANGED',
  ],
} as const

const kindWords = {
  deployment: 'Deployments',
  component: 'Components',
  desired: 'Desired state',
  connectivity: 'Connectivity',
  device: 'Devices',
  maintenance: 'Maintenance plans',
  alert: 'Alerts',
  rollout: 'Rollouts',
} as const

const stateOptions = Object.fromEntries(deploymentStates.map((state) => [state, stateWords[state]]))

export function FeedPage() {
  const { many, one } = useFilters()
  const chosen = many('kind', Object.keys(kinds) as (keyof typeof kinds)[])
  const to = many('state', deploymentStates)
  const device = one('device')
  const filter: ChangeFilter = {
    ...(chosen.length > 0 ? { kinds: chosen.flatMap((kind) => [...kinds[kind]]) } : {}),
    ...(to.length > 0 ? { to } : {}),
    ...(device === null ? {} : { deviceIds: [device] }),
  }
  return (
    <>
      <h1>Feed</h1>
      <Filters label="Filter changes" names="kind state device">
        <Choice name="kind" label="Kind of change" options={kindWords} />
        <Choice name="state" label="New state" options={stateOptions} />
        {device !== null && <FilterChip name="device">{`Device ${device}`}</FilterChip>}
      </Filters>
      <Feed key={JSON.stringify(filter)} filter={filter} />
    </>
  )
}

function Feed({ filter }: { readonly filter: ChangeFilter }) {
  const isPaused = useSignal(false)
  const shown = useSignal<readonly Change[]>([])
  const held = useSignal(0)
  const received = useSignal(0)
  const note = useSignal<string | null>(null)
  const [isNarrow, isMedium] = [useIsNarrow(), useIsMedium()]
  const variables = useMemo(() => ({ filter }), [filter])
  // Queried once: the subscription delivers the rest.
  const began = useRef<{ readonly revision: string; readonly nodes: readonly Change[] } | null>(null)
  const { data, error } = useAnswer(lastDocument, variables, { isOff: began.current !== null })
  if (data && !began.current) began.current = { revision: data.revision, nodes: data.changes.nodes }
  const isAnswered = began.current !== null

  useEffect(() => {
    if (!began.current) return
    let all: Change[] = began.current.nodes.toReversed()
    shown.value = all
    let waiting = 0
    const draw = perFrame<void>(() => {
      received.value += waiting
      if (isPaused.value) held.value += waiting
      else shown.value = all
      waiting = 0
    })
    const leave = followChanges(
      feedSubscription,
      began.current.revision,
      filter,
      () => (note.value = 'Some changes are missing: they expired while this page was disconnected.'),
      (change) => {
        all = [change, ...all.slice(0, most - 1)]
        waiting += 1
        draw()
      },
    )
    const unpause = isPaused.subscribe((paused) => {
      if (paused) return
      held.value = 0
      shown.value = all
    })
    return () => {
      leave()
      draw.cancel()
      unpause()
    }
  }, [isAnswered])

  return (
    <section aria-label="Changes">
      <div class="table-bar">
        <p class="muted number">
          {isAnswered ? `${plural(received.value, 'change')} since this list opened` : !error && 'Loading…'}
          {isPaused.value && held.value > 0 && `, ${formatNumber(held.value)} not shown yet`}
        </p>
        <ExportButtons name="feed" pages={() => readNewest(filter)} columns={changeColumns} />
        <button
          type="button"
          class="toggle"
          aria-pressed={isPaused.value}
          onClick={() => (isPaused.value = !isPaused.value)}
        >
          {isPaused.value ? 'Resume' : 'Pause'}
        </button>
      </div>
      {note.value && <p class="note">{note.value}</p>}
      {error && <ErrorMessage error={error} />}
      {isAnswered &&
        shown.value.length === 0 &&
        (Object.keys(filter).length === 0 ? (
          <FirstReport />
        ) : (
          <p class="empty">No changes match these filters. New ones appear here automatically.</p>
        ))}
      {shown.value.length > 0 && (
        <VirtualList
          rows={shown.value}
          keyOf={({ revision }) => revision}
          rowHeight={isNarrow ? 80 : isMedium ? 58 : 34}
          label="Changes, newest first"
          columns="feed"
        >
          {(change) => (
            <Cell class="change">
              <ChangeLine change={change} />
            </Cell>
          )}
        </VirtualList>
      )}
    </section>
  )
}
