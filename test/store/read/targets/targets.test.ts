import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectivities, type Target } from '../../../../src/domain/target.ts'
import type { Database } from '../../../../src/store/database.ts'
import { type TargetOrder, targetOrderFields } from '../../../../src/store/read/orders/target-order.ts'
import {
  countDevices,
  type DeviceFilter,
  type DeviceScope,
  pageDevices,
  targetByName,
  targetsByKey,
} from '../../../../src/store/read/targets/targets.ts'
import { type TargetRecord, toTarget } from '../../../../src/store/sql/rows.ts'
import { type EmptyStore, stores } from '../../../support/databases/stores.ts'
import { someOf } from '../../../support/runner/depth.ts'
import { devices, live } from '../history.ts'

describe.each(stores)('devices on $name', (store) => {
  let empty: EmptyStore
  let database: Database
  let all: readonly Target[]

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    await live(database, 21, 60)
    // Never heard, and of another connectivity: what the random life leaves the same.
    await database.session.run(`update targets set connectivity = 'OFFLINE' where name in ('beta', 'gw/one')`)
    await database.session.run(`update targets set last_heard_at = null where name = 'gamma'`)
    all = (await database.session.run<TargetRecord>('select * from targets')).map(toTarget)
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  it('come in pages of any size and direction, in every order, for every filter, below each parent', async () => {
    const gateway = all.find(({ name }) => name === 'gw')?.key ?? 0
    const walks = fc.record({
      filter: filters,
      order: fc.record({ field: fc.constantFrom(...targetOrderFields), descending: fc.boolean() }),
      size: fc.integer({ min: 1, max: 5 }),
      backward: fc.boolean(),
      scope: fc.constantFrom<DeviceScope>({ of: 'fleet' }, { of: 'parent', keys: [gateway, 999_999] }),
    })
    await fc.assert(
      fc.asyncProperty(walks, async ({ filter, order, size, backward, scope }) => {
        const counts = await countDevices(database.session, scope, filter)
        for (const [parent, count] of counts) {
          const expected = all
            .filter((target) => (scope.of === 'fleet' || target.parentKey === parent) && matches(filter, target))
            .toSorted(comparator(order))
          expect(count).toBe(expected.length)
          const found: Target[] = []
          for (let cursor: string | null = null; ; ) {
            const bounds = backward ? { after: null, before: cursor } : { after: cursor, before: null }
            const pages = await pageDevices(database.session, scope, filter, { size, backward, ...bounds }, order)
            const page = pages.get(parent)
            const nodes = page?.edges.map(({ node }) => node) ?? []
            backward ? found.unshift(...nodes) : found.push(...nodes)
            const isAtEnd = found.length === expected.length
            expect([page?.hasPreviousPage, page?.hasNextPage]).toEqual(
              backward ? [!isAtEnd, cursor !== null] : [cursor !== null, !isAtEnd],
            )
            cursor = (backward ? page?.edges[0] : page?.edges.at(-1))?.cursor ?? null
            if (cursor === null || isAtEnd || nodes.length === 0) break
          }
          expect(found).toEqual(expected)
        }
      }),
      { numRuns: someOf(12, 80) },
    )
  })

  it('are found by key and by name', async () => {
    expect(await targetsByKey(database.session, [...all.map(({ key }) => key), 999_999])).toEqual(
      new Map(all.map((target) => [target.key, target])),
    )
    expect(await targetsByKey(database.session, [])).toEqual(new Map())
    for (const target of all) expect(await targetByName(database.session, 'DEVICE', '', target.name)).toEqual(target)
    expect(await targetByName(database.session, 'CLUSTER', '', 'alpha')).toBeNull()
    expect(await targetByName(database.session, 'DEVICE', '', 'a\0')).toBeNull()
  })
})

function comparator({ field, descending }: TargetOrder): (a: Target, b: Target) => number {
  const place = ({ lastHeardAt, connectivity }: Target): number =>
    field === 'LAST_HEARD' ? (lastHeardAt ?? 0) : field === 'CONNECTIVITY' ? connectivities.indexOf(connectivity) : 0
  const ascending = (a: Target, b: Target): number => place(a) - place(b) || (a.name < b.name ? -1 : 1)
  return descending ? (a, b) => ascending(b, a) : ascending
}

const filters: fc.Arbitrary<DeviceFilter> = fc.record(
  {
    deviceIds: fc.array(fc.constantFrom(...devices, 'unknown', '\0', 'a"b\\'), { maxLength: 3 }),
    labels: fc.array(fc.record({ key: fc.constantFrom('site', 'line'), value: fc.constantFrom('north', '1', '\0') }), {
      maxLength: 2,
    }),
    connectivity: fc.array(fc.constantFrom(...connectivities), { maxLength: 2 }),
    registered: fc.boolean(),
    text: fc.constantFrom('', 'A', 'gw/', 'PRESS', '"', '%', '_', '\0'),
  },
  { requiredKeys: [] },
)

function matches(filter: DeviceFilter, target: Target): boolean {
  const { deviceIds, labels, connectivity, registered, text } = filter
  return (
    (!deviceIds || deviceIds.includes(target.name)) &&
    (!labels ||
      labels.some(({ key, value }) => target.labels.some((label) => label.key === key && label.value === value))) &&
    (!connectivity || connectivity.includes(target.connectivity)) &&
    (registered === undefined || target.registered === registered) &&
    (text === undefined ||
      [target.name, target.displayName].some((value) => value?.toLowerCase().includes(text.toLowerCase())))
  )
}
