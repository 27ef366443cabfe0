import type { DeploymentFilter } from '../../store/read/deployment-filter.ts'
import { builder } from '../builder.ts'
import { givenFields } from '../mutations/input.ts'
import { DeploymentGroupInput, toGroupName } from './groups/grouping.ts'
import { LabelInput } from './label.ts'
import { keysOf } from './node.ts'
import { ConnectivityEnum, ConvergenceEnum, DeploymentStateEnum, ReadinessEnum } from './vocabulary.ts'

export const DeploymentFilterRef = builder.inputType('DeploymentFilter', {
  description:
    'Selects deployments. A deployment matches a field if it has any of its values; it must match all fields given. An empty list matches nothing.',
  fields: (t) => ({
    ids: t.idList({ description: 'Node IDs of deployments.' }),
    deploymentIds: t.stringList({ description: 'Deployment IDs, as their reporters assigned them.' }),
    deviceIds: t.stringList({
      description: 'IDs of the devices that they run on. Deployments on clusters never match.',
    }),
    reporters: t.stringList({ description: 'Names of their reporters.' }),
    rolloutIds: t.idList({ description: 'Node IDs of rollouts.' }),
    instanceIds: t.stringList({ description: 'Instance IDs of rollouts.' }),
    applications: t.stringList({ description: 'Application names.' }),
    applicationVersions: t.stringList({ description: 'Application versions.' }),
    states: t.field({ type: [DeploymentStateEnum], description: 'Reported states.' }),
    derivedStates: t.field({ type: [DeploymentStateEnum], description: 'States derived from the components.' }),
    convergence: t.field({ type: [ConvergenceEnum], description: 'Convergence with the desired state.' }),
    readiness: t.field({ type: [ReadinessEnum], description: 'Readiness.' }),
    components: t.stringList({ description: 'Component names. The deployment has at least one of them.' }),
    errorCodes: t.stringList({ description: 'Error codes, of the deployment or of one of its components.' }),
    labels: t.field({
      type: [LabelInput],
      description:
        'Labels. The target has at least one of them, from its registration or reported by the device itself. The filters of changes match labels from the registration only.',
    }),
    connectivity: t.field({ type: [ConnectivityEnum], description: 'Connectivity of the target.' }),
    retired: t.boolean({
      description:
        'True: only deployments that were closed when their device was retired. Absent or false: all other deployments.',
    }),
    consistent: t.boolean({ description: 'Whether the reported state agrees with the components.' }),
    stalled: t.boolean({ description: 'Whether the deployment is stalled.' }),
    hasError: t.boolean({ description: 'Whether the deployment or one of its components has an error.' }),
    text: t.string({
      description: 'A substring of the deployment ID, device, reporter, application or error. Case-insensitive.',
    }),
    group: t.field({
      type: DeploymentGroupInput,
      description: 'One group of `deploymentGroups`: the deployments that belong to it.',
    }),
    changedAfter: t.field({ type: 'DateTime', description: 'Last changed after this time.' }),
    changedBefore: t.field({ type: 'DateTime', description: 'Last changed before this time.' }),
  }),
})

export type DeploymentFilterInput = typeof DeploymentFilterRef.$inferInput

export function toDeploymentFilter(input: DeploymentFilterInput | null | undefined): DeploymentFilter {
  const { ids, rolloutIds, retired, group, ...rest } = input ?? {}
  // `retired: false` is the default. As null it does not count as a filter, so stored counters can answer.
  return givenFields({
    ...rest,
    retired: retired || null,
    keys: keysOf('Deployment', ids),
    rolloutKeys: keysOf('Rollout', rolloutIds),
    group: group ? toGroupName(group) : null,
  })
}
