import type { Change } from '../../../../domain/change.ts'
import type { WatchOptions } from '../../../../feed/watch-stream.ts'
import type { DeploymentRow } from '../../../../store/read/deployments.ts'
import type { DeploymentFilter } from '../../../../store/read/filters/deployment-filter.ts'
import type { Candidates } from '../../../../store/read/filters/listed-places.ts'
import type { DeploymentOrder } from '../../../../store/read/orders/deployment-order.ts'
import { builder } from '../../builder.ts'
import { gatherParents } from '../../objects/deployments/deployment.ts'
import { deploymentListArgs } from '../../objects/deployments/deployment-list.ts'
import { toDeploymentOrder } from '../../objects/deployments/deployment-order.ts'
import { Deployment } from '../../objects/refs.ts'
import { toDeploymentFilter } from '../../objects/selectors/deployment-filter.ts'
import { dependsOnTargets, deploymentTopics, hasHistory } from '../deployment-topics.ts'
import { implementListUpdate, liveListArgs, streamList } from './list-update.ts'
import type { ListReads } from './live-list.ts'

const DeploymentListUpdate = implementListUpdate({
  name: 'Deployment',
  field: 'deployment',
  of: 'deployments',
  type: Deployment,
  gather: gatherParents,
})

builder.subscriptionField('deployments', (t) =>
  t.field({
    access: 'viewer',
    type: DeploymentListUpdate,
    description:
      'The first rows of `deployments`, live: the whole list first, then what changes in it. Values without a history, such as labels and the time when a device was last heard, are compared when something else changes.',
    args: {
      ...deploymentListArgs(),
      ...liveListArgs(
        'a filter by labels, connectivity, maintenance, text, capabilities or the time when a device was last heard',
      ),
    },
    subscribe: (_, { filter: given, orderBy, ordering, ...page }, context) => {
      const filter = toDeploymentFilter(given)
      const order = toDeploymentOrder({ orderBy, ordering })
      const key = `deployments ${JSON.stringify([filter, order])}`
      // What leaves the access scope leaves the list. The list itself shows only what the caller sees.
      return streamList(context, key, { ...watchOf(filter), isUnscoped: true }, readsOf(filter, order), page)
    },
    resolve: (event) => event.payload,
  }),
)

function watchOf(filter: DeploymentFilter): WatchOptions {
  const keys = filter.keys && new Set(filter.keys)
  const withTargets = dependsOnTargets(filter)
  return {
    topics: deploymentTopics(filter),
    matches: (change) =>
      change.deploymentKey === null
        ? withTargets && isOfTarget(change)
        : keys === undefined || keys.has(change.deploymentKey),
  }
}

function isOfTarget({ kind }: Change): boolean {
  const isOfMaintenance = kind === 'MAINTENANCE_STARTED' || kind === 'MAINTENANCE_ENDED'
  return kind === 'CONNECTIVITY_CHANGED' || isOfMaintenance || kind.startsWith('DEVICE_')
}

interface Touched {
  readonly keys: ReadonlySet<number>
  readonly targetKeys: ReadonlySet<number>
}

/** Deployments of one update that are looked up each. With more, the list is read again. */
const mostTouched = 2_000

function readsOf(filter: DeploymentFilter, order: DeploymentOrder): ListReads<DeploymentRow, Touched> {
  return {
    page: (reader, page, asOf) => reader.deployments({ of: 'fleet' }, filter, order, page, asOf),
    touched(changes) {
      const keys = new Set<number>()
      const targetKeys = new Set<number>()
      for (const { deploymentKey, targetKey } of changes) {
        if (deploymentKey !== null) keys.add(deploymentKey)
        else if (targetKey !== null) targetKeys.add(targetKey)
      }
      return keys.size + targetKeys.size > mostTouched ? null : { keys, targetKeys }
    },
    isTouched: ({ keys }, key) => keys.has(key),
    places(reader, { keys, targetKeys }, known, upTo, limit) {
      const candidates: Candidates = { keys: [...known, ...keys], targetKeys: [...targetKeys] }
      return reader.deploymentPlaces(candidates, filter, order, upTo, limit)
    },
    row: (reader, key) => reader.deployment(key, null),
    changedSince: (reader, keys, after) => reader.withChangedResources(keys, after),
    hasPast: (reader) => hasHistory(filter) && !reader.isNarrowByLabel,
  }
}
