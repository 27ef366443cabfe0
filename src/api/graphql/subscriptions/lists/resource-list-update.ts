import { mentions } from '../../../../domain/selectors/selector.ts'
import type { ResourceCondition, ResourceFilter } from '../../../../store/read/filters/resource-filter.ts'
import type { ResourceRow } from '../../../../store/read/orchestration/resources.ts'
import type { ResourceOrder } from '../../../../store/read/orders/resource-order.ts'
import { builder } from '../../builder.ts'
import { Resource } from '../../objects/refs.ts'
import { ResourceOrderRef, toResourceOrder } from '../../objects/resources/resource-order.ts'
import { ResourceFilterRef, toResourceFilter } from '../../objects/selectors/filters.ts'
import { resourceWatch } from '../resource-watch.ts'
import { implementListUpdate, liveListArgs, streamList } from './list-update.ts'
import type { ListReads } from './live-list.ts'

const ResourceListUpdate = implementListUpdate({
  name: 'Resource',
  field: 'resource',
  of: 'resources',
  type: Resource,
})

builder.subscriptionField('resources', (t) =>
  t.field({
    access: 'viewer',
    type: ResourceListUpdate,
    description:
      'The first rows of `resources`, live: the whole list first, then what changes in it. Labels are compared when something else changes.',
    args: {
      filter: t.arg({ type: ResourceFilterRef, description: 'Selects resources.' }),
      orderBy: t.arg({ type: ResourceOrderRef, description: 'The order. Absent: as first reported.' }),
      ...liveListArgs('a filter by labels or connectivity'),
    },
    subscribe: (_, { filter: given, orderBy, ...page }, context) => {
      const filter = toResourceFilter(given)
      const order = toResourceOrder(orderBy)
      const key = `resources ${JSON.stringify([filter, order])}`
      const watch = { ...resourceWatch(filter), isPaced: true, isUnscoped: true }
      return streamList(context, key, watch, readsOf(filter, order), page)
    },
    resolve: (event) => event.payload,
  }),
)

type Touched = ReadonlySet<number>

/** Resources of one update that are looked up each. With more, the list is read again. */
const mostTouched = 2_000

function readsOf(filter: ResourceFilter, order: ResourceOrder): ListReads<ResourceRow, Touched> {
  return {
    page: (reader, page, asOf) => reader.resources({ of: 'fleet' }, filter, page, asOf, order),
    touched(changes) {
      const keys = changes.map(({ resourceKey }) => resourceKey)
      const touched = new Set(keys.filter((key) => key !== null))
      return keys.includes(null) || touched.size > mostTouched ? null : touched
    },
    isTouched: (touched, key) => touched.has(key),
    places: (reader, touched, known, upTo, limit) =>
      reader.resourcePlaces([...known, ...touched], filter, order, upTo, limit),
    row: (reader, key) => reader.resource(key, null),
    // A resource has a revision of its own.
    changedSince: async () => new Set(),
    hasPast: (reader) =>
      !mentions<ResourceCondition>(filter, ['labels', 'label', 'connectivity']) && !reader.isNarrowByLabel,
  }
}
