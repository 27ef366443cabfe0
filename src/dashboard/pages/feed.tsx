/** Everything as it happens: the last changes, then each further one exactly once, also after an interruption. */
import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { type ChangeFilter, perFrame, useAnswer } from '../answers.ts'
import { follow } from '../api.ts'
import { type Change, ChangeLine, changeFragment } from '../change-line.tsx'
import { Choice, Narrowed, useFilters } from '../filters.tsx'
import { graphql } from '../graphql.ts'
import { at } from '../route.ts'
import { useIsNarrow } from '../screen.ts'
import { Trouble } from '../trouble.tsx'
import { Cell, VirtualList } from '../virtual-list.tsx'
import { deploymentStates, formatNumber, plural, stateWords } from '../words.ts'

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

/** So many are kept on the page; the log has them all. */
const most = 2_000

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
  rollout: ['INSTANCE_STATUS_CHANGED', 'LIFECYCLE_ACTION_RECORDED', 'RESOURCE_STATUS_CHANGED'],
} as const

const kindWords = {
  deployment: 'Deployments',
  component: 'Components',
  desired: 'Desired state',
  connectivity: 'Connectivity',
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
      <div class="filters" role="search" aria-label="Filter changes">
        <Choice name="kind" label="About" options={kindWords} />
        <Choice name="state" label="To" options={stateOptions} />
        {device !== null && <Narrowed name="device">{`On ${device}`}</Narrowed>}
      </div>
      {at.value && <p class="note">The feed is always of the present.</p>}
      <Feed key={JSON.stringify(filter)} filter={filter} />
    </>
  )
}

function Feed({ filter }: { readonly filter: ChangeFilter }) {
  const isPaused = useSignal(false)
  const shown = useSignal<readonly Change[]>([])
  const held = useSignal(0)
  const told = useSignal(0)
  const note = useSignal<string | null>(null)
  const isNarrow = useIsNarrow()
  const variables = useMemo(() => ({ filter }), [filter])
  // Asked once: what follows comes by itself.
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
      told.value += waiting
      if (isPaused.value) held.value += waiting
      else shown.value = all
      waiting = 0
    })
    const leave = follow(
      feedSubscription,
      { after: began.current.revision, filter },
      {
        next({ changes: { change, reset } }) {
          if (reset?.reason === 'CURSOR_EXPIRED')
            note.value = 'The history was cut while you were away: what follows is all that is kept.'
          if (!change) return
          all = [change, ...all.slice(0, most - 1)]
          waiting += 1
          draw()
        },
        resume: ({ changes: { cursor } }) => ({ after: cursor }),
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
          {isAnswered ? `${plural(told.value, 'change')} since you came` : 'Asking …'}
          {isPaused.value && held.value > 0 && `, ${formatNumber(held.value)} not shown yet`}
        </p>
        <button
          type="button"
          class="toggle"
          aria-pressed={isPaused.value}
          onClick={() => (isPaused.value = !isPaused.value)}
        >
          {isPaused.value ? 'Go on' : 'Pause'}
        </button>
      </div>
      {note.value && <p class="note">{note.value}</p>}
      {error && <Trouble error={error} />}
      {isAnswered && shown.value.length === 0 && (
        <p class="empty">Nothing like that has happened. What does, appears here by itself.</p>
      )}
      {shown.value.length > 0 && (
        <VirtualList
          rows={shown.value}
          keyOf={({ revision }) => revision}
          rowHeight={isNarrow ? 58 : 34}
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
