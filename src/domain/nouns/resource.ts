import type { Presence, SyncStatus } from '../orchestration/resource.ts'
import type { Connectivity } from '../target.ts'
import type { Readiness } from '../values.ts'
import { type FilterDeclaration, keys, label, labels, text, texts, time, values } from './filter.ts'

export const resourceFilter = {
  name: 'Resource',
  one: 'a resource',
  many: 'resources',
  conditions: {
    ids: keys('Resource', 'Node IDs of resources.'),
    rolloutIds: keys('Rollout', 'Node IDs of rollouts.'),
    deploymentIds: texts('Deployment IDs.'),
    apps: texts('Component names.'),
    clusters: texts('Clusters as `provider+name`, or `+name` for any provider. Cloud regions as `name`.'),
    labels: labels('Labels. The cluster has at least one of them.'),
    label: label('A condition on a label of the cluster.'),
    connectivity: values<Connectivity>('Connectivity')('Connectivity of the cluster.'),
    names: texts('Names.'),
    groups: texts('API groups. The core group is the empty text.'),
    kinds: texts('Kinds.'),
    namespaces: texts('Namespaces.'),
    sync: values<SyncStatus>('SyncStatus')('Sync statuses.'),
    presence: values<Presence>('Presence')('Presence in the cluster.'),
    readiness: values<Readiness>('Readiness')('Readiness.'),
    reasons: texts('Reasons why they are not ready, such as `CrashLoopBackOff`.'),
    text: text(
      'A substring of the name, namespace, kind, component, reason or message, or of the name of the cluster. Case-insensitive.',
    ),
    changedAfter: time('Last changed after this time.'),
    changedBefore: time('Last changed before this time.'),
  },
  own: { instanceIds: texts('Instance IDs of rollouts. Absent: only current instances.') },
} as const satisfies FilterDeclaration
