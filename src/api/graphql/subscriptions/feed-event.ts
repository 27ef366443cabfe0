import { DomainError } from '../../../domain/errors.ts'
import type { Revision } from '../../../domain/values.ts'
import type { ChangePosition } from '../../../feed/change-stream.ts'
import type { FeedEvent as FeedEventRow } from '../../../feed/event-queue.ts'
import { builder } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import { ChangeFilterRef, toChangeFilter } from '../objects/changes/change-list.ts'
import { Change } from '../objects/refs.ts'
import { FeedResetReasonEnum } from '../objects/vocabulary.ts'
import { createSource, type Source, type SourceEvent } from './event-source.ts'

export const FeedReset = builder.objectRef<NonNullable<FeedEventRow['reset']>>('FeedReset').implement({
  access: 'viewer',
  description: 'An interruption of the stream. The cursor of its event tells where the stream continues.',
  fields: (t) => ({
    reason: t.field({ type: FeedResetReasonEnum, description: 'The reason.', resolve: (reason) => reason }),
  }),
})

const FeedEvent = builder.objectRef<FeedEventRow>('FeedEvent').implement({
  access: 'viewer',
  description: 'A change, a reset, or a bookmark that only advances the cursor.',
  fields: (t) => ({
    cursor: t.expose('cursor', {
      type: 'Revision',
      description:
        'All changes up to this revision were delivered. Resume with `after`. It is also the ID of the server-sent event.',
    }),
    change: t.expose('change', {
      type: Change,
      nullable: true,
      description: 'The change. Null: the event is a reset or a bookmark.',
    }),
    reset: t.expose('reset', {
      type: FeedReset,
      nullable: true,
      description: 'Why changes before this event may be missing. Null: none are missing.',
    }),
  }),
})

builder.subscriptionField('changes', (t) =>
  t.field({
    access: 'viewer',
    type: FeedEvent,
    description:
      'Every change after a revision, exactly once and in order. Without `after`, only new changes. The header `Last-Event-ID` of server-sent events takes precedence over `after`.',
    args: {
      filter: t.arg({ type: ChangeFilterRef, description: 'Selects changes.' }),
      after: t.arg({
        type: 'Revision',
        description: 'The cursor of the last event that the client processed. `begin`: everything that is retained.',
      }),
    },
    subscribe: (_, args, context) => {
      const after = resumedFrom(context) ?? args.after ?? null
      return streamChanges(context, toChangeFilter(args.filter), after)
    },
    resolve: (event) => event.payload,
  }),
)

function streamChanges(
  context: Pick<Context, 'feed' | 'visible'>,
  filter: ReturnType<typeof toChangeFilter>,
  after: Revision | null,
  from?: ChangePosition,
): Source<FeedEventRow> {
  const { feed, visible } = context
  const changes = feed.changes({ filter, after, visible, from })
  return createSource({
    key: `changes ${JSON.stringify(filter)}`,
    start: after === null ? feed.hub.last : null,
    next() {
      const event = changes.next()
      return event instanceof Promise ? event.then(sourceEventOf) : sourceEventOf(event)
    },
    onWake: changes.onWake,
    close: changes.close,
    isIdle: changes.isIdle,
    stateKey: () => '',
    fork: () => streamChanges(context, filter, after, changes.before()),
    setSubscriberCount: changes.setSubscriberCount,
  })
}

function sourceEventOf(payload: FeedEventRow | 'idle' | 'ended'): SourceEvent<FeedEventRow> | 'idle' | 'ended' {
  if (typeof payload === 'string') return payload
  return { payload, resumeFrom: payload.cursor, snapshot: null, release: () => {} }
}

export function resumedFrom({ lastEventId }: Pick<Context, 'lastEventId'>): Revision | null {
  if (!lastEventId) return null
  if (!/^\d{1,100}$/.test(lastEventId))
    throw new DomainError('BAD_USER_INPUT', 'Last-Event-ID must be the ID of an event of this stream: decimal digits')
  return Math.min(Number(lastEventId), Number.MAX_SAFE_INTEGER)
}
