import type { Change } from '../../../domain/change.ts'
import { DomainError } from '../../../domain/errors.ts'
import type { WatchOptions } from '../../../feed/watch-stream.ts'
import type { DeploymentFilter } from '../../../store/read/deployment-filter.ts'
import type { DeploymentOrder, DeploymentRow } from '../../../store/read/deployments.ts'
import type { Candidates } from '../../../store/read/filters/listed-places.ts'
import { builder } from '../../builder.ts'
import { selectedFields } from '../../execution/selection.ts'
import { defaultPageSize, maxPageSize } from '../../guards/page-size.ts'
import { gatherParents } from '../../objects/deployment.ts'
import { deploymentListArgs } from '../../objects/deployment-list.ts'
import { encodeNodeId } from '../../objects/node.ts'
import { Deployment } from '../../objects/refs.ts'
import { toDeploymentFilter } from '../../objects/selectors/deployment-filter.ts'
import { dependsOnTargets, deploymentTopics, hasHistory } from '../deployment-topics.ts'
import { FeedReset, resumedFrom } from '../feed-event.ts'
import { streamState } from '../state-stream.ts'
import { ListChangeEnum } from './list-change.ts'
import { type ListReads, type ListUpdate, reactToList } from './live-list.ts'

type Update = ListUpdate<DeploymentRow>

const DeploymentListRow = builder.objectRef<Update['rows'][number]>('DeploymentListRow').implement({
  access: 'viewer',
  description: 'A row of a live list that is new or has changed.',
  fields: (t) => ({
    change: t.expose('change', { type: ListChangeEnum, description: 'What happened to it.' }),
    position: t.exposeInt('position', { description: 'Number of rows before it in the list after the update.' }),
    deployment: t.expose('row', { type: Deployment, description: 'The deployment as of the cursor.' }),
  }),
})

const DeploymentListUpdate = builder.objectRef<Update>('DeploymentListUpdate').implement({
  access: 'viewer',
  description:
    'What changed in a live list. To apply it, take the rows of `removed` and of `rows` out of the list, then insert each of `rows` at its position, in their order.',
  fields: (t) => ({
    cursor: t.expose('cursor', {
      type: 'Revision',
      description:
        'The revision that the list reflects after this update. Resume with `after`. It is also the ID of the server-sent event.',
    }),
    isSnapshot: t.exposeBoolean('isSnapshot', {
      description: 'True: `rows` is the whole list, which replaces all rows that the client has.',
    }),
    reset: t.expose('reset', {
      type: FeedReset,
      nullable: true,
      description:
        'Why a subscription that resumed gets the whole list. Null: it does not, or its filter has no history.',
    }),
    rows: t.field({
      type: [DeploymentListRow],
      description: 'The rows that are new or have changed, by position.',
      resolve: async ({ rows }, _, context, info) => {
        await gatherParents(
          rows.map(({ row }) => row),
          selectedFields(info, ['deployment']),
          context,
        )
        return rows
      },
    }),
    removed: t.idList({
      description: 'Node IDs of the deployments that are no longer in the list.',
      resolve: ({ removed }) => removed.map((key) => encodeNodeId('Deployment', key, null)),
    }),
    hasNextPage: t.exposeBoolean('hasNextPage', { description: 'Whether there are rows after the last one.' }),
  }),
})

builder.subscriptionField('deployments', (t) =>
  t.field({
    access: 'viewer',
    type: DeploymentListUpdate,
    description:
      'The first rows of `deployments`, live: the whole list first, then what changes in it. Values without a history, such as labels and the time when a device was last heard, are compared when something else changes.',
    args: {
      ...deploymentListArgs(),
      first: t.arg.int({
        required: true,
        defaultValue: defaultPageSize,
        description: `Number of rows: 1 to ${maxPageSize}.`,
      }),
      after: t.arg({
        type: 'Revision',
        description:
          'The cursor of the last update that the client applied. The first update has what changed since then. With a filter by labels, connectivity, text, capabilities or the time when a device was last heard, it is the whole list. The header `Last-Event-ID` of server-sent events takes precedence.',
      }),
    },
    subscribe: (_, { filter: given, orderBy, first, after }, context) => {
      if (first < 1 || first > maxPageSize)
        throw new DomainError('BAD_USER_INPUT', `first must be from 1 to ${maxPageSize}, but is ${first}`)
      const filter = toDeploymentFilter(given)
      const order = orderBy ?? 'CHANGED_DESC'
      return streamState(
        context,
        `deployments ${JSON.stringify([filter, order, first])}`,
        // What leaves the access scope leaves the list. The list itself shows only what the caller sees.
        { ...watchOf(filter), isUnscoped: true },
        reactToList(readsOf(filter, order), first, resumedFrom(context) ?? after ?? null),
      )
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
  return kind === 'CONNECTIVITY_CHANGED' || kind === 'DEVICE_RETIRED' || kind === 'DEVICE_REINSTATED'
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
