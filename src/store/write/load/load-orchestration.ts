/** Loads the needs of orchestrators' commands, in one query a table: first the instances of their rollouts, then the rows of the instances. */

import type { Deployment } from '../../../domain/deployment.ts'
import type { Instance } from '../../../domain/orchestration/instance.ts'
import type { Rollout } from '../../../domain/rollout.ts'
import { ownSite } from '../../../domain/target.ts'
import { storableJson } from '../../../domain/text.ts'
import type { Reader } from '../../database.ts'
import { namedDeployments } from '../../sql/lateral-lookup.ts'
import { storedUniqueName } from '../../sql/rollout-unique-name.ts'
import { type DeploymentRecord, type RolloutRecord, toDeployment, toRollout } from '../../sql/rows.ts'
import {
  type ActionRecord,
  type BundleRecord,
  type InstanceRecord,
  instanceColumns,
  type ResourceRecord,
  type TallyRecord,
  toAction,
  toBundle,
  toInstance,
  toResource,
  toTally,
} from '../../sql/rows-orchestration.ts'
import type { LoadedOrchestration } from '../contract.ts'
import type { OrchestratedNeed } from '../needs.ts'

const rolloutsNamed = `json_to_recordset($1::text::json) as x(kind rollout_kind, identity text)
  join rollouts r on r.kind = x.kind and r.identity = x.identity`
/** Also instances of other rollouts with one of these ids. */
const instancesText = `select ${instanceColumns('i')} from instances i where i.rollout_key in (select r.key from ${rolloutsNamed})
  or i.instance_id in (select x from json_array_elements_text($2::text::json) x)`
const actionsText = `select a.* from ${rolloutsNamed} join lifecycle_actions a on a.rollout_key = r.key`
const deploymentsOfInstances = `select d.* from deployments d
  where d.instance_key in (select x::bigint from json_array_elements_text($1::text::json) x)`
/** Looks up each place in an index (sql/lateral-lookup.ts). */
const placesWith = (
  columns: string,
): string => `json_to_recordset($1::text::json) as x("instanceKey" bigint, "instanceId" text, kind target_kind, provider text, name text${columns})
  cross join lateral (select t.key from targets t where t.kind = x.kind and t.provider = x.provider and t.name = x.name and t.site_key = ${ownSite} offset 0) t`
/** A deployment of an instance has its id. The index by target and id has few rows, the one by instance may have thousands. */
const theirDeployments = `cross join lateral ${namedDeployments('n.target_key = t.key and n.deployment_id = x."instanceId"')} d`
const deploymentsAt = `select d.* from ${placesWith('')} ${theirDeployments} where d.instance_key = x."instanceKey"`
const bundlesAt = `select b.* from ${placesWith('')}
  cross join lateral (select b.* from bundles b where b.instance_key = x."instanceKey" and b.target_key = t.key offset 0) b`
const resourcesOf = `select r.* from ${placesWith(', component text')} ${theirDeployments}
  cross join lateral (select r.* from resources r where r.deployment_key = d.key and r.component = x.component offset 0) r
  where d.instance_key = x."instanceKey"`
/** Each place with its own names: all names in all places would be a cross product. */
const resourcesNamed = `select r.* from ${placesWith(', component text, names json')} ${theirDeployments}
  cross join lateral json_array_elements_text(x.names) as n(resource)
  cross join lateral (select r.* from resources r
    where r.deployment_key = d.key and r.component = x.component and r.name = n.resource offset 0) r
  where d.instance_key = x."instanceKey"`
const resourcesOfInstances = `select r.* from resources r
  where r.instance_key in (select x::bigint from json_array_elements_text($1::text::json) x)`
const resourcesNamedIn = `select r.* from json_to_recordset($1::text::json) as x("deploymentKey" bigint, component text, names json)
  cross join lateral json_array_elements_text(x.names) as n(resource)
  cross join lateral (select r.* from resources r
    where r.deployment_key = x."deploymentKey" and r.component = x.component and r.name = n.resource offset 0) r`
const resourcesAfter = `select r.* from json_to_recordset($1::text::json) as x("deploymentKey" bigint, component text, after bigint, "limit" int)
  cross join lateral (select r.* from resources r
    where r.deployment_key = x."deploymentKey" and r.component = x.component and r.key > x.after and r.gone_at is null
    order by r.key limit x."limit") r`
const resourcesOfAllAfter = `select r.* from json_to_recordset($1::text::json) as x("deploymentKey" bigint, after bigint, "limit" int)
  cross join lateral (select r.* from resources r
    where r.deployment_key = x."deploymentKey" and r.key > x.after and r.gone_at is null
    order by r.key limit x."limit") r`
const bundlesOfInstances = `select b.* from bundles b
  where b.instance_key in (select x::bigint from json_array_elements_text($1::text::json) x)`
const rolloutsText = `select r.* from rollouts r
  where r.key in (select x::bigint from json_array_elements_text($1::text::json) x)`
const talliesText = `select t.* from json_array_elements_text($1::text::json) x
  cross join lateral (select t.* from resource_tallies t where t.owner_key = x::bigint offset 0) t`
/** The state of an instance depends on sums over its thousands of components, and not on their tallies. */
const sumsText = `select x::bigint as owner_key, '' as component, t.sync, 'UNKNOWN' as presence, 'UNKNOWN' as readiness, true as showable, t.n
  from json_array_elements_text($1::text::json) x
  cross join lateral (select t.sync, sum(t.n)::int as n from resource_tallies t where t.owner_key = x::bigint group by t.sync offset 0) t`

export async function loadOrchestration(
  session: Reader,
  needs: readonly OrchestratedNeed[],
): Promise<
  LoadedOrchestration & { readonly deployments: readonly Deployment[]; readonly rollouts: readonly Rollout[] }
> {
  const ask = <T extends object>(text: string, list: readonly unknown[]): Promise<T[]> =>
    list.length === 0 ? Promise.resolve([]) : session.run<T>(text, [storableJson(list)])
  const contexts = [...new Set(needs.flatMap((need) => need.contexts))]
  const [instanceRows, actionRows] = await Promise.all([
    session.run<InstanceRecord>(instancesText, [storableJson(identitiesOf(needs)), storableJson(contexts)]),
    ask<ActionRecord>(actionsText, identitiesOf(needs.filter((need) => need.actions))),
  ])
  const instances = instanceRows.map(toInstance)
  const isMeant = ({ instanceId, statusContext }: Instance): boolean =>
    contexts.includes(instanceId) || contexts.includes(statusContext)
  const meant = instances.filter(isMeant)

  // For a rollout with actions, also the newest instance, and the predecessor of a wanted instance.
  const acted = needs.some((need) => need.actions) ? newestOfEach(instances) : []
  const wholesOf = (wanted: readonly OrchestratedNeed[]): Instance[] => {
    const ids = new Set(wanted.flatMap((need) => need.contexts))
    return instances.filter(({ instanceId }) => ids.has(instanceId))
  }
  const wholes = wholesOf(needs.filter((need) => need.whole))
  const whole = [...new Set([...(needs.some((need) => need.actions) ? [...meant, ...acted] : []), ...wholes])]
  const components = needs.flatMap((need) => need.components ?? [])
  const at = meant.flatMap(({ key: instanceKey, instanceId }) =>
    components.map(({ target, component, names }) => ({ instanceKey, instanceId, ...target, component, names })),
  )
  const named = at.filter(({ names }) => names !== 'all')
  const byKey = needs.flatMap((need) => need.resources ?? [])
  const pagesOf = (isOne: (component: string | null) => boolean) =>
    byKey.flatMap(({ wanted, ...place }) =>
      'after' in wanted && isOne(place.component) ? [{ ...place, ...wanted }] : [],
    )
  const keysOf = (list: readonly Instance[]): number[] => list.map(({ key }) => key)
  const [
    rolloutRows,
    wholeRows,
    placedRows,
    bundleRows,
    wholeBundles,
    wholeResources,
    allRows,
    namedRows,
    ...rowsByKey
  ] = await Promise.all([
    ask<RolloutRecord>(rolloutsText, [...new Set(wholes.map(({ rolloutKey }) => rolloutKey))]),
    ask<DeploymentRecord>(
      deploymentsOfInstances,
      whole.map(({ key }) => key),
    ),
    ask<DeploymentRecord>(deploymentsAt, unique(at.map(({ component, names, ...place }) => place))),
    ask<BundleRecord>(bundlesAt, unique(at.map(({ component, names, ...place }) => place))),
    ask<BundleRecord>(bundlesOfInstances, keysOf(wholes)),
    ask<ResourceRecord>(
      resourcesOfInstances,
      keysOf(wholesOf(needs.filter((need) => need.whole === 'with resources'))),
    ),
    ask<ResourceRecord>(
      resourcesOf,
      unique(at.filter(({ names }) => names === 'all').map(({ names, ...place }) => place)),
    ),
    ask<ResourceRecord>(resourcesNamed, named),
    ask<ResourceRecord>(
      resourcesNamedIn,
      byKey.flatMap(({ wanted, ...place }) => ('names' in wanted ? [{ ...place, ...wanted }] : [])),
    ),
    ask<ResourceRecord>(
      resourcesAfter,
      pagesOf((component) => component !== null),
    ),
    ask<ResourceRecord>(
      resourcesOfAllAfter,
      pagesOf((component) => component === null),
    ),
  ])
  const deployments = [...new Map([...wholeRows, ...placedRows].map((row) => [row.key, toDeployment(row)])).values()]
  // The status of an instance depends on its own tally and on the tally of its successor, which belongs to the same rollout.
  const owners = new Set([...deployments.map(({ key }) => key), ...byKey.map(({ deploymentKey }) => deploymentKey)])
  const tallyRows = await Promise.all([
    ask<TallyRecord>(sumsText, keysOf(instances)),
    ask<TallyRecord>(talliesText, [...owners]),
  ])
  const resources = new Map(
    [...wholeResources, ...allRows, ...namedRows, ...rowsByKey.flat()].map((row) => [row.key, toResource(row)]),
  )
  return {
    instances,
    actions: actionRows.map(toAction),
    deployments,
    resources: [...resources.values()],
    tallies: tallyRows.flat().map(toTally),
    bundles: [...bundleRows, ...wholeBundles].map(toBundle),
    rollouts: rolloutRows.map(toRollout),
  }
}

function identitiesOf(needs: readonly OrchestratedNeed[]): object[] {
  return unique(
    needs.flatMap(({ rollout }) => (rollout ? [{ kind: rollout.kind, identity: storedUniqueName(rollout) }] : [])),
  )
}

function newestOfEach(instances: readonly Instance[]): Instance[] {
  const newest = new Map<number, Instance>()
  for (const instance of instances.toSorted((a, b) => a.createdRevision - b.createdRevision || a.key - b.key))
    newest.set(instance.rolloutKey, instance)
  return [...newest.values()]
}

function unique<T extends object>(list: readonly T[]): T[] {
  return [...new Map(list.map((item) => [JSON.stringify(item), item])).values()]
}
