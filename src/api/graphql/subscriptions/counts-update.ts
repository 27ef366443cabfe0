/** Subscriptions to counts: of deployments and of resources. */
import type { Change } from '../../../domain/change.ts'
import type { Revision } from '../../../domain/values.ts'
import type { WatchOptions } from '../../../feed/watch-stream.ts'
import type { DeploymentFilter } from '../../../store/read/filters/deployment-filter.ts'
import { builder, type SchemaTypes } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import type { Reader } from '../execution/loaders/reader.ts'
import { selectedFields } from '../execution/selection.ts'
import { DeploymentCounts, type Fact, loadCounts, numbersOf, selectedFacts } from '../objects/counts.ts'
import { countResourcesOf, ResourceCounts } from '../objects/resources/resource.ts'
import { DeploymentFilterRef, toDeploymentFilter } from '../objects/selectors/deployment-filter.ts'
import { ResourceFilterRef, toResourceFilter } from '../objects/selectors/filters.ts'
import { deploymentTopics } from './deployment-topics.ts'
import type { Source } from './event-source.ts'
import { resourceWatch } from './resource-watch.ts'
import { streamState } from './state-stream.ts'

interface CountsUpdate<Counts> {
  readonly cursor: Revision
  readonly coalesced: number
  readonly counts: Counts
}

function implementUpdate<Counts>(name: string, of: string, type: PothosSchemaTypes.ObjectRef<SchemaTypes, Counts>) {
  return builder.objectRef<CountsUpdate<Counts>>(name).implement({
    access: 'viewer',
    description: `Counts of ${of} at one revision.`,
    fields: (t) => ({
      cursor: t.expose('cursor', { type: 'Revision', description: 'The revision that this update reflects.' }),
      coalesced: t.exposeInt('coalesced', {
        description: 'Number of further commits that were merged into this update. Normally 0.',
      }),
      // Pothos cannot infer that Counts is not a list.
      counts: t.field({ type, description: 'The counts.', resolve: ({ counts }) => counts as never }),
    }),
  })
}

/** `key`: what is counted. `numbers`: what a subscriber sees of the counts. An update is sent only if it differs from the previous one. */
function streamCounts<Counts>(
  context: Context,
  key: string,
  watch: WatchOptions,
  load: (reader: Reader) => Promise<{ readonly counts: Counts; readonly numbers: unknown }>,
): Source<CountsUpdate<Counts>> {
  return streamState<CountsUpdate<Counts>, string>(
    context,
    key,
    { ...watch, isPaced: true },
    async (reader, event, { memory: sent }) => {
      const { counts, numbers } = await load(reader)
      const shown = JSON.stringify(numbers)
      if (shown === sent) return { skip: true }
      return { send: { cursor: event.cursor, coalesced: event.coalesced, counts }, memory: shown }
    },
  )
}

const DeploymentCountsUpdate = implementUpdate('DeploymentCountsUpdate', 'deployments', DeploymentCounts)
const ResourceCountsUpdate = implementUpdate('ResourceCountsUpdate', 'resources', ResourceCounts)

builder.subscriptionFields((t) => ({
  deploymentCounts: t.field({
    access: 'viewer',
    type: DeploymentCountsUpdate,
    description:
      'Deployments counted by state. Sends the present counts first, then an update whenever a count changes.',
    args: { filter: t.arg({ type: DeploymentFilterRef, description: 'Selects the deployments to count.' }) },
    subscribe: (_, args, context, info) => {
      const filter = toDeploymentFilter(args.filter)
      const facts = selectedFacts(selectedFields(info, ['counts']))
      return streamCounts(
        context,
        `deploymentCounts ${JSON.stringify([filter, facts])}`,
        deploymentWatch(filter, facts),
        async (reader) => {
          const counts = await loadCounts(reader, { of: 'fleet' }, filter, null)
          return { counts, numbers: await numbersOf(reader, counts, facts) }
        },
      )
    },
    resolve: (event) => event.payload,
  }),
  resourceCounts: t.field({
    access: 'viewer',
    type: ResourceCountsUpdate,
    description:
      'Resources counted by status. Sends the present counts first, then an update whenever a count changes.',
    args: { filter: t.arg({ type: ResourceFilterRef, description: 'Selects the resources to count.' }) },
    subscribe: (_, args, context) => {
      const filter = toResourceFilter(args.filter)
      return streamCounts(
        context,
        `resourceCounts ${JSON.stringify(filter)}`,
        resourceWatch(filter),
        async (reader) => {
          const counts = await countResourcesOf(reader, { of: 'fleet' }, filter, null)
          const { revision: _, ...numbers } = counts
          return { counts, numbers }
        },
      )
    },
    resolve: (event) => event.payload,
  }),
}))

/** The changes that can change a count. The narrowest field of the filter selects the feed topic. `facts`: the selected ones. */
export function deploymentWatch(filter: DeploymentFilter, facts: readonly Fact[]): WatchOptions {
  const moving = new Set<Change['kind']>([
    'DEPLOYMENT_STATE_CHANGED',
    'DEPLOYMENT_FORGOTTEN',
    'DEPLOYMENT_MOVED',
    'DEPLOYMENT_REVISED',
    'CONVERGENCE_CHANGED',
  ])
  const isByState = facts.length === 0 && Object.keys(filter).every((field) => byState.has(field))
  return {
    topics: deploymentTopics(filter),
    matches: (change) => {
      if (!isByState) return true
      return moving.has(change.kind) && !(change.kind === 'DEPLOYMENT_STATE_CHANGED' && change.from === change.to)
    },
  }
}

/** Filter fields whose result only those kinds of changes can affect. */
const byState = new Set<string>([
  'keys',
  'deploymentIds',
  'deviceIds',
  'reporters',
  'rolloutKeys',
  'instanceIds',
  'applications',
  'applicationVersions',
  'states',
  'convergence',
] satisfies (keyof DeploymentFilter)[])
