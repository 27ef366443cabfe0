/** What the SQL should say, said in JavaScript over everything there is. */
import fc from 'fast-check'
import type { Deployment } from '../../../src/domain/deployment.ts'
import { type LabelCondition, matchesLabel } from '../../../src/domain/selectors/label-condition.ts'
import { matchesSelector, type Selector } from '../../../src/domain/selectors/selector.ts'
import { connectivities, type Target } from '../../../src/domain/target.ts'
import { deploymentStates, readinesses } from '../../../src/domain/values.ts'
import type { StateCounts } from '../../../src/store/read/counts/deployment-counts.ts'
import type { DeploymentFilter } from '../../../src/store/read/filters/deployment-filter.ts'
import type { DeploymentOrder } from '../../../src/store/read/orders/deployment-order.ts'
import { componentNames, deploymentIds, devices, errorCodes } from './history.ts'

export function valuesOf(target: Pick<Target, 'labels'>, key: string): string[] {
  return target.labels.filter((label) => label.key === key).map(({ value }) => value)
}

export function matches(filter: DeploymentFilter, deployment: Deployment, target: Target): boolean {
  const any = <T>(wanted: readonly T[] | undefined, ...values: readonly (T | null | undefined)[]): boolean =>
    wanted === undefined || values.some((value) => value !== null && value !== undefined && wanted.includes(value))
  const errors = [deployment.error, ...deployment.components.map(({ error }) => error)].filter(
    (error) => error !== null,
  )
  const { text } = filter
  const isInMaintenance = target.maintenanceKey !== null
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
    any(filter.instanceIds, deployment.instanceKey === null ? null : deployment.deploymentId) &&
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
    (filter.clusters === undefined || filter.clusters.some((name) => isNamed(target, name))) &&
    any(filter.vendors) &&
    any(filter.models) &&
    (filter.inMaintenance ?? isInMaintenance) === isInMaintenance &&
    (filter.label === undefined || matchesLabel(filter.label, valuesOf(target, filter.label.key))) &&
    (filter.lastHeardAfter === undefined || (target.lastHeardAt ?? 0) > filter.lastHeardAfter) &&
    (filter.lastHeardBefore === undefined || (target.lastHeardAt ?? 0) < filter.lastHeardBefore) &&
    (filter.where === undefined || matchesSelector(filter.where, (leaf) => matches(leaf, deployment, target))) &&
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
  STATE_DESC: (a, b) => byState(b, a) || b.revision - a.revision,
  NAME: (a, b) => byText(a.deploymentId, b.deploymentId) || a.key - b.key,
  NAME_DESC: (a, b) => byText(b.deploymentId, a.deploymentId) || b.key - a.key,
}

export function countsOf(deployments: readonly Pick<Deployment, 'state'>[]): StateCounts {
  const counts = { pending: 0, installing: 0, installed: 0, failed: 0, removing: 0, removed: 0 }
  for (const { state } of deployments) counts[state.toLowerCase() as keyof StateCounts] += 1
  return counts
}

export const some = <T>(values: readonly T[]): fc.Arbitrary<T[]> =>
  fc.array(fc.constantFrom(...values), { maxLength: 3 })

export const labelConditions: fc.Arbitrary<LabelCondition> = fc
  .tuple(
    fc.constantFrom('site', 'site', 'line', 'nothing', '\0'),
    fc.record(
      {
        equals: fc.constantFrom('north', 'south', '1', '\0'),
        in: some(['north', 'south', '1']),
        notIn: some(['north', '1', '\0']),
        exists: fc.boolean(),
        prefix: fc.constantFrom('', 'n', 'no%', '1', '\0'),
      },
      { requiredKeys: [] },
    ),
    fc.nat(2),
  )
  // More parts together match nothing.
  .map(([key, parts, most]) => ({ key, ...Object.fromEntries(Object.entries(parts).slice(0, most)) }))

/** Filters with a selector, and without. */
export function filters(
  keys: readonly number[],
  rolloutKeys: readonly number[],
  times: readonly number[],
): fc.Arbitrary<DeploymentFilter> {
  const leaves = conditions(keys, rolloutKeys, times)
  return fc.oneof(
    leaves,
    fc.record({ where: selectors(leaves) }),
    fc.tuple(leaves, selectors(leaves)).map(([leaf, where]) => ({ ...leaf, where })),
  )
}

export function selectors<Leaf extends object>(leaves: fc.Arbitrary<Leaf>): fc.Arbitrary<Selector<Leaf>> {
  return fc.letrec<{ selector: Selector<Leaf> }>((tie) => {
    const parts = fc.array(tie('selector'), { maxLength: 3 })
    // Two conditions of a leaf rarely match anything together with others.
    const single = leaves.map((leaf) => Object.fromEntries(Object.entries(leaf).slice(0, 1)) as Leaf)
    return {
      selector: fc.oneof(
        { maxDepth: 3 },
        single,
        fc.record({ and: parts }),
        fc.record({ or: parts }),
        fc.record({ not: tie('selector') }),
        fc.tuple(single, parts).map(([leaf, or]) => ({ ...leaf, or })),
      ) as fc.Arbitrary<Selector<Leaf>>,
    }
  }).selector
}

/** Conditions that often match something, of the names that history.ts uses. */
export function conditions(keys: readonly number[], rolloutKeys: readonly number[], times: readonly number[]) {
  return fc.record(
    {
      keys: some(keys),
      deploymentIds: some([...deploymentIds, 'unknown']),
      deviceIds: some([...devices, 'unknown']),
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
      inMaintenance: fc.boolean(),
      consistent: fc.boolean(),
      stalled: fc.boolean(),
      hasError: fc.boolean(),
      text: fc.constantFrom('', 'WEB', 'disk_', '%', '_', 'gw/', 'press "', '\\', "'", 'e_d', '\0'),
      changedAfter: fc.constantFrom(...times),
      changedBefore: fc.constantFrom(...times),
      clusters: some(['x+y', '+z', 'region']),
      label: labelConditions,
      lastHeardAfter: fc.constantFrom(...times),
      lastHeardBefore: fc.constantFrom(...times),
      vendors: some(['acme']),
      models: some(['x1']),
    },
    { requiredKeys: [] },
  )
}

/** As `clusters` of a filter names targets. */
function isNamed({ kind, provider, name }: Target, wanted: string): boolean {
  const cut = wanted.indexOf('+')
  if (cut < 0) return kind === 'CLOUD_REGION' && name === wanted
  return kind === 'CLUSTER' && name === wanted.slice(cut + 1) && (cut === 0 || provider === wanted.slice(0, cut))
}
