/** EMCO: the routes that receive its facts (docs/wire.md §2). emco-status.ts answers its two status queries. */

import type { Principal } from '../../../domain/principal.ts'
import type { RolloutName } from '../../../domain/rollout.ts'
import { reportConnectivity } from '../../../ingest/commands/connectivity.ts'
import { recordActions } from '../../../ingest/commands/lifecycle-actions.ts'
import { reportResources, reportStateSnapshot } from '../../../ingest/commands/resources.ts'
import { actionsOf as actionsAnswer } from '../../../ingest/dialects/emco/answer.ts'
import { parseBundleState, roomForBundleState } from '../../../ingest/dialects/emco/bundle-state.ts'
import {
  mostItems,
  parseActions,
  parseConnectivity,
  parseResources,
  roomForResources,
} from '../../../ingest/dialects/emco/feed.ts'
import type { ClusterName, EmcoRollout, EmcoRoute } from '../../../ingest/dialects/emco/routes.ts'
import type { Writer } from '../../../ingest/writer.ts'
import { paced } from '../../../platform/limits/pace.ts'
import type { Database } from '../../../store/database.ts'
import { actionsOf } from '../../../store/read/orchestration/instances.ts'
import { type Exchange, type Methods, sendJson, tracedBy } from '../exchange.ts'
import type { SnapshotDeps } from '../with-snapshot.ts'
import { sendStatus } from './emco-status.ts'
import { readLargeJson } from './large-json.ts'

interface EmcoDeps extends SnapshotDeps {
  readonly writer: Writer
  readonly database: Database
}

/** Bytes of thousands of resources with their objects. */
const resourcesLimit = 16 << 20
/** Bytes. A ResourceBundleState is an object of a cluster, which takes none of more than 1.5 MiB. */
const bundleLimit = 4 << 20
/** Bytes of other bodies. */
const smallLimit = 1 << 20

export function emcoMethods(deps: EmcoDeps, route: EmcoRoute): Methods {
  const feed = (handle: (exchange: Exchange, principal: Principal) => Promise<void>) =>
    ({ access: 'reporter of all', handle }) as const
  const { rollout } = route
  switch (route.of) {
    case 'status':
      return {
        GET: {
          access: 'viewer of all',
          handle: (exchange, principal) => sendStatus(deps, exchange, principal, rollout),
        },
      }
    case 'actions':
      return { POST: feed((exchange, { name }) => takeActions(deps, exchange, rollout, name)) }
    case 'resources':
      return { POST: feed((exchange) => takeResources(deps, exchange, rollout, route.contextId)) }
    case 'bundle':
      return { PUT: feed((exchange) => takeBundle(deps, exchange, rollout, route.cluster)) }
    case 'connectivity':
      return { PUT: feed((exchange) => takeConnectivity(deps, exchange, route.cluster)) }
  }
}

async function takeActions(
  { writer, database }: EmcoDeps,
  exchange: Exchange,
  rollout: EmcoRollout,
  actor: string,
): Promise<void> {
  const facts = parseActions(await readLargeJson(exchange, {}, smallLimit))
  const command = tracedBy(exchange, recordActions(rollout, facts, actor))
  const { rolloutKey, revision, recorded } = await writer.submit(command)
  const actions = (await actionsOf(database.session, [rolloutKey], null)).get(rolloutKey) ?? []
  sendJson(exchange, recorded > 0 ? 201 : 200, { ...actionsAnswer(actions), revision: String(revision) })
}

async function takeResources(
  { writer }: EmcoDeps,
  exchange: Exchange,
  rollout: EmcoRollout,
  contextId: string,
): Promise<void> {
  const own = rollout.kind === 'CLUSTER_INTENTS' ? clusterOf(rollout) : null
  const items = await paced(parseResources(await readLargeJson(exchange, roomForResources, resourcesLimit), own))
  const facts = items.flatMap((item) => (item.ok ? [item.fact] : []))
  const { revision, verdicts } = await writer.submit(tracedBy(exchange, reportResources(rollout, contextId, facts)))
  const verdict = verdicts.values()
  const results = items.map((item) =>
    item.ok ? { verdict: verdict.next().value } : { verdict: 'REFUSED', errors: item.problems },
  )
  sendJson(exchange, 200, { revision: String(revision), results })
}

async function takeBundle(
  { writer }: EmcoDeps,
  exchange: Exchange,
  rollout: EmcoRollout,
  target: ClusterName,
): Promise<void> {
  const body = await readLargeJson(exchange, roomForBundleState, bundleLimit)
  const { unreadable, ...state } = await paced(parseBundleState(body))
  const command = tracedBy(exchange, reportStateSnapshot(rollout, { ...state, target }))
  const { revision, verdict } = await writer.submit(command)
  sendJson(exchange, 200, {
    verdict,
    revision: String(revision),
    ...(unreadable.length > 0 && { errors: unreadable.slice(0, mostItems) }),
  })
}

async function takeConnectivity({ writer }: EmcoDeps, exchange: Exchange, target: ClusterName): Promise<void> {
  const connectivity = parseConnectivity(await readLargeJson(exchange, {}, smallLimit))
  const { revision, verdict } = await writer.submit(tracedBy(exchange, reportConnectivity(target, connectivity)))
  sendJson(exchange, 200, { verdict, revision: String(revision) })
}

function clusterOf({ provider, name }: RolloutName): ClusterName {
  return { kind: 'CLUSTER', provider: provider ?? '', name }
}
