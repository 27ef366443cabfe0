import type { Convergence } from '../desired.ts'
import type { Connectivity } from '../target.ts'
import type { DeploymentState, Readiness } from '../values.ts'
import { type FilterDeclaration, flag, keys, label, labels, text, texts, time, values } from './filter.ts'

const states = values<DeploymentState>('DeploymentState')

export const deploymentFilter = {
  name: 'Deployment',
  one: 'a deployment',
  many: 'deployments',
  says: 'In a fleet of more than 60,000 deployments, a filter is refused if more than 20,000 lie between the rows of a page, or if more than 60,000 may match a count that is not kept: add a condition that an index serves.',
  conditions: {
    ids: keys('Deployment', 'Node IDs of deployments.'),
    deploymentIds: texts('Deployment IDs, as their reporters assigned them.'),
    deviceIds: texts('IDs of the devices that they run on. Deployments on clusters never match.'),
    clusters: texts(
      'Clusters that they run on, as `provider+name`, or `+name` for any provider. Cloud regions as `name`.',
    ),
    reporters: texts(
      'Names of their reporters. Reporters have no history: in the past, too, the present ones are compared.',
    ),
    rolloutIds: keys('Rollout', 'Node IDs of rollouts.'),
    instanceIds: texts('Instance IDs of rollouts.'),
    applications: texts('Application names.'),
    applicationVersions: texts('Application versions.'),
    states: states('Reported states.'),
    derivedStates: states('States derived from the components.'),
    convergence: values<Convergence>('Convergence')('Convergence with the desired state.'),
    readiness: values<Readiness>('Readiness')('Readiness. No index serves `UNKNOWN`.'),
    components: texts('Component names. The deployment has at least one of them.'),
    errorCodes: texts('Error codes, of the deployment or of one of its components.'),
    labels: labels(
      'Labels. The target has at least one of them, from its registration or reported by the device itself. The filters of changes match labels from the registration only.',
    ),
    label: label('A condition on a label of the target, from its registration or reported by the device itself.'),
    connectivity: values<Connectivity>('Connectivity')('Connectivity of the target.'),
    lastHeardBefore: time('The target was last heard before this time, or never.', { isUnindexed: true }),
    lastHeardAfter: time('The target was last heard after this time.', { isUnindexed: true }),
    vendors: texts('Vendors of the device, as its capabilities say.'),
    models: texts('Model numbers of the device, as its capabilities say.'),
    consistent: flag('Whether the reported state agrees with the components, as `Deployment.consistent` has it.'),
    stalled: flag('Whether the deployment is stalled.'),
    hasError: flag('Whether the deployment or one of its components has an error.'),
    text: text(
      'A substring of the deployment ID, device, reporter, application or error. Case-insensitive. No index serves fewer than three characters.',
    ),
    changedAfter: time('Last changed after this time.'),
    changedBefore: time('Last changed before this time.'),
  },
  own: {
    retired: flag(
      'True: only deployments that were closed when their device was retired. Absent or false: all other deployments.',
    ),
  },
} as const satisfies FilterDeclaration
