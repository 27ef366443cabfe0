import type { Revision } from '../../domain/values.ts'
import type { Topic } from '../../feed/hub.ts'
import type { WatchOptions } from '../../feed/watch-stream.ts'
import type { ResourceFilter } from '../../store/read/resource-scope.ts'
import { builder } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import {
  countResourcesOf,
  ResourceCounts,
  type ResourceCountsAt,
  ResourceFilterRef,
  toResourceFilter,
} from '../objects/resource.ts'
import type { Source } from './event-source.ts'
import { streamState } from './state-stream.ts'

interface ResourceCountsUpdateRow {
  readonly cursor: Revision
  readonly coalesced: number
  readonly counts: ResourceCountsAt
}

const ResourceCountsUpdate = builder.objectRef<ResourceCountsUpdateRow>('ResourceCountsUpdate').implement({
  access: 'viewer',
  description: 'Counts of resources at one revision.',
  fields: (t) => ({
    cursor: t.expose('cursor', { type: 'Revision', description: 'The revision that this update reflects.' }),
    coalesced: t.exposeInt('coalesced', {
      description: 'Number of further commits that were merged into this update. Normally 0.',
    }),
    counts: t.expose('counts', { type: ResourceCounts, description: 'The counts.' }),
  }),
})

builder.subscriptionField('resourceCounts', (t) =>
  t.field({
    access: 'viewer',
    type: ResourceCountsUpdate,
    description:
      'Resources counted by status. Sends the present counts first, then an update whenever a count changes.',
    args: { filter: t.arg({ type: ResourceFilterRef, description: 'Selects the resources to count.' }) },
    subscribe: (_, { filter }, context) => streamCounts(context, toResourceFilter(filter)),
    resolve: (event) => event.payload,
  }),
)

function streamCounts(context: Context, filter: ResourceFilter): Source<ResourceCountsUpdateRow> {
  // The memory holds the counts that were sent last.
  return streamState<ResourceCountsUpdateRow, string>(
    context,
    watchOptions(filter),
    async (reader, event, { memory: sent }) => {
      const counts = await countResourcesOf(reader, { of: 'fleet' }, filter, null)
      const { revision: _, ...numbers } = counts
      const shown = JSON.stringify(numbers)
      if (shown === sent) return { skip: true }
      return { send: { cursor: event.cursor, coalesced: event.coalesced, counts }, memory: shown }
    },
  )
}

/** Includes instance changes: a new instance replaces the old one. The narrowest filter field selects the topic. */
function watchOptions(filter: ResourceFilter): WatchOptions {
  return {
    topics: topicsFor(filter),
    matches: ({ kind }) =>
      kind === 'RESOURCE_STATUS_CHANGED' ||
      kind === 'INSTANCE_STATUS_CHANGED' ||
      kind === 'LIFECYCLE_ACTION_RECORDED' ||
      kind === 'DEPLOYMENT_REVISED',
  }
}

function topicsFor({ instanceIds, rolloutKeys }: ResourceFilter): readonly Topic[] {
  // A superseded instance leaves the counts by a change of its successor, so only the filter's own IDs are safe.
  if (instanceIds) return instanceIds.map((id): Topic => `instance:${id}`)
  if (rolloutKeys) return rolloutKeys.map((key): Topic => `rollout:${key}`)
  return ['all']
}
