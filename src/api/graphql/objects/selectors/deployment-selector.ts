import type { DeploymentCondition, DeploymentSelector } from '../../../../store/read/filters/deployment-filter.ts'
import { withoutIndex } from '../../guards/unindexed.ts'
import { toFilter } from '../../mutations/input.ts'
import { LabelInput } from '../label.ts'
import { keysOf } from '../node.ts'
import { ConnectivityEnum, ConvergenceEnum, DeploymentStateEnum, ReadinessEnum } from '../vocabulary.ts'
import {
  type Given,
  type InputFields,
  LabelConditionInput,
  toLabelCondition,
  toSelector,
  type Where,
  whereInput,
} from './selector.ts'

/** The conditions of `DeploymentFilter` and of `DeploymentWhere`. */
export const deploymentConditions = (t: InputFields) => ({
  ids: t.idList({ description: 'Node IDs of deployments.' }),
  deploymentIds: t.stringList({ description: 'Deployment IDs, as their reporters assigned them.' }),
  deviceIds: t.stringList({
    description: 'IDs of the devices that they run on. Deployments on clusters never match.',
  }),
  clusters: t.stringList({
    description: 'Clusters that they run on, as `provider+name`, or `+name` for any provider. Cloud regions as `name`.',
  }),
  reporters: t.stringList({
    description:
      'Names of their reporters. Reporters have no history: in the past, too, the present ones are compared.',
  }),
  rolloutIds: t.idList({ description: 'Node IDs of rollouts.' }),
  instanceIds: t.stringList({ description: 'Instance IDs of rollouts.' }),
  applications: t.stringList({ description: 'Application names.' }),
  applicationVersions: t.stringList({ description: 'Application versions.' }),
  states: t.field({ type: [DeploymentStateEnum], description: 'Reported states.' }),
  derivedStates: t.field({ type: [DeploymentStateEnum], description: 'States derived from the components.' }),
  convergence: t.field({ type: [ConvergenceEnum], description: 'Convergence with the desired state.' }),
  readiness: t.field({ type: [ReadinessEnum], description: 'Readiness. No index serves `UNKNOWN`.' }),
  components: t.stringList({ description: 'Component names. The deployment has at least one of them.' }),
  errorCodes: t.stringList({ description: 'Error codes, of the deployment or of one of its components.' }),
  labels: t.field({
    type: [LabelInput],
    description:
      'Labels. The target has at least one of them, from its registration or reported by the device itself. The filters of changes match labels from the registration only.',
  }),
  label: t.field({
    type: LabelConditionInput,
    description: 'A condition on a label of the target, from its registration or reported by the device itself.',
  }),
  connectivity: t.field({ type: [ConnectivityEnum], description: 'Connectivity of the target.' }),
  lastHeardBefore: t.field({
    type: 'DateTime',
    ...withoutIndex('The target was last heard before this time, or never.'),
  }),
  lastHeardAfter: t.field({ type: 'DateTime', ...withoutIndex('The target was last heard after this time.') }),
  vendors: t.stringList({ description: 'Vendors of the device, as its capabilities say.' }),
  models: t.stringList({ description: 'Model numbers of the device, as its capabilities say.' }),
  consistent: t.boolean({
    description: 'Whether the reported state agrees with the components, as `Deployment.consistent` has it.',
  }),
  stalled: t.boolean({ description: 'Whether the deployment is stalled.' }),
  hasError: t.boolean({ description: 'Whether the deployment or one of its components has an error.' }),
  text: t.string({
    description:
      'A substring of the deployment ID, device, reporter, application or error. Case-insensitive. No index serves fewer than three characters.',
  }),
  changedAfter: t.field({ type: 'DateTime', description: 'Last changed after this time.' }),
  changedBefore: t.field({ type: 'DateTime', description: 'Last changed before this time.' }),
})

export const DeploymentWhereRef = whereInput('DeploymentWhere', 'deployments', deploymentConditions)

type Conditions = Given<typeof deploymentConditions>

export function toDeploymentCondition({ ids, rolloutIds, label, ...rest }: Conditions): DeploymentCondition {
  return toFilter({
    ...rest,
    label: toLabelCondition(label),
    keys: keysOf('Deployment', ids),
    rolloutKeys: keysOf('Rollout', rolloutIds),
  })
}

export function toDeploymentSelector(input: Where<Conditions> | null | undefined): DeploymentSelector | null {
  return toSelector(input, toDeploymentCondition)
}
