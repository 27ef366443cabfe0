/** What the SQL should say, said in JavaScript over everything there is. */
import fc from 'fast-check'
import type { Deployment } from '../../../src/domain/deployment.ts'
import { connectivities, type Target } from '../../../src/domain/target.ts'
import { deploymentStates, readinesses } from '../../../src/domain/values.ts'
import type { DeploymentFilter } from '../../../src/store/read/deployment-filter.ts'
import type { DeploymentOrder, StateCounts } from '../../../src/store/read/deployments.ts'
import { componentNames, deploymentIds, devices, errorCodes } from './history.ts'

export function matches(filter: DeploymentFilter, deployment: Deployment, target: Target): boolean {
  const any = <T>(wanted: readonly T[] | undefined, ...values: readonly (T | null | undefined)[]): boolean =>
    wanted === undefined || values.some((value) => value !== null && value !== undefined && wanted.includes(value))
  const errors = [deployment.error, ...deployment.components.map(({ error }) => error)].filter(
    (error) => error !== null,
  )
  const { text } = filter
  const texts = [
    deployment.deploymentId,
    deployment.reporter,
    deployment.application,
    target.name,
    target.displayName,
    ...errors.flatMap(({ code, message }) => [code, message]),
  ]
  return (
    any(filter.keys, deployment.key) &&
    any(filter.deploymentIds, deployment.deploymentId) &&
    any(filter.deviceIds, target.name) &&
    any(filter.reporters, deployment.reporter) &&
    any(filter.rolloutKeys, deployment.rolloutKey) &&
    any(filter.instanceIds) &&
    any(filter.applications, deployment.application) &&
    any(filter.applicationVersions, deployment.applicationVersion) &&
    any(filter.states, deployment.state) &&
    any(filter.derivedStates, deployment.derivedState) &&
    any(filter.readiness, deployment.readiness) &&
    any(filter.components, ...deployment.components.map(({ name }) => name)) &&
    any(filter.errorCodes, ...errors.map(({ code }) => code)) &&
    any(filter.connectivity, target.connectivity) &&
    any(
      filter.labels?.map(({ key, value }) => `${key}=${value}`),
      ...target.labels.map(({ key, value }) => `${key}=${value}`),
    ) &&
    (filter.consistent ?? deployment.consistent) === deployment.consistent &&
    (filter.stalled ?? deployment.stalled) === deployment.stalled &&
    (filter.hasError ?? errors.length > 0) === errors.length > 0 &&
    (text === undefined || texts.some((value) => value?.toLowerCase().includes(text.toLowerCase()))) &&
    (filter.changedAfter === undefined || deployment.changedAt > filter.changedAfter) &&
    (filter.changedBefore === undefined || deployment.changedAt < filter.changedBefore)
  )
}

/** By code points, as PostgreSQL's "C" and what PGlite begins with. */
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const byState = (a: Deployment, b: Deployment): number =>
  deploymentStates.indexOf(a.state) - deploymentStates.indexOf(b.state)

export const comparisons: Record<DeploymentOrder, (a: Deployment, b: Deployment) => number> = {
  CHANGED_DESC: (a, b) => b.revision - a.revision,
  CHANGED_ASC: (a, b) => a.revision - b.revision,
  STATE: (a, b) => byState(a, b) || b.revision - a.revision,
  NAME: (a, b) => byText(a.deploymentId, b.deploymentId) || a.key - b.key,
}

export function countsOf(deployments: readonly Pick<Deployment, 'state'>[]): StateCounts {
  const counts = { pending: 0, installing: 0, installed: 0, failed: 0, removing: 0, removed: 0 }
  for (const { state } of deployments) counts[state.toLowerCase() as keyof StateCounts] += 1
  return counts
}

const some = <T>(values: readonly T[]): fc.Arbitrary<T[]> => fc.array(fc.constantFrom(...values), { maxLength: 3 })

/** Filters that often match something, of the names that history.ts uses. */
export function filters(keys: readonly number[], rolloutKeys: readonly number[], times: readonly number[]) {
  return fc.record(
    {
      keys: some(keys),
      deploymentIds: some([...deploymentIds, 'nobody']),
      deviceIds: some([...devices, 'nobody']),
      reporters: some(['alpha', 'gw', 'gw/one']),
      rolloutKeys: some(rolloutKeys),
      instanceIds: some(['x']),
      applications: some(['shop', 'Till%']),
      applicationVersions: some(['1.0', '1.1']),
      states: some(deploymentStates),
      derivedStates: some(deploymentStates),
      readiness: some(readinesses),
      components: some([...componentNames, 'nothing']),
      errorCodes: some([...errorCodes, '999']),
      labels: some([
        { key: 'site', value: 'north' },
        { key: 'line', value: '1' },
        { key: 'line', value: '2' },
      ]),
      connectivity: some(connectivities),
      consistent: fc.boolean(),
      stalled: fc.boolean(),
      hasError: fc.boolean(),
      text: fc.constantFrom('', 'WEB', 'disk_', '%', '_', 'gw/', 'press "', '\\', "'", 'e_d', '\0'),
      changedAfter: fc.constantFrom(...times),
      changedBefore: fc.constantFrom(...times),
    },
    { requiredKeys: [] },
  )
}
