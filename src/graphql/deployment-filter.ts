import type { DeploymentFilter } from '../store/deployment-filter.ts'
import { builder } from './builder.ts'
import { givenFields } from './input.ts'
import { LabelInput } from './label.ts'
import { keysOf } from './node.ts'
import { ConnectivityEnum, ConvergenceEnum, DeploymentStateEnum, ReadinessEnum } from './vocabulary.ts'

export const DeploymentFilterRef = builder.inputType('DeploymentFilter', {
  description:
    'Which deployments: any of the values within a field, all fields together. An empty list matches nothing.',
  fields: (t) => ({
    ids: t.idList({ description: 'Node ids of deployments.' }),
    deploymentIds: t.stringList({ description: 'Ids that their reporters gave them.' }),
    deviceIds: t.stringList({ description: 'Names of the devices or clusters they run on.' }),
    reporters: t.stringList({ description: 'Who reports them.' }),
    rolloutIds: t.idList({ description: 'Node ids of rollouts.' }),
    instanceIds: t.stringList({ description: "Ids of rollouts' instances." }),
    applications: t.stringList({ description: 'Applications.' }),
    applicationVersions: t.stringList({ description: "Applications' versions." }),
    states: t.field({ type: [DeploymentStateEnum], description: 'Reported states.' }),
    derivedStates: t.field({ type: [DeploymentStateEnum], description: 'States derived from the components.' }),
    convergence: t.field({
      type: [ConvergenceEnum],
      description: 'How they compare with what their devices should run.',
    }),
    readiness: t.field({ type: [ReadinessEnum], description: 'Readiness.' }),
    components: t.stringList({ description: 'Names of components, one of which it has.' }),
    errorCodes: t.stringList({ description: 'Codes of its own error or of one of its components.' }),
    labels: t.field({ type: [LabelInput], description: 'Labels, one of which its target has.' }),
    connectivity: t.field({ type: [ConnectivityEnum], description: "Its target's connectivity." }),
    consistent: t.boolean({ description: 'Whether its components bear out the reported state.' }),
    stalled: t.boolean({ description: 'Whether it has stalled.' }),
    hasError: t.boolean({ description: 'Whether it or one of its components has an error.' }),
    text: t.string({ description: 'Part of its id, device, reporter, application or error, in any case.' }),
    changedAfter: t.field({ type: 'DateTime', description: 'Changed later than this.' }),
    changedBefore: t.field({ type: 'DateTime', description: 'Changed earlier than this.' }),
  }),
})

export type DeploymentFilterInput = typeof DeploymentFilterRef.$inferInput

export function toDeploymentFilter(input: DeploymentFilterInput | null | undefined): DeploymentFilter {
  const { ids, rolloutIds, ...rest } = input ?? {}
  return givenFields({ ...rest, keys: keysOf('Deployment', ids), rolloutKeys: keysOf('Rollout', rolloutIds) })
}
