/** What a read costs: one statement however many parents, and few rows however large the fleet. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Revision } from '../../../src/domain/values.ts'
import type { Database, Session } from '../../../src/store/database.ts'
import { openDatabase } from '../../../src/store/open.ts'
import { countChanges } from '../../../src/store/read/changes/change-counts.ts'
import { pageChanges, readLog } from '../../../src/store/read/changes/changes.ts'
import { countDeployments } from '../../../src/store/read/counts/deployment-counts.ts'
import {
  deploymentsByKey,
  findDeployments,
  findManyDeployments,
  pageDeployments,
} from '../../../src/store/read/deployments.ts'
import { sourceLimits } from '../../../src/store/read/filters/source.ts'
import { newestOfGroups } from '../../../src/store/read/groups/members.ts'
import { nestedGroups } from '../../../src/store/read/groups/nested-groups.ts'
import { readFleetFigures } from '../../../src/store/read/monitoring/fleet-figures.ts'
import { deploymentOrders } from '../../../src/store/read/orders/deployment-order.ts'
import { countReports, pageReports } from '../../../src/store/read/reports/reports.ts'
import { pageRollouts, rolloutByKeyArgs, rolloutsByKey } from '../../../src/store/read/rollouts/rollouts.ts'
import { pageDevices, targetByName, targetsByKey } from '../../../src/store/read/targets/targets.ts'
import { type EmptyStore, stores } from '../../support/databases/stores.ts'
import { fillFleet, size, spring } from './even-fleet.ts'
import { inSnapshot, watched } from './history.ts'
import { readPlans } from './plan.ts'

const fleet = { of: 'fleet' } as const
const bySize = { field: 'SIZE', descending: true } as const
const first = { size: 20, after: null, before: null, backward: false }
const last = { ...first, backward: true }
const some = Array.from({ length: 50 }, (_, index) => index + 1)

describe.each(stores)('reads on $name', (store) => {
  let empty: EmptyStore
  let database: Database
  let base: Revision

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    base = await inSnapshot(database, async ({ head }) => (await head).revision)
    await database.transaction((session) => fillFleet(session, base))
    await database.transaction((session) => session.run('analyze'))
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  it('take one statement however many they are asked about', async () => {
    const reads: Record<string, (session: Session) => Promise<unknown>> = {
      deploymentsByKey: (s) => deploymentsByKey(s, some, null),
      findDeployments: (s) => findDeployments(s, 'dep-7', 'device-7', null),
      findManyDeployments: (s) =>
        findManyDeployments(
          s,
          some.map((key) => ({ deploymentId: `dep-${key}`, deviceId: `device-${key}` })),
        ),
      'pageDeployments of targets': (s) => pageDeployments(s, { of: 'target', keys: some }, {}, 'NAME', first, null),
      'countDeployments of targets': (s) => countDeployments(s, { of: 'target', keys: some }, {}, null),
      'countDeployments of rollouts': (s) => countDeployments(s, { of: 'rollout', keys: some }, {}, null),
      targetsByKey: (s) => targetsByKey(s, some),
      'pageDevices of parents': (s) => pageDevices(s, { of: 'parent', keys: some }, {}, first),
      rolloutsByKey: (s) => rolloutsByKey(s, some, null),
      'pageChanges of deployments': (s) => pageChanges(s, { of: 'deployment', keys: some }, {}, first, null),
      'pageChanges of components': (s) =>
        pageChanges(
          s,
          { of: 'component', items: some.map((key) => ({ deploymentKey: key, name: 'api' })) },
          {},
          last,
          null,
        ),
      'countChanges of deployments': (s) => countChanges(s, { of: 'deployment', keys: some }, {}, null),
      pageReports: (s) => pageReports(s, some, first, base),
      countReports: (s) => countReports(s, some, null),
    }
    for (const [name, read] of Object.entries(reads)) {
      const { session, statements } = watched(database.session)
      await read(session)
      expect([name, statements.length]).toEqual([name, 1])
    }
  })

  it('learn once an operation what a revision cuts through', async () => {
    await inSnapshot(database, async (snapshot) => {
      const { session, statements } = watched(snapshot)
      const then = base + 3 * size + 1
      await Promise.all([
        deploymentsByKey(session, some, then),
        pageDeployments(session, { of: 'target', keys: some }, {}, 'NAME', first, then),
        countDeployments(session, fleet, {}, then),
      ])
      // The entry, and the state that it ended.
      expect(statements).toHaveLength(2 + 3)
    })
  })

  it('look at few rows, however large the fleet and its log', async () => {
    const head = base + 6 * size
    const recent = head - 30
    const few = { ...sourceLimits, candidates: 100, counted: 100, scanned: 0 }
    const reads: Record<string, (session: Session) => Promise<unknown>> = {
      ...Object.fromEntries(
        deploymentOrders.flatMap((order) => [
          [`the first page by ${order}`, (s: Session) => pageDeployments(s, fleet, {}, order, first, null)],
          [`the last page by ${order}`, (s: Session) => pageDeployments(s, fleet, {}, order, last, null)],
          [`a page in the middle by ${order}`, (s: Session) => middle(s, order)],
          [
            `the first page by ${order} a while ago`,
            (s: Session) => pageDeployments(s, fleet, {}, order, first, recent),
          ],
        ]),
      ),
      'the first page long ago, when all have changed since': (s) =>
        pageDeployments(s, fleet, {}, 'CHANGED_DESC', first, base + 3 * size, few),
      'the few that failed': (s) => pageDeployments(s, fleet, { states: ['FAILED'] }, 'CHANGED_DESC', first, null),
      'what is in no state': (s) => pageDeployments(s, fleet, { states: ['REMOVED'] }, 'CHANGED_ASC', first, null),
      'a rollout': (s) => pageDeployments(s, { of: 'rollout', keys: [spring] }, {}, 'CHANGED_DESC', first, null),
      'a rollout by filter': (s) => pageDeployments(s, fleet, { rolloutKeys: [spring] }, 'CHANGED_DESC', first, null),
      'a rollout by NAME': (s) => pageDeployments(s, { of: 'rollout', keys: [spring] }, {}, 'NAME', first, null),
      'a rollout by filter and NAME_DESC': (s) =>
        pageDeployments(s, fleet, { rolloutKeys: [spring] }, 'NAME_DESC', last, null),
      'the newest of groups by rollout': (s) =>
        newestOfGroups(s, some.slice(0, 5).map(groupOf), { of: 'fleet', filter: {}, asOf: null }, 3),
      'the newest of a large group': (s) =>
        newestOfGroups(s, [{ parent: 0, name: unknown, span }], { of: 'fleet', filter: {}, asOf: null }, 1),
      'the newest of groups by rollout a while ago': (s) =>
        newestOfGroups(s, some.slice(0, 5).map(groupOf), { of: 'fleet', filter: {}, asOf: recent }, 3),
      'groups within groups by rollout': (s) => targetsWithin(s, some.slice(0, 5).map(groupOf), null),
      'groups within groups by rollout a while ago': (s) => targetsWithin(s, some.slice(0, 5).map(groupOf), recent),
      'groups within small groups that come from counters': (s) =>
        targetsWithin(s, [{ parent: 0, name: { ...unknown, value: 'FAILED' }, span: null }], null),
      'groups within groups within small groups that come from counters': (s) =>
        targetsWithin(s, [{ parent: 0, within: [{ ...unknown, value: 'FAILED' }], name: groupOf(1).name, span }], null),
      'one device by filter': (s) =>
        pageDeployments(s, fleet, { deviceIds: ['device-77'] }, 'CHANGED_DESC', first, null),
      'the deployments of a device by state': (s) =>
        pageDeployments(s, fleet, { deviceIds: ['device-77'] }, 'STATE', first, null),
      'those of a device in some states': (s) =>
        pageDeployments(s, fleet, { deviceIds: ['device-77'], states: ['INSTALLED'] }, 'STATE', first, null),
      'deployments of devices': (s) =>
        pageDeployments(s, { of: 'target', keys: some }, {}, 'CHANGED_DESC', first, null),
      'deployments by key at the beginning': (s) => deploymentsByKey(s, some, base + 3 * size),
      'devices at the beginning': (s) =>
        pageDeployments(s, { of: 'target', keys: some }, {}, 'CHANGED_DESC', first, base + 3 * size),
      'counts of the fleet': (s) => countDeployments(s, fleet, {}, null),
      'counts of failures': (s) => countDeployments(s, fleet, { states: ['FAILED'] }, null),
      'counts of a rollout': (s) => countDeployments(s, { of: 'rollout', keys: [spring] }, {}, null),
      'counts of devices': (s) => countDeployments(s, { of: 'target', keys: some }, {}, null),
      'counts a while ago': (s) => countDeployments(s, fleet, {}, recent),
      'one by id': (s) => findDeployments(s, 'dep-5', 'device-5', null),
      'many by id': (s) => findManyDeployments(s, many(null)),
      'many by id and device': (s) => findManyDeployments(s, many('device-')),
      'the first changes': (s) => pageChanges(s, fleet, {}, first, null),
      'the last changes': (s) => pageChanges(s, fleet, {}, last, null),
      'changes in the middle': (s) => pageChanges(s, fleet, {}, { ...first, after: String(base + 3 * size) }, null),
      'changes of one kind': (s) => pageChanges(s, fleet, { kinds: ['DEPLOYMENT_STATE_CHANGED'] }, last, null),
      'changes of a deployment': (s) => pageChanges(s, fleet, { deploymentIds: ['dep-5'] }, first, null),
      'changes of a device': (s) => pageChanges(s, fleet, { deviceIds: ['device-5'] }, last, null),
      'changes of a rollout': (s) => pageChanges(s, fleet, { rolloutKeys: [spring, 2 * size] }, last, null),
      'a number of changes': (s) => countChanges(s, fleet, {}, null),
      histories: (s) => pageChanges(s, { of: 'deployment', keys: some.slice(0, 5) }, {}, last, head),
      'the end of the log': (s) => readLog(s, head - 9, 1_000),
      devices: (s) => pageDevices(s, fleet, {}, first),
      'a device': (s) => targetByName(s, 'DEVICE', '', 'device-5'),
      rollouts: (s) => pageRollouts(s, {}, first),
      'figures for monitoring': (s) => readFleetFigures(s, 20),
      'a rollout by name': (s) =>
        rolloutByKeyArgs(
          s,
          { name: 'x', project: null, compositeApp: null, compositeAppVersion: null, provider: null },
          null,
        ),
    }
    const many = (device: string | null) =>
      [5, 6, 7, 8].map((n) => ({ deploymentId: `dep-${n}`, deviceId: device && `${device}${n}` }))
    const groupOf = (key: number) =>
      ({
        parent: 0,
        span: null,
        name: { by: 'ROLLOUT', labelKey: null, value: String(spring + key), detail: null },
      }) as const
    const unknown = { by: 'CONVERGENCE', labelKey: null, value: 'UNKNOWN', detail: null } as const
    const span = { since: 0, changedAt: 0, revision: base }
    const targetsWithin = (s: Session, groups: Parameters<typeof nestedGroups>[1], asOf: Revision | null) =>
      nestedGroups(s, groups, { of: 'fleet', filter: {}, asOf }, { by: 'TARGET', labelKey: null }, bySize, 20)
    const costs: Record<string, number> = {}
    for (const [name, read] of Object.entries(reads)) costs[name] = await rowsRead(read)
    const dear = Object.entries(costs).filter(([, rows]) => rows > 500)
    expect(dear).toEqual([])
  })

  it("look at a device's few rows in every order, also if the planner would rather not sort", async () => {
    await inSnapshot(database, async (snapshot) => {
      await snapshot.run('set local enable_sort = off')
      for (const order of deploymentOrders)
        for (const filter of [
          { deviceIds: ['device-77'] },
          { deviceIds: ['device-77'], states: ['INSTALLED'] as const },
        ]) {
          const { session, rows } = readPlans(snapshot)
          await pageDeployments(session, fleet, filter, order, first, null)
          expect([order, rows() < 500]).toEqual([order, true])
        }
    })
  })

  it('look at few rows also by a plan that was made for any values', async () => {
    const blind = await openBlind()
    const [mode] = await blind.session.run('show plan_cache_mode')
    expect(mode).toEqual({ plan_cache_mode: 'force_generic_plan' })
    const costs: Record<string, number> = {}
    for (const order of deploymentOrders) {
      for (const request of [first, last])
        costs[`${order} ${request.backward}`] = await rowsRead(
          (s) => pageDeployments(s, fleet, {}, order, request, null),
          blind,
        )
      costs[`${order} in the middle`] = await rowsRead((s) => middle(s, order), blind)
    }
    const histories = { of: 'deployment', keys: [5] } as const
    const past = base + 3 * size
    expect(await findDeployments(database.session, 'everywhere', `device-${size}`, past)).toMatchObject([{ key: size }])
    Object.assign(costs, {
      'a rollout': await rowsRead(
        (s) => pageDeployments(s, { of: 'rollout', keys: [spring] }, {}, 'CHANGED_DESC', first, null),
        blind,
      ),
      'a rollout by NAME': await rowsRead(
        (s) => pageDeployments(s, { of: 'rollout', keys: [spring] }, {}, 'NAME', first, null),
        blind,
      ),
      'a history': await rowsRead((s) => pageChanges(s, histories, {}, first, null), blind),
      'the log': await rowsRead((s) => pageChanges(s, fleet, {}, last, null), blind),
      'the reports': await rowsRead((s) => pageReports(s, [5], first, null), blind),
      'one of many': await rowsRead((s) => findDeployments(s, 'everywhere', `device-${size}`, null), blind),
      'many with one id': await rowsRead((s) => findDeployments(s, 'everywhere', null, null), blind),
      'many with one id a while ago': await rowsRead((s) => findDeployments(s, 'everywhere', null, past), blind),
      'one of many a while ago': await rowsRead((s) => findDeployments(s, 'everywhere', `device-${size}`, past), blind),
    })
    // 101 deployments with one ID, each with its name, its entry and its state then.
    expect(Object.entries(costs).filter(([, rows]) => rows > 900)).toEqual([])
  })

  /** Whose every plan is made without knowing what is asked for. */
  async function openBlind(): Promise<Database> {
    if (empty.config.url === null) {
      // PGlite has one connection.
      await database.session.run('set plan_cache_mode = force_generic_plan')
      onTestFinished(async () => void (await database.session.run('reset plan_cache_mode')))
      return database
    }
    const url = new URL(empty.config.url)
    url.searchParams.set('options', '-cplan_cache_mode=force_generic_plan')
    const blind = await openDatabase({ ...empty.config, url: url.href })
    onTestFinished(() => blind.close())
    return blind
  }

  async function middle(session: Session, order: (typeof deploymentOrders)[number]): Promise<void> {
    const pages = await pageDeployments(database.session, fleet, {}, order, { ...first, size: 100 }, null)
    const after = pages.get(0)?.edges.at(-1)?.cursor ?? null
    await pageDeployments(session, fleet, {}, order, { ...first, after }, null)
  }

  /** All the rows that the statements' scans came by. */
  async function rowsRead(
    read: (session: Session) => Promise<unknown>,
    { session }: Pick<Database, 'session'> = database,
  ): Promise<number> {
    const plans = readPlans(session)
    await read(plans.session)
    return plans.rows()
  }
})
