import type { InstanceStatus } from '../orchestration/instance.ts'
import type { LifecycleState } from '../orchestration/lifecycle.ts'
import type { RolloutKind } from '../rollout.ts'
import { type FilterDeclaration, flag, keys, label, labels, text, texts, time, values } from './filter.ts'

const hidden = 'Matches nothing for callers whose access scope has labels.'

export const rolloutFilter = {
  name: 'Rollout',
  one: 'a rollout',
  many: 'rollouts',
  conditions: {
    ids: keys('Rollout', 'Node IDs.'),
    kinds: values<RolloutKind>('RolloutKind')('Origins.'),
    projects: texts('Projects.'),
    names: texts('Names.'),
    compositeApps: texts('Composite applications.'),
    states: values<LifecycleState>('LifecycleState')('States after the last lifecycle action.'),
    statuses: values<InstanceStatus>('InstanceStatus')('Statuses of the current instance.'),
    deviceIds: texts('Device IDs. The rollout has a deployment on at least one of them.'),
    clusters: texts(
      'Clusters as `provider+name`, or `+name` for any provider. Cloud regions as `name`. The rollout has a deployment on at least one of them.',
    ),
    labels: labels('Labels. The rollout has a deployment on a target with at least one of them.'),
    label: label('A condition on a label. The rollout has a deployment on a target that fulfills it.'),
    rolloutLabel: label(
      'A condition on a label of the rollout itself (`Rollout.labels`). In the past, a condition on the labels at that time.',
    ),
    failing: flag('Whether the rollout has a deployment in the state FAILED.'),
    createdAfter: time('Created after this time.'),
    createdBefore: time('Created before this time.'),
    startedAfter: time(`Started after this time. ${hidden}`),
    startedBefore: time(`Started before this time. ${hidden}`),
    changedAfter: time(`Last changed after this time. ${hidden}`),
    changedBefore: time(`Last changed before this time. ${hidden}`),
    finishedAfter: time(`Finished after this time. ${hidden}`),
    finishedBefore: time(`Finished before this time. ${hidden}`),
    text: text('A substring of the name, project or composite application. Case-insensitive.'),
  },
} as const satisfies FilterDeclaration
