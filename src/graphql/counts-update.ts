import type { Change } from '../domain/change.ts'
import type { Revision } from '../domain/deployment.ts'
import type { Topic } from '../feed/hub.ts'
import type { WatchOptions } from '../feed/watch-stream.ts'
import type { DeploymentFilter } from '../store/deployment-filter.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { type CountsAt, DeploymentCounts, loadCounts } from './counts.ts'
import { DeploymentFilterRef, toDeploymentFilter } from './deployment-filter.ts'
import type { Source } from './source-event.ts'
import { streamState } from './state-stream.ts'

interface CountsUpdateRow {
  readonly cursor: Revision
  readonly coalesced: number
  readonly counts: CountsAt
}

const DeploymentCountsUpdate = builder.objectRef<CountsUpdateRow>('DeploymentCountsUpdate').implement({
  access: 'viewer',
  description: 'Counts as of one revision.',
  fields: (t) => ({
    cursor: t.expose('cursor', { type: 'Revision', description: 'As of which revision this is.' }),
    coalesced: t.exposeInt('coalesced', {
      description: 'Further commits that were merged into this update; normally 0.',
    }),
    counts: t.expose('counts', { type: DeploymentCounts, description: 'The counts.' }),
  }),
})

builder.subscriptionField('deploymentCounts', (t) =>
  t.field({
    access: 'viewer',
    type: DeploymentCountsUpdate,
    description: 'Deployments counted by state: as they are now, and again whenever a number moves.',
    args: { filter: t.arg({ type: DeploymentFilterRef, description: 'Which deployments to count.' }) },
    subscribe: (_, { filter }, context) => streamCounts(context, toDeploymentFilter(filter)),
    resolve: (event) => event.payload,
  }),
)

function streamCounts(context: Context, filter: DeploymentFilter): Source<CountsUpdateRow> {
  // What it remembers: the numbers that were sent.
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

/** Which changes can move a number. The narrowest field of the filter is the feed's index. */
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

/** Fields that only those changes can make match or not. */
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
  // A target's connectivity is a change of that target, not of a deployment or a rollout.
  if (filter.connectivity) return ['all']
  if (filter.deploymentIds) return filter.deploymentIds.map((id): Topic => `deployment:${id}`)
  if (filter.rolloutKeys) return filter.rolloutKeys.map((key): Topic => `rollout:${key}`)
  return ['all']
}
