/** Devices and clusters as of a revision: as they were listed then, after any reports, retirements, returns and outages. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchesLabel } from '../../../../src/domain/selectors/label-condition.ts'
import { matchesSelector } from '../../../../src/domain/selectors/selector.ts'
import { connectivities, type Target } from '../../../../src/domain/target.ts'
import type { Revision } from '../../../../src/domain/values.ts'
import { reportConnectivity } from '../../../../src/ingest/commands/connectivity.ts'
import type { ManifestUpdate } from '../../../../src/ingest/commands/declared-documents.ts'
import { registerDevices } from '../../../../src/ingest/commands/devices/register.ts'
import { retireDevices } from '../../../../src/ingest/commands/devices/retire.ts'
import { recordReport } from '../../../../src/ingest/commands/report.ts'
import { readHead } from '../../../../src/store/connection/log-head.ts'
import type { TargetOrder } from '../../../../src/store/read/orders/target-order.ts'
import { countClusters, pageClusters } from '../../../../src/store/read/targets/clusters.ts'
import {
  countByConnectivity,
  countDevices,
  type DeviceCondition,
  type DeviceFilter,
  pageDevices,
  targetByName,
  targetsByKey,
} from '../../../../src/store/read/targets/targets.ts'
import type { Page, PageRequest } from '../../../../src/store/sql/order.ts'
import { type DeploymentRecord, type TargetRecord, toDeployment, toTarget } from '../../../../src/store/sql/rows.ts'
import { stores } from '../../../support/databases/stores.ts'
import { someOf } from '../../../support/runner/depth.ts'
import { maintain } from '../all-acts.ts'
import { devices, liveBy, pickerOf, randomReport } from '../history.ts'
import { labelConditions, selectors, some, valuesOf } from '../reference.ts'

interface Then {
  readonly revision: Revision
  readonly targets: readonly Target[]
  /** Listed ones. */
  readonly deployments: readonly { readonly targetKey: number; readonly rolloutKey: number; readonly state: string }[]
}

const manifestUpdate: ManifestUpdate = {
  cause: { caller: 'a test', why: '' },
  bundle: () => ({ digest: 'sha256:0', size: 0 }),
}

function matches({ where, retired, ...leaf }: DeviceFilter, target: Target, then: Then): boolean {
  const { deviceIds, connectivity, label, registered, inMaintenance, text, rolloutKeys, failing } = leaf
  const own = then.deployments.filter(({ targetKey }) => targetKey === target.key)
  const isRetired = target.retiredAt !== null
  return (
    (retired === undefined || retired === isRetired) &&
    (!deviceIds || deviceIds.includes(target.name)) &&
    (!connectivity || connectivity.includes(target.connectivity)) &&
    (!label || matchesLabel(label, valuesOf(target, label.key))) &&
    (registered === undefined || registered === target.registered) &&
    (inMaintenance === undefined || inMaintenance === (target.maintenanceKey !== null)) &&
    (text === undefined || target.name.includes(text)) &&
    (!rolloutKeys || own.some(({ rolloutKey }) => rolloutKeys.includes(rolloutKey))) &&
    (failing === undefined || failing === own.some(({ state }) => state === 'FAILED')) &&
    (where === undefined || matchesSelector(where, (part) => matches(part, target, then)))
  )
}

function comparator({ field, descending }: TargetOrder): (a: Target, b: Target) => number {
  const place = ({ connectivity }: Target): number => (field === 'NAME' ? 0 : connectivities.indexOf(connectivity))
  const ascending = (a: Target, b: Target): number => place(a) - place(b) || (a.name < b.name ? -1 : 1)
  return descending ? (a, b) => ascending(b, a) : ascending
}

const conditionsOf = (rolloutKeys: readonly number[]): fc.Arbitrary<DeviceCondition> =>
  fc.record(
    {
      deviceIds: some([...devices, 'unknown']),
      connectivity: some(connectivities),
      label: labelConditions,
      registered: fc.boolean(),
      inMaintenance: fc.boolean(),
      text: fc.constantFrom('a', 'gw'),
      rolloutKeys: some(rolloutKeys),
      failing: fc.boolean(),
    },
    { requiredKeys: [] },
  )

describe.each(stores)('targets in the past on $name', (store) => {
  it('are found by the kinds of changes, not by a reason that has the name of a kind', async () => {
    const empty = await store.create()
    const database = await empty.open()
    const { session } = database
    const { submit, tick } = liveBy(database, Math.max((await readHead(session)).at + 1_000, Date.now()))
    const device = { deviceId: 'edge-1', name: null, labels: [], parent: null, expectedInterval: null }
    await submit(registerDevices([{ ...device, tokenHash: 'hash' }]))
    await submit(reportConnectivity({ kind: 'DEVICE', provider: '', name: 'edge-1' }, 'ONLINE'))
    const { revision: online } = await readHead(session)
    const retire = (reason: string) =>
      submit(retireDevices([{ deviceId: 'edge-1', replacedBy: null }], { reason, withChildren: true, manifestUpdate }))
    tick(1_000)
    await retire('CONNECTIVITY_CHANGED')
    tick(1_000)
    await retire('DEVICE_REINSTATED')
    const { revision: retired } = await readHead(session)
    const then = await targetByName(session, 'DEVICE', '', 'edge-1', online)
    expect(then).toMatchObject({ connectivity: 'ONLINE', retiredAt: null })
    const since = await targetByName(session, 'DEVICE', '', 'edge-1', retired)
    const now = await targetByName(session, 'DEVICE', '', 'edge-1')
    expect(since).toMatchObject({ retiredAt: now?.retiredAt, retiredReason: 'DEVICE_REINSTATED' })
    await database.close()
    await empty.drop()
  })

  it('are as they were', async () => {
    const empty = await store.create()
    const database = await empty.open()
    const { session } = database
    const { at } = await readHead(session)
    const { submit, tick } = liveBy(database, Math.max(at + 1_000, Date.now()))
    const pick = pickerOf(77)
    const byRevision = new Map<Revision, Then>()
    for (let step = 0; step < 50; step += 1) {
      tick(1_000)
      const deviceId = pick.one(devices)
      const roll = pick.number(10)
      const act = async (): Promise<unknown> => {
        if (roll < 4) return submit(recordReport(randomReport(pick)))
        if (roll === 4) return maintain(pick)(submit)
        if (roll === 5) {
          const labels = [{ key: 'site', value: pick.one(['north', 'south']) }]
          const device = { deviceId, name: null, labels, parent: null, expectedInterval: null }
          return submit(registerDevices([{ ...device, tokenHash: `hash${step}` }]))
        }
        if (roll === 6) {
          const replacedBy = pick.flip() ? pick.one(devices) : null
          const reason = pick.one(['scrapped', 'stolen'])
          return submit(retireDevices([{ deviceId, replacedBy }], { reason, withChildren: true, manifestUpdate }))
        }
        const isCluster = pick.flip()
        const name = isCluster ? pick.one(['edge', 'core']) : deviceId
        const place = { kind: isCluster ? 'CLUSTER' : 'DEVICE', provider: isCluster ? 'p' : '', name } as const
        return submit(reportConnectivity(place, pick.one(connectivities)))
      }
      // Some are refused: reports of retired devices, unknown replacements.
      await act().catch(() => undefined)
      const { revision } = await readHead(session)
      const rows = await session.run<DeploymentRecord>('select * from deployments')
      byRevision.set(revision, {
        revision,
        targets: (await session.run<TargetRecord>('select * from targets')).map(toTarget),
        deployments: rows.map(toDeployment).filter((one) => one.forgottenAt === null && one.isCurrent),
      })
    }
    const moments = [...byRevision.values()]
    const last = moments.at(-1)
    const now = new Map(last?.targets.map((target) => [target.key, target]))
    const shownAt = (then: Then): Target[] =>
      then.targets.map((target) => {
        const { connectivity, retiredAt, retiredReason, replacedByKey } = target
        const { maintenanceKey, maintenanceReason, maintenanceSince, maintenanceUntil } = target
        const maintenance = { maintenanceKey, maintenanceReason, maintenanceSince, maintenanceUntil }
        const present = now.get(target.key) ?? target
        return { ...present, ...maintenance, connectivity, retiredAt, retiredReason, replacedByKey, lastHeardAt: null }
      })
    expect(moments.some(({ targets }) => targets.some(({ retiredAt }) => retiredAt !== null))).toBe(true)
    expect(moments.some(({ targets }) => targets.some(({ maintenanceKey }) => maintenanceKey !== null))).toBe(true)
    expect(new Set(moments.map(({ targets }) => targets.length)).size).toBeGreaterThan(4)

    for (const then of moments) {
      const shown = shownAt(then)
      const keys = [...now.keys()]
      expect(await targetsByKey(session, keys, then.revision)).toEqual(
        new Map(shown.map((target) => [target.key, target])),
      )
      const clusters = shown.filter(({ kind }) => kind === 'CLUSTER')
      const page = await pageClusters(
        session,
        {},
        { size: 9, after: null, before: null, backward: false },
        { field: 'NAME', descending: true },
        then.revision,
      )
      expect(page.edges.map(({ node }) => node)).toEqual(clusters.toSorted((a, b) => (a.name < b.name ? 1 : -1)))
      expect(await countClusters(session, {}, then.revision)).toBe(clusters.length)
    }
    for (const name of devices) {
      const [first] = moments
      const there = first?.targets.find((target) => target.name === name)
      const found = await targetByName(session, 'DEVICE', '', name, first?.revision ?? 0)
      expect(found?.key).toBe(there?.key)
    }

    const rolloutKeys = [...new Set(moments.flatMap((one) => one.deployments.map(({ rolloutKey }) => rolloutKey)))]
    const leaves = conditionsOf(rolloutKeys)
    const filters = fc
      .tuple(fc.oneof(fc.constant({}), leaves, fc.record({ where: selectors(leaves) })), fc.boolean())
      .map(([filter, retired]) => ({ ...filter, retired }))
    const asked = fc.record({
      filter: filters,
      order: fc.record({ field: fc.constantFrom('NAME' as const, 'CONNECTIVITY' as const), descending: fc.boolean() }),
      moment: fc.constantFrom(...moments),
      size: fc.integer({ min: 1, max: 4 }),
    })
    await fc.assert(
      fc.asyncProperty(asked, async ({ filter, order, moment: then, size }) => {
        const expected = shownAt(then)
          .filter((target) => target.kind === 'DEVICE' && matches(filter, target, then))
          .toSorted(comparator(order))
        const { revision } = then
        const found: Target[] = []
        for (let after: string | null = null; ; ) {
          const request: PageRequest = { size, after, before: null, backward: false }
          const page: Page<Target> | undefined = (
            await pageDevices(session, { of: 'fleet' }, filter, request, order, revision)
          ).get(0)
          found.push(...(page?.edges.map(({ node }) => node) ?? []))
          after = page?.edges.at(-1)?.cursor ?? null
          if (!page?.hasNextPage) break
        }
        expect(found).toEqual(expected)
        expect((await countDevices(session, { of: 'fleet' }, filter, revision)).get(0)).toBe(expected.length)
        const scopes = [
          { scope: { of: 'fleet' }, parents: [0], isIn: () => true },
          {
            scope: { of: 'rollout', keys: rolloutKeys },
            parents: rolloutKeys,
            isIn: (parent: number, key: number) =>
              then.deployments.some(({ targetKey, rolloutKey }) => targetKey === key && rolloutKey === parent),
          },
        ] as const
        for (const { scope, parents, isIn } of scopes)
          for (const asOf of revision === last?.revision ? [revision, null] : [revision]) {
            const counts = await countByConnectivity(session, scope, filter, asOf)
            for (const parent of parents) {
              const own = expected.filter(({ key }) => isIn(parent, key))
              for (const connectivity of connectivities)
                expect(counts.get(parent)?.[connectivity] ?? 0).toBe(
                  own.filter((target) => target.connectivity === connectivity).length,
                )
            }
          }
      }),
      { numRuns: someOf(8, 20) },
    )
    await database.close()
    await empty.drop()
  })
})
