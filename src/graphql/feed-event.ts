import type { Revision } from '../domain/deployment.ts'
import { DomainError } from '../domain/errors.ts'
import type { ChangePosition, FeedEvent as FeedEventRow } from '../feed/change-stream.ts'
import { builder } from './builder.ts'
import { Change } from './change.ts'
import { ChangeFilterRef, toChangeFilter } from './change-list.ts'
import type { Context } from './context.ts'
import { createSource, type Source, type SourceEvent } from './source-event.ts'
import { FeedResetReasonEnum } from './vocabulary.ts'

const FeedReset = builder.objectRef<NonNullable<FeedEventRow['reset']>>('FeedReset').implement({
  access: 'viewer',
  description: 'The stream could not simply go on. The event that carries it says where it does.',
  fields: (t) => ({
    reason: t.field({ type: FeedResetReasonEnum, description: 'Why.', resolve: (reason) => reason }),
  }),
})

const FeedEvent = builder.objectRef<FeedEventRow>('FeedEvent').implement({
  access: 'viewer',
  description: 'A change, a reset, or neither: a bookmark that only moves the cursor.',
  fields: (t) => ({
    cursor: t.expose('cursor', {
      type: 'Revision',
      description: 'Everything up to here has been delivered: resume with `after`. The id of a server-sent event.',
    }),
    change: t.expose('change', { type: Change, nullable: true, description: 'What happened.' }),
    reset: t.expose('reset', {
      type: FeedReset,
      nullable: true,
      description: 'Why something may be missing before this.',
    }),
  }),
})

builder.subscriptionField('changes', (t) =>
  t.field({
    access: 'viewer',
    type: FeedEvent,
    description:
      'Every change after a revision, exactly once and in order; without `after`: from now on. A server-sent `Last-Event-ID` wins over `after`.',
    args: {
      filter: t.arg({ type: ChangeFilterRef, description: 'Which of them.' }),
      after: t.arg({ type: 'Revision', description: 'The cursor of the last event that was handled.' }),
    },
    subscribe: (_, args, context) => {
      const after = resumedFrom(context) ?? args.after ?? null
      return streamChanges(context, toChangeFilter(args.filter), after)
    },
    resolve: (event) => event.payload,
  }),
)

function streamChanges(
  context: Pick<Context, 'feed' | 'see'>,
  filter: ReturnType<typeof toChangeFilter>,
  after: Revision | null,
  from?: ChangePosition,
): Source<FeedEventRow> {
  const { feed, see } = context
  let quiet = (): void => undefined
  const changes = feed.changes({ filter, after, see, from, quiet: () => quiet() })
  return createSource({
    start: after === null ? feed.hub.last : null,
    take() {
      const value = changes.take()
      return value && eventOf(value)
    },
    async pull() {
      const { done, value } = await changes.next()
      return done ? null : eventOf(value)
    },
    close: () => changes.return(),
    isQuiet: changes.isQuiet,
    standing: () => '',
    fork: () => streamChanges(context, filter, after, changes.before()),
    whenQuiet(tell) {
      quiet = tell
    },
    carry: changes.carry,
  })
}

function eventOf(payload: FeedEventRow): SourceEvent<FeedEventRow> {
  return { payload, resumeFrom: payload.cursor, snapshot: null, release: () => {} }
}

function resumedFrom({ lastEventId }: Context): Revision | null {
  if (!lastEventId) return null
  if (!/^\d{1,100}$/.test(lastEventId))
    throw new DomainError('BAD_USER_INPUT', 'Last-Event-ID must be the id of an event of this stream: decimal digits')
  return Math.min(Number(lastEventId), Number.MAX_SAFE_INTEGER)
}
