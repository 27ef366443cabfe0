/** Status answers in EMCO's formats: the design's keys for type= or no parameter, the keys of 22.03 for status= (docs/wire.md §2.1). */
import type { InstanceStatus } from '../../../domain/orchestration/instance.ts'
import type { LifecycleAction } from '../../../domain/orchestration/lifecycle.ts'
import type { ListedResource, Presence } from '../../../domain/orchestration/resource.ts'
import type { Rollout } from '../../../domain/rollout.ts'
import type { Readiness } from '../../../domain/values.ts'
import type { StatusQuery } from './query.ts'
import { connectivityWord, toWord } from './vocabulary.ts'

interface StatusFacts {
  readonly rollout: Rollout
  readonly actions: readonly LifecycleAction[]
  /** Null: it was never instantiated. */
  readonly instance: { readonly status: InstanceStatus; readonly statusContext: string } | null
}

/** The counts by word, in EMCO's order. Words with a count of 0 are omitted. */
export type Counts = Readonly<Record<string, number>>

const isModern = ({ of }: StatusQuery): boolean => of === 'deployed' || of === 'ready'

/** Everything before the apps. */
export function statusHead(query: StatusQuery, facts: StatusFacts, counts: Counts): object {
  const { rollout, actions, instance } = facts
  const status = instance && toWord(instance.status)
  const counted = Object.fromEntries(Object.entries(counts).filter(([, n]) => n > 0))
  if (isModern(query))
    return {
      ...headOf(query, rollout),
      states: {
        statusctxid: instance?.statusContext ?? '',
        actions: actions.map((action) => ({
          state: toWord(action.state),
          instance: action.instanceId ?? '',
          time: timeOf(action),
          revision: action.instanceRevision,
        })),
      },
      ...(status !== null && { deployedStatus: status }),
      ...(query.of === 'ready' && { readyStatus: readyStatus(counts) }),
      [query.of === 'ready' ? 'readyCounts' : 'deployedCounts']: counted,
    }
  return {
    ...headOf(query, rollout),
    ...actionsOf(actions),
    ...(status !== null && { status }),
    [`${query.of}-status`]: counted,
  }
}

/** In the design's format, which is also the answer to a new action. */
export function actionsOf(actions: readonly LifecycleAction[]): { readonly state: object } {
  return {
    state: {
      Actions: actions.map((action) => ({
        State: toWord(action.state),
        ContextId: action.instanceId ?? '',
        TimeStamp: timeOf(action),
      })),
    },
  }
}

export function headOf(query: StatusQuery, rollout: Rollout): object {
  if (rollout.kind === 'CLUSTER_INTENTS') return { name: `${rollout.provider}+${rollout.name}` }
  const { project, compositeApp, compositeAppVersion, compositeProfile, name } = rollout
  if (isModern(query))
    return { project, compositeApp, compositeAppVersion, compositeProfile: compositeProfile ?? '', name }
  return {
    project,
    'composite-app-name': compositeApp,
    'composite-app-version': compositeAppVersion,
    'composite-profile-name': compositeProfile ?? '',
    name,
  }
}

export function instanceList(query: StatusQuery, rollout: Rollout, instanceIds: readonly string[]): object {
  const {
    name,
    'composite-profile-name': _,
    compositeProfile: __,
    ...others
  } = headOf(query, rollout) as Readonly<Record<string, unknown>>
  return { name, ...others, instances: instanceIds }
}

/** Ready: all resources are ready and there is at least one. NotPresent: none is present. Otherwise NotReady. */
function readyStatus({ Ready = 0, NotReady = 0, NotPresent = 0 }: Counts): string {
  if (Ready > 0 && NotReady === 0 && NotPresent === 0) return 'Ready'
  return Ready === 0 && NotReady === 0 ? 'NotPresent' : 'NotReady'
}

/** A cluster of an app, before its resources. */
export function clusterHead(query: StatusQuery, { provider, target, connectivity }: ListedResource): object {
  if (isModern(query))
    return { clusterProvider: provider, cluster: target, connectivity: connectivityWord(connectivity) }
  return { 'cluster-provider': provider, cluster: target }
}

export function resourceRow(query: StatusQuery, row: ListedResource): object {
  const { group: Group, version: Version, kind: Kind, name, sync, presence, readiness, detail } = row
  const withDetail = query.output === 'detail' && detail !== null ? { detail } : {}
  const gvk = { GVK: { Group, Version, Kind }, name }
  switch (query.of) {
    case 'rsync':
      return { ...gvk, 'rsync-status': sync && toWord(sync), ...withDetail }
    case 'deployed':
      return { ...gvk, deployedStatus: sync && toWord(sync), ...withDetail }
    case 'ready':
      return { ...gvk, readyStatus: readyWord(presence, readiness), ...withDetail }
    case 'cluster':
      // Every resource in the list is present.
      return { ...gvk, ...withDetail }
  }
}

function readyWord(presence: Presence, readiness: Readiness): 'Ready' | 'NotReady' | 'NotPresent' {
  if (presence === 'NOT_PRESENT') return 'NotPresent'
  return readiness === 'READY' ? 'Ready' : 'NotReady'
}

/** The keys of clusters-by-app and resources-by-app in the requested generation. */
export function listKeys(query: StatusQuery) {
  return isModern(query)
    ? { clusters: 'clustersByApp', resources: 'resourcesByApp', provider: 'clusterProvider' }
    : { clusters: 'clusters-by-app', resources: 'resources-by-app', provider: 'cluster-provider' }
}

/** The user's own text if there is one. Otherwise the server's time as Go writes it, without trailing zeros. */
function timeOf({ at, timestamp }: LifecycleAction): string {
  return timestamp ?? new Date(at).toISOString().replace(/\.?0+Z$/, 'Z')
}
