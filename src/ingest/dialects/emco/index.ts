/** EMCO (docs/wire.md §2): the facts of its orchestrator and of the monitors in its clusters, and its two status queries. */

import { mostItems } from '../../../domain/orchestration/orchestrated-facts.ts'
import type { LifecycleRolloutName, RolloutName } from '../../../domain/rollout.ts'
import type { ClusterName } from '../../../domain/target.ts'
import { largeJson } from '../../../platform/body/rule.ts'
import { paced } from '../../../platform/limits/pace.ts'
import { type Dialect, type Methods, reading, recording } from '../dialect.ts'
import { parseBundleState, roomForBundleState } from '../kubernetes/bundle-state.ts'
import { mapRoutes } from '../router.ts'
import { actionsOf } from './answer.ts'
import { parseActions, parseConnectivity, parseResources, roomForResources } from './feed.ts'
import { type EmcoRoute, emcoRoutes } from './routes.ts'
import { showStatus } from './status.ts'

/** Thousands of resources with their objects. */
const resources = largeJson(16 << 20, roomForResources)
/** A ResourceBundleState is an object of a cluster, which takes none of more than 1.5 MiB. */
const bundle = largeJson(4 << 20, roomForBundleState)
const small = largeJson(1 << 20)

export const emco: Dialect = {
  name: 'emco',
  contract: async () => (await import('./contract.ts')).emcoContract,
  routes: mapRoutes(emcoRoutes, methodsOf),
}

function methodsOf(route: EmcoRoute): Methods {
  const { rollout } = route
  switch (route.of) {
    case 'status':
      return { GET: showStatus(rollout) }
    case 'actions':
      return { POST: recording('recordActions', small, (body) => readActions(rollout, body)) }
    case 'resources':
      return { POST: recording('reportResources', resources, (body) => readResources(rollout, route.contextId, body)) }
    case 'bundle':
      return { PUT: recording('reportBundleState', bundle, (body) => readBundle(rollout, route.cluster, body)) }
    case 'connectivity':
      return { PUT: recording('reportConnectivity', small, (body) => readConnectivity(route.cluster, body)) }
  }
}

function readActions(rollout: LifecycleRolloutName, body: unknown) {
  const actions = parseActions(body)
  return reading({ of: 'actions', rollout, actions }, async ({ rolloutKey, revision, recorded }, readers) => ({
    status: recorded > 0 ? 201 : 200,
    json: { ...actionsOf(await readers.actions(rolloutKey)), revision: String(revision) },
  }))
}

async function readResources(rollout: LifecycleRolloutName, instanceId: string, body: unknown) {
  const own = rollout.kind === 'CLUSTER_INTENTS' ? clusterOf(rollout) : null
  const items = await paced(parseResources(body, own))
  const facts = items.flatMap((item) => (item.ok ? [item.fact] : []))
  return reading({ of: 'resources', rollout, instanceId, resources: facts }, ({ revision, verdicts }) => {
    const verdict = verdicts.values()
    const results = items.map((item) =>
      item.ok ? { verdict: verdict.next().value } : { verdict: 'REFUSED', errors: item.problems },
    )
    return { status: 200, json: { revision: String(revision), results } }
  })
}

async function readBundle(rollout: LifecycleRolloutName, target: ClusterName, body: unknown) {
  const { unreadable, ...state } = await paced(parseBundleState(body))
  const errors = unreadable.length > 0 && { errors: unreadable.slice(0, mostItems) }
  return reading({ of: 'snapshot', rollout, snapshot: { ...state, target } }, ({ revision, verdict }) => ({
    status: 200,
    json: { verdict, revision: String(revision), ...errors },
  }))
}

function readConnectivity(target: ClusterName, body: unknown) {
  const connectivity = parseConnectivity(body)
  return reading({ of: 'connectivity', target, connectivity }, ({ revision, verdict }) => ({
    status: 200,
    json: { verdict, revision: String(revision) },
  }))
}

function clusterOf({ provider, name }: RolloutName): ClusterName {
  return { kind: 'CLUSTER', provider: provider ?? '', name }
}
