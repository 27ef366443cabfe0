import { type Convergence, convergences } from '../desired.ts'
import type { Connectivity } from '../target.ts'
import { type DeploymentState, deploymentStates, type FailureStage, type Readiness } from '../values.ts'
import { type FilterDeclaration, flag, keys, label, labels, text, texts, time, values } from './filter.ts'

interface Detail<Value extends string> {
  /** The name of its GraphQL type. */
  readonly type: string
  /** The description in the schema, of a deployment and of a change. */
  readonly says: string
  readonly changed: string
  /** Only its type is used. */
  readonly value?: Value
}

const detail = <Value extends string>(type: string, says: string, changed: string): Detail<Value> => ({
  ...{ type, says, changed },
})

/**
 * What a report may say of a deployment beside its state, in one word each. The deployment has what its newest report says. From here it reaches the log,
 * the API, exports, webhooks and MQTT. Its column is in store/tables/core.ts, and the dialect reads it (ingest/dialects/margo/marks.ts).
 */
const details = {
  failureStage: detail<FailureStage>(
    'FailureStage',
    'The stage in which it failed, as reported or else derived from the components. Null: not failed, or unknown.',
    'The stage in which it failed. Null: not failed, or unknown.',
  ),
}

/** Null: not said. */
export type Details = {
  readonly [Name in keyof typeof details]: (typeof details)[Name] extends Detail<infer Value> ? Value | null : never
}
/** The same in a report and in a change. Absent: not said. */
export type SaidDetails = { readonly [Name in keyof Details]?: NonNullable<Details[Name]> }

export const detailNames = Object.keys(details) as (keyof Details)[]
export const declaredDetails = detailNames.map((name) => ({ name, ...details[name] }))

export function detailsOf(from: { readonly [Name in keyof Details]?: Details[Name] }): Details {
  return Object.fromEntries(detailNames.map((name) => [name, from[name] ?? null])) as Details
}

export function saidDetails(from: { readonly [Name in keyof Details]?: Details[Name] }): SaidDetails {
  return Object.fromEntries(detailNames.flatMap((name) => (from[name] ? [[name, from[name]]] : []))) as SaidDetails
}

const states = values<DeploymentState>('DeploymentState', deploymentStates)

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
    sites: texts('Paths of sites. It is at one of them, or at a site below one, and was sent by the server there.'),
    reporters: texts(
      'Names of their reporters. Reporters have no history: in the past, too, the present ones are compared.',
    ),
    rolloutIds: keys('Rollout', 'Node IDs of rollouts.'),
    instanceIds: texts('Instance IDs of rollouts.'),
    applications: texts('Application names.', { option: { name: 'application', value: '<name>' } }),
    applicationVersions: texts('Application versions.'),
    states: states('Reported states.', { option: { name: 'state', value: '<state>' } }),
    derivedStates: states('States derived from the components.'),
    convergence: values<Convergence>('Convergence', convergences)('Convergence with the desired state.', {
      option: {
        name: 'convergence',
        value: '<value>',
        explained: 'converged, applying, failed, stale or unknown: compared with the target version',
      },
    }),
    readiness: values<Readiness>('Readiness')('Readiness. No index serves `UNKNOWN`.'),
    components: texts('Component names. The deployment has at least one of them.', {
      option: { name: 'component', value: '<name>' },
    }),
    errorCodes: texts('Error codes, of the deployment or of one of its components.', {
      option: { name: 'error-code', value: '<code>' },
    }),
    labels: labels(
      'Labels. The target has at least one of them, from its registration or reported by the device itself. The filters of changes match labels from the registration only.',
    ),
    label: label('A condition on a label of the target, from its registration or reported by the device itself.'),
    connectivity: values<Connectivity>('Connectivity')('Connectivity of the target.'),
    inMaintenance: flag('Whether the target is in a maintenance window.', { option: { name: 'in-maintenance' } }),
    lastHeardBefore: time('The target was last heard before this time, or never.', { isUnindexed: true }),
    lastHeardAfter: time('The target was last heard after this time.', { isUnindexed: true }),
    vendors: texts('Vendors of the device, as its capabilities say.'),
    models: texts('Model numbers of the device, as its capabilities say.'),
    consistent: flag('Whether the reported state agrees with the components, as `Deployment.consistent` has it.'),
    stalled: flag('Whether the deployment is stalled.', { option: { name: 'stalled' } }),
    hasError: flag('Whether the deployment or one of its components has an error.'),
    text: text(
      'A substring of the deployment ID, device, reporter, application or error. Case-insensitive. No index serves fewer than three characters.',
      { option: { name: 'text', value: '<text>' } },
    ),
    changedAfter: time('Last changed after this time.'),
    changedBefore: time('Last changed before this time.'),
  },
  own: {
    retired: flag(
      'True: only deployments that were closed when their device was retired. Absent or false: all other deployments.',
      { option: { name: 'retired', explained: 'deployments on retired devices, which are hidden otherwise' } },
    ),
  },
} as const satisfies FilterDeclaration
