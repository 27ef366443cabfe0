/** Counts in the past touch a bounded part of the log, however long it is: buffers, not times, and without statistics. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Revision } from '../../../../src/domain/values.ts'
import { createCheckpoints } from '../../../../src/ingest/duties/checkpoints.ts'
import type { Database, Session } from '../../../../src/store/database.ts'
import { withScope } from '../../../../src/store/read/access-scope.ts'
import { audit } from '../../../../src/store/read/counts/audit.ts'
import { countConvergence, countDeployments } from '../../../../src/store/read/counts/deployment-counts.ts'
import { pageDeployments } from '../../../../src/store/read/deployments.ts'
import type { DeploymentFilter } from '../../../../src/store/read/filters/deployment-filter.ts'
import { pageGroups } from '../../../../src/store/read/groups/groups.ts'
import { orders } from '../../../../src/store/read/orders/deployment-order.ts'
import { newestFirst, type RolloutOrder } from '../../../../src/store/read/orders/rollout-order.ts'
import { countRollouts, pageRollouts } from '../../../../src/store/read/rollouts/rollouts.ts'
import { writeCursor } from '../../../../src/store/sql/cursor.ts'
import { stores } from '../../../support/databases/stores.ts'
import { inSnapshot } from '../history.ts'
import { buffersOf, endStates, openLongLog } from '../long-log.ts'

const size = 50_000
const spring = size + 1
const counters = { pending: 0, installing: 0, installed: 0, failed: 0, removing: 0, removed: 0 }

describe.each(stores)('counts in the past on $name', (store) => {
  let database: Database
  let base: Revision
  let close = async (): Promise<void> => {}
  beforeAll(async () => {
    ;({ database, base, close } = await openLongLog(store, size))
  })
  afterAll(() => close())

  it('read what lies between a revision and a checkpoint', async () => {
    const lookedUp: unknown[] = []
    const run: Session['run'] = (text, parameters = []) => {
      if (text.includes('from rollouts')) lookedUp.push(...JSON.parse(String(parameters[0])))
      return database.session.run(text, parameters)
    }
    const duty = createCheckpoints({ ...database, session: { ...database.session, run } })
    expect(await duty.run({ now: 0, listeningSince: 0, isOver: () => false })).toBe(true)
    // Once for its entries before the server began to count, and once for each checkpoint. The 25,000 small rollouts are not looked up.
    expect(lookedUp).toEqual(Array.from({ length: 1 + (2 * size) / 2_000 }, () => spring))
    const kept = await database.session.run(
      'select rollout_key, count(*)::int as n from deployment_checkpoints group by 1 order by 1',
    )
    expect(kept).toEqual([
      { rollout_key: 0, n: (2 * size) / 2_000 },
      { rollout_key: spring, n: (2 * size) / 2_000 },
    ])
    expect(
      (await inSnapshot(database, (snapshot) => audit(snapshot))).filter(({ scope }) => scope.includes('checkpoint')),
    ).toEqual([])

    const at = base + size + 12_345
    const rollout = { of: 'rollout', keys: [spring] } as const
    const reads: Record<string, (session: Session) => Promise<ReadonlyMap<number, object>>> = {
      fleet: (s) => countDeployments(s, { of: 'fleet' }, {}, at),
      rollout: (s) => countDeployments(s, rollout, {}, at),
      joint: (s) => countConvergence(s, { of: 'fleet' }, { states: ['INSTALLED'] }, at),
      'joint now': (s) => countConvergence(s, rollout, { states: ['INSTALLED'] }, null),
    }
    const answers: Record<string, object> = {}
    for (const [name, read] of Object.entries(reads)) {
      const { answer, buffers } = await buffersOf(database, read)
      answers[name] = [...answer.values()]
      // All entries since would be ten times as many.
      expect([name, buffers < 1_000, buffers]).toEqual([name, true, buffers])
    }
    const { answer: groups, buffers } = await buffersOf(database, (s) =>
      pageGroups(
        s,
        {
          scope: { of: 'fleet' },
          by: { by: 'ROLLOUT', labelKey: null },
          filter: { rolloutKeys: [spring, spring + 1] },
          asOf: at,
        },
        { field: 'FAILED', descending: true },
        { size: 20, after: null, before: null, backward: false },
      ),
    )
    expect(groups.get(0)?.edges.map(({ node: { name, size } }) => [name.value, size])).toEqual([
      [String(spring), size / 2],
      [String(spring + 1), 1],
    ])
    expect([buffers < 1_000, buffers]).toEqual([true, buffers])
    const [done, half] = [12_345, Math.floor(12_345 / 2)]
    const none = { converged: 0, applying: 0, failed: 0, stale: 0, unknown: 0 }
    expect(answers).toEqual({
      fleet: [{ ...counters, pending: size - done, installed: done }],
      rollout: [{ ...counters, pending: size / 2 - half, installed: half }],
      joint: [{ ...none, unknown: done }],
      'joint now': [{ ...none, unknown: size / 2 }],
    })
  })

  it('read from the nearest checkpoint, whether it is before or after the revision', async () => {
    const [checkpoint] = await database.session.run<{ revision: Revision }>(
      `select revision from deployment_checkpoints where rollout_key = 0 and revision > ${base + size} order by 1 limit 1`,
    )
    const near = checkpoint?.revision ?? 0
    const costs = await Promise.all(
      [near - 20, near + 20, near + 1_000].map(async (at) => {
        const { buffers } = await buffersOf(database, (s) => countDeployments(s, { of: 'fleet' }, {}, at))
        return buffers
      }),
    )
    const [before = 0, after = 0, between = 0] = costs
    expect([costs, after < between, Math.abs(after - before) < (between - before) / 2]).toEqual([costs, true, true])
  })

  it('and lists read the subjects that a filter names', async () => {
    const at = base + size + 12_345
    const page = { size: 20, after: null, before: null, backward: false }
    const filters: readonly DeploymentFilter[] = [
      { deviceIds: ['device-30000'] },
      { rolloutKeys: [spring + 30_001] },
      { deploymentIds: ['d30000'] },
      { reporters: ['r30000'] },
      { keys: [30_000] },
    ]
    for (const filter of filters) {
      const { answer: pages, buffers } = await buffersOf(database, (s) =>
        pageDeployments(s, { of: 'fleet' }, filter, 'CHANGED_DESC', page, at),
      )
      const counted = await buffersOf(database, (s) =>
        countDeployments(s, { of: 'fleet' }, { ...filter, consistent: true }, at),
      )
      expect(pages.get(0)?.edges.length).toBe(1)
      expect(Object.values(counted.answer.get(0) ?? {}).reduce((sum, n) => sum + n, 0)).toBe(1)
      // To unwind all that have changed since takes 100,000 and more.
      expect([filter, buffers < 2_500, buffers]).toEqual([filter, true, buffers])
      expect([filter, counted.buffers < 2_500, counted.buffers]).toEqual([filter, true, counted.buffers])
    }
  })

  it('and filters unwind the few deployments that an index says may have matched', async () => {
    const at = base + size + 100
    await database.session.run(`update targets set labels = '[{"key": "site", "value": "south"}]' where key = 30000`)
    const page = { size: 200, after: null, before: null, backward: false }
    const filters: readonly (readonly [filter: DeploymentFilter, count: number])[] = [
      [{ where: { states: ['INSTALLED'], consistent: true } }, 100],
      [{ convergence: ['STALE'], consistent: true }, 0],
      [{ rolloutKeys: [spring], states: ['INSTALLED'], consistent: true }, 50],
      [{ labels: [{ key: 'site', value: 'south' }] }, 1],
    ]
    for (const [filter, count] of filters) {
      const { answer: pages, buffers } = await buffersOf(database, (s) =>
        pageDeployments(s, { of: 'fleet' }, filter, 'CHANGED_DESC', page, at),
      )
      expect([filter, pages.get(0)?.edges.length]).toEqual([filter, count])
      // To unwind all that have changed since takes 100,000 and more.
      expect([filter, buffers < 10_000, buffers]).toEqual([filter, true, buffers])
    }
  })

  it('and pages of one rollout by name read the rows of the page', async () => {
    const early = base + size
    const inOrder = Array.from({ length: size / 2 }, (_, n) => 2 * n + 2).toSorted((a, b) =>
      `d${a}` < `d${b}` ? -1 : 1,
    )
    const placed = (key: number) =>
      ({ key, deploymentId: `d${key}`, state: 'INSTALLED', revision: early + key }) as const
    const common: DeploymentFilter = { states: ['INSTALLED'], consistent: true }
    for (const order of ['NAME', 'NAME_DESC'] as const)
      for (const [scope, filter] of [
        [{ of: 'rollout', keys: [spring] }, {}],
        [{ of: 'fleet' }, { rolloutKeys: [spring] }],
        [{ of: 'fleet' }, { rolloutKeys: [spring], where: common }],
      ] as const) {
        const keys = order === 'NAME' ? inOrder : inOrder.toReversed()
        const middle = writeCursor(orders[order], placed(keys[10_000] ?? 0))
        const pages = [
          { page: { size: 20, after: null, before: null, backward: false }, expected: keys.slice(0, 20) },
          { page: { size: 20, after: null, before: null, backward: true }, expected: keys.slice(-20) },
          { page: { size: 20, after: middle, before: null, backward: false }, expected: keys.slice(10_001, 10_021) },
        ]
        for (const { page, expected } of pages) {
          const { answer, buffers } = await buffersOf(database, (s) =>
            pageDeployments(s, scope, filter, order, page, null, {
              small: 0,
              candidates: 100,
              walked: 200,
              counted: 0,
              scanned: 0,
            }),
          )
          const [found] = answer.values()
          expect(found?.edges.map(({ node }) => node.key)).toEqual(expected)
          // To sort the rollout takes 25,000 rows.
          expect([filter, order, page, buffers < 2_500, buffers]).toEqual([filter, order, page, true, buffers])
        }
      }
  })

  it('and pages of rollouts read the rollouts of the page', async () => {
    await database.session.run(`update rollouts set kind = 'MARGO_DEPLOYMENT' where key <> ${spring}`)
    const page = { size: 20, after: null, before: null, backward: false }
    const keys = [spring, ...Array.from({ length: size / 2 }, (_, n) => spring + 1 + 2 * n)]
    const byName = keys.toSorted((a, b) => (String(a) < String(b) ? -1 : 1))
    const orders: readonly (readonly [RolloutOrder, readonly number[]])[] = [
      [newestFirst, keys.toReversed()],
      [{ field: 'NAME', descending: false }, byName],
      [{ field: 'NAME', descending: true }, byName.toReversed()],
    ]
    const wanted = [base + size, base + size + 12_345, base + 2 * size].flatMap((at) =>
      orders.map(([order, sorted]) => ({ at, order, sorted })),
    )
    for (const { at, order, sorted } of wanted) {
      const { answer, buffers } = await buffersOf(database, (s) => pageRollouts(s, {}, page, order, at))
      expect(answer.edges.map(({ node }) => node.key)).toEqual(sorted.slice(0, 20))
      // To unwind all that have changed since takes 100,000 and more.
      expect([at - base, order, buffers < 2_500, buffers]).toEqual([at - base, order, true, buffers])
    }
    for (const [filter, count] of [
      [{}, 1 + size / 2],
      [{ kinds: ['DECLARED'] }, 1],
      [{ failing: true }, 0],
    ] as const) {
      const { answer, buffers } = await buffersOf(database, (s) => countRollouts(s, filter, base + size))
      expect([filter, answer]).toEqual([filter, count])
      // To look up each deployment that has changed since takes 500,000.
      expect([filter, buffers < 10_000, buffers]).toEqual([filter, true, buffers])
    }
  })

  it('and pages of one rollout look up the few rows that an access scope leaves', async () => {
    await database.session.run(`update targets set labels = '[{"key": "site", "value": "north"}]' where key = 20000`)
    const scoped = { labels: [{ key: 'site', value: 'north' }], projects: null }
    const page = { size: 20, after: null, before: null, backward: false }
    for (const order of ['NAME', 'NAME_DESC', 'STATE', 'STATE_DESC'] as const) {
      const { answer, buffers } = await buffersOf(database, (s) =>
        pageDeployments(withScope(s, scoped), { of: 'rollout', keys: [spring] }, {}, order, page, null),
      )
      expect(answer.get(spring)?.edges.map(({ node }) => node.key)).toEqual([20_000])
      expect([order, buffers < 3_000, buffers]).toEqual([order, true, buffers])
    }
  })

  it('and lists by state read the deployments that were in it then', async () => {
    const [at, head, cycles] = [base + size + 100, base + 2 * size, 10_000]
    const run = database.session.run
    // 40 are INSTALLING then, and become INSTALLED soon after. Others are INSTALLING later, one after the other.
    await run(`update change_log set from_state = 'INSTALLING' where first_revision between ${at + 1} and ${at + 40}`)
    await run(`update past_deployments set state = 'INSTALLING' where until between ${at + 1} and ${at + 40}`)
    for (const [offset, state, next] of [
      [0, 'INSTALLED', 'INSTALLING'],
      [1, 'INSTALLING', 'INSTALLED'],
    ] as const) {
      await run(
        `insert into change_log (first_revision, last_revision, at, deployment_key, target_key, rollout_key, from_state, from_convergence, to_state, to_convergence, found_by_changed, changes)
         select r.revision, r.revision, now(), i, i, d.rollout_key,
           '${state}', 'UNKNOWN', '${next}', 'UNKNOWN', false, '[]'
         from generate_series(1, ${cycles}) i join deployments d on d.key = i cross join lateral (select ${head - 1 + offset} + 2 * i as revision) r`,
      )
      await run(
        endStates(`l.first_revision > ${head} and l.to_state = '${next}'`, {
          state: `'${state}'`,
          revision: offset === 0 ? `${base + size} + d.key` : 'l.first_revision - 1',
        }),
      )
    }
    await run(`update deployments set revision = ${head} + 2 * key where key <= ${cycles}`)
    await run(`update log_head set revision = ${head + 2 * cycles}`)
    const installing = Array.from({ length: 40 }, (_, n) => 140 - n)
    const page = { size: 30, after: null, before: null, backward: false }
    const none = { small: 0, candidates: 2_000, walked: 2_000, counted: 0, scanned: 0 }
    for (const [order, keys] of [
      ['CHANGED_DESC', installing.slice(0, 30)],
      ['CHANGED_ASC', installing.toReversed().slice(0, 30)],
      ['STATE', installing.slice(0, 30)],
      ['NAME', installing.toSorted((a, b) => a - b).slice(0, 30)],
    ] as const) {
      const { answer, buffers } = await buffersOf(database, (s) =>
        pageDeployments(s, { of: 'fleet' }, { states: ['INSTALLING'] }, order, page, at, none),
      )
      expect([order, answer.get(0)?.edges.map(({ node }) => node.key)]).toEqual([order, keys])
      // The log has 10,040 entries since that ended INSTALLING.
      expect([order, buffers < 8_000, buffers]).toEqual([order, true, buffers])
    }
    const { answer, buffers } = await buffersOf(database, (s) =>
      countDeployments(s, { of: 'fleet' }, { states: ['INSTALLING'], consistent: true }, at, {
        ...none,
        counted: size,
      }),
    )
    expect(answer.get(0)).toEqual({ ...counters, installing: 40 })
    expect([buffers < 8_000, buffers]).toEqual([true, buffers])
  })
})
