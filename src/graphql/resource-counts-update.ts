import type { Revision } from '../domain/deployment.ts'
import type { Topic } from '../feed/hub.ts'
import type { WatchOptions } from '../feed/watch-stream.ts'
import type { ResourceFilter } from '../store/resource-scope.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import {
  countResourcesOf,
  ResourceCounts,
  type ResourceCountsAt,
  ResourceFilterRef,
  toResourceFilter,
} from './resource.ts'
import type { Source } from './source-event.ts'
import { streamState } from './state-stream.ts'

interface ResourceCountsUpdateRow {
  readonly cursor: Revision
  readonly coalesced: number
  readonly counts: ResourceCountsAt
}

const ResourceCountsUpdate = builder.objectRef<ResourceCountsUpdateRow>('ResourceCountsUpdate').implement({
  access: 'viewer',
  description: 'Counts of resources as of one revision.',
  fields: (t) => ({
    cursor: t.expose('cursor', { type: 'Revision', description: 'As of which revision this is.' }),
    coalesced: t.exposeInt('coalesced', {
      description: 'Further commits that were merged into this update; normally 0.',
    }),
    counts: t.expose('counts', { type: ResourceCounts, description: 'The counts.' }),
  }),
})

builder.subscriptionField('resourceCounts', (t) =>
  t.field({
    access: 'viewer',
    type: ResourceCountsUpdate,
    description: 'Resources counted by status: as they are now, and again whenever a number moves.',
    args: { filter: t.arg({ type: ResourceFilterRef, description: 'Which resources to count.' }) },
    subscribe: (_, { filter }, context) => streamCounts(context, toResourceFilter(filter)),
    resolve: (event) => event.payload,
  }),
)

function streamCounts(context: Context, filter: ResourceFilter): Source<ResourceCountsUpdateRow> {
  // What it remembers: the numbers that were sent.
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

/** A new run takes the old one's place in the counts, which is a change of a run. The narrowest field is the feed's index. */
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
  // A run that is superseded leaves the counts with a change of the one that follows it: only its own id is safe to go by.
  if (instanceIds) return instanceIds.map((id): Topic => `instance:${id}`)
  if (rolloutKeys) return rolloutKeys.map((key): Topic => `rollout:${key}`)
  return ['all']
}
