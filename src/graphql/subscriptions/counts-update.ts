import type { Change } from '../../domain/change.ts'
import type { Revision } from '../../domain/values.ts'
import type { Topic } from '../../feed/hub.ts'
import type { WatchOptions } from '../../feed/watch-stream.ts'
import type { DeploymentFilter } from '../../store/read/deployment-filter.ts'
import { builder } from '../builder.ts'
import type { Context } from '../execution/context.ts'
import { type CountsAt, DeploymentCounts, loadCounts } from '../objects/counts.ts'
import { DeploymentFilterRef, toDeploymentFilter } from '../objects/deployment-filter.ts'
import type { Source } from './event-source.ts'
import { streamState } from './state-stream.ts'

interface CountsUpdateRow {
  readonly cursor: Revision
  readonly coalesced: number
  readonly counts: CountsAt
}

const DeploymentCountsUpdate = builder.objectRef<CountsUpdateRow>('DeploymentCountsUpdate').implement({
  access: 'viewer',
  description: 'Counts of deployments at one revision.',
  fields: (t) => ({
    cursor: t.expose('cursor', { type: 'Revision', description: 'The revision that this update reflects.' }),
    coalesced: t.exposeInt('coalesced', {
      description: 'Number of further commits that were merged into this update. Normally 0.',
    }),
    counts: t.expose('counts', { type: DeploymentCounts, description: 'The counts.' }),
  }),
})

builder.subscriptionField('deploymentCounts', (t) =>
  t.field({
    access: 'viewer',
    type: DeploymentCountsUpdate,
    description:
      'Deployments counted by state. Sends the present counts first, then an update whenever a count changes.',
    args: { filter: t.arg({ type: DeploymentFilterRef, description: 'Selects the deployments to count.' }) },
    subscribe: (_, { filter }, context) => streamCounts(context, toDeploymentFilter(filter)),
    resolve: (event) => event.payload,
  }),
)

function streamCounts(context: Context, filter: DeploymentFilter): Source<CountsUpdateRow> {
  // The memory holds the counts that were sent last.
  return streamState<CountsUpdateRow, string>(
    context,
    watchOptions(filter),
    async (reader, event, { memory: sent }) => {
      const counts = await loadCounts(reader, { of: 'fleet' }, filter, null)
      const { asOf: _, convergence, ...numbers } = counts
      const shown = JSON.stringify([numbers, await convergence()])
      if (shown === sent) return { skip: true }
      return { send: { cursor: event.cursor, coalesced: event.coalesced, counts }, memory: shown }
    },
  )
}

/** The changes that can change a count. The narrowest field of the filter selects the feed topic. */
function watchOptions(filter: DeploymentFilter): WatchOptions {
  const moving = new Set<Change['kind']>([
    'DEPLOYMENT_STATE_CHANGED',
    'DEPLOYMENT_FORGOTTEN',
    'DEPLOYMENT_MOVED',
    'DEPLOYMENT_REVISED',
    'CONVERGENCE_CHANGED',
  ])
  const isByState = Object.keys(filter).every((field) => byState.has(field))
  return {
    topics: topicsFor(filter),
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

function topicsFor(filter: DeploymentFilter): readonly Topic[] {
  if (filter.deviceIds) return filter.deviceIds.map((id): Topic => `device:${id}`)
  // Changes of a target's connectivity or retirement carry no deployment or rollout topic.
  if (filter.connectivity || filter.retired) return ['all']
  if (filter.deploymentIds) return filter.deploymentIds.map((id): Topic => `deployment:${id}`)
  if (filter.rolloutKeys) return filter.rolloutKeys.map((key): Topic => `rollout:${key}`)
  return ['all']
}
