/** When rollouts were created, started, changed last and finished: equal to what the log says, after any sequence of events. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ChangeBody } from '../../src/domain/change.ts'
import type { Deployment } from '../../src/domain/deployment.ts'
import { imageAt } from '../../src/domain/fold.ts'
import { deploymentIntentGroup, type LifecycleRolloutName } from '../../src/domain/rollout.ts'
import { recordActions } from '../../src/ingest/commands/act.ts'
import { declareDeployments, forgetDeployments } from '../../src/ingest/commands/declare.ts'
import { recordReport } from '../../src/ingest/commands/report.ts'
import { reportResources } from '../../src/ingest/commands/resources.ts'
import { readMigrations } from '../../src/store/connection/migrate.ts'
import { toImage } from '../../src/store/sql/rows.ts'
import { report } from '../support/reports.ts'
import { stores } from '../support/stores.ts'
import { alpha, declare, munich, register } from './access-scope-fleet.ts'
import { type Api, startApi } from './harness.ts'
import { namedAuth } from './principals.ts'

interface Row {
  readonly key: number
  readonly created_revision: number
  readonly created_at: number | null
  readonly started_revision: number | null
  readonly started_at: number | null
  readonly activity_revision: number | null
  readonly activity_at: number | null
  readonly changed_revision: number | null
  readonly changed_at: number | null
}

interface LogRow {
  readonly first_revision: number
  readonly last_revision: number
  readonly at: number
  readonly deployment_key: number | null
  readonly resource_key: number | null
  readonly target_key: number
  readonly rollout_key: number
  readonly from_rollout_key: number | null
  readonly instance_key: number | null
  readonly before: object | null
  readonly changes: readonly ChangeBody[]
}

const rowsOf = (api: Api) =>
  api.road.database.session.run<Row>(
    `select key, created_revision, created_at, started_revision, started_at, activity_revision, activity_at, changed_revision, changed_at
     from rollouts order by key`,
  )

type Counted = Pick<Deployment, 'rolloutKey' | 'forgottenAt' | 'isCurrent' | 'state'> | null

/** Folds the log from its beginning. */
async function foldLives(api: Api): Promise<Row[]> {
  const log = await api.road.database.session.run<LogRow>('select * from change_log order by first_revision')
  const rows = new Map((await rowsOf(api)).map((row) => [row.key, row]))
  const counts = new Map<number, { active: number; started: number }>()
  const folded = new Map<number, Row>()
  for (const entry of log) {
    const then = { revision: entry.last_revision, at: entry.at }
    const change = entry.deployment_key !== null && entry.resource_key === null
    const before: Counted = change && entry.before ? toImage(entry.before) : null
    const foldable = {
      ...{ firstRevision: entry.first_revision, at: entry.at, observedAt: null, targetKey: entry.target_key },
      ...{ rolloutKey: entry.rollout_key, instanceKey: entry.instance_key, changes: entry.changes },
    }
    const after: Counted = change ? imageAt(before && toImage(entry.before ?? {}), foldable, entry.last_revision) : null
    for (const key of new Set([entry.rollout_key, entry.from_rollout_key])) {
      if (key === null) continue
      const row = rows.get(key)
      if (!row) throw new Error(`there is no rollout ${key}`)
      const count = counts.get(key) ?? { active: 0, started: 0 }
      const state = (d: Counted) =>
        d && d.rolloutKey === key && d.forgottenAt === null && d.isCurrent ? d.state : null
      const isActive = (d: Counted) => ['PENDING', 'INSTALLING', 'REMOVING'].includes(state(d) ?? '')
      const isStarted = (d: Counted) => (state(d) ?? 'PENDING') !== 'PENDING'
      const active = count.active + Number(isActive(after)) - Number(isActive(before))
      const started = count.started + Number(isStarted(after)) - Number(isStarted(before))
      counts.set(key, { active, started })
      const known = folded.get(key) ?? {
        ...{ key, created_revision: row.created_revision, created_at: row.created_at },
        ...{
          started_revision: null,
          started_at: null,
          activity_revision: row.created_revision,
          activity_at: row.created_at,
        },
      }
      folded.set(key, {
        ...known,
        ...(known.started_revision === null && started > 0
          ? { started_revision: then.revision, started_at: then.at }
          : {}),
        ...(active === count.active ? {} : { activity_revision: then.revision, activity_at: then.at }),
        ...{ changed_revision: then.revision, changed_at: then.at },
      })
    }
  }
  return [...folded.values()].toSorted((a, b) => a.key - b.key)
}

const devices = ['a', 'b', 'c']
const rolloutNames = ['one', 'two']
const event = fc.oneof(
  fc.record({
    what: fc.constant('report' as const),
    device: fc.constantFrom(...devices),
    reporter: fc.constantFrom('gw', ...devices),
    deploymentId: fc.constantFrom('x', 'y'),
    state: fc.constantFrom('PENDING', 'INSTALLING', 'INSTALLED', 'FAILED', 'REMOVING', 'REMOVED'),
    component: fc.constantFrom('INSTALLING', 'INSTALLED', null),
  }),
  fc.record({
    what: fc.constant('declare' as const),
    device: fc.constantFrom(...devices),
    deploymentId: fc.constantFrom('x', 'y'),
    rollout: fc.constantFrom(...rolloutNames),
  }),
  fc.record({ what: fc.constant('forget' as const), at: fc.nat(10) }),
  fc.record({ what: fc.constant('act' as const), state: fc.constantFrom('TERMINATED', 'INSTANTIATED', 'UPDATED') }),
  fc.record({ what: fc.constant('resources' as const), sync: fc.constantFrom('APPLIED', 'FAILED', 'DELETED') }),
)
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never

const group = deploymentIntentGroup('p', 'app', 'v1', 'dig') as LifecycleRolloutName
const fact = { instanceId: null, at: null, timestamp: null, compositeProfile: null }

describe.each(stores)('the lives of rollouts on $name', (store) => {
  let api: Api
  let instance = 0
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
    await api.road.writer.submit(
      recordActions(group, [
        { ...fact, state: 'CREATED' },
        { ...fact, state: 'APPROVED' },
      ]),
    )
  })
  afterAll(() => api.close())

  async function play(one: Event): Promise<unknown> {
    const { writer, database } = api.road
    switch (one.what) {
      case 'report': {
        const { device: deviceId, component } = one
        const components = component === null ? [] : [{ name: 'web', state: component, error: null } as const]
        return writer.submit(recordReport(report({ ...one, deviceId, components } as never)))
      }
      case 'declare':
        return writer.submit(
          declareDeployments({ name: one.rollout, project: null }, [
            {
              deviceId: one.device,
              deploymentId: one.deploymentId,
              application: null,
              applicationVersion: null,
              components: null,
            },
          ]),
        )
      case 'forget': {
        const rows = await database.session.run<{ key: number }>(
          'select key from deployments where instance_key is null and forgotten_at is null order by key',
        )
        const found = rows[one.at]
        return found && writer.submit(forgetDeployments([found.key]))
      }
      case 'act': {
        const isNew = one.state !== 'TERMINATED'
        if (isNew) instance += 1
        const instanceId = isNew ? String(900_000 + instance) : null
        return writer.submit(recordActions(group, [{ ...fact, state: one.state as 'UPDATED', instanceId }]))
      }
      case 'resources': {
        const target = { kind: 'CLUSTER', provider: 'p', name: 'edge' } as const
        const item = {
          group: 'apps',
          version: 'v1',
          kind: 'Deployment',
          namespace: 'default',
          name: 'n',
          component: 'web',
        }
        return writer.submit(
          reportResources(group, String(900_000 + instance), [
            { ...item, target, sync: one.sync as 'APPLIED', showable: true },
          ]),
        )
      }
    }
  }

  it('equal the fold of the log, also where a batch has many changes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(event, { minLength: 1, maxLength: 6 }), { maxLength: 8 }), async (batches) => {
        // What is submitted at once is mostly one batch. What is refused changes nothing.
        for (const batch of batches) await Promise.allSettled(batch.map(play))
        expect(await rowsOf(api)).toEqual(await foldLives(api))
      }),
      { numRuns: 12 },
    )
  })

  it('are what the migration fills in where they are missing', async () => {
    const kept = await rowsOf(api)
    await api.road.database.session.run(
      `update rollouts set created_at = null, started_revision = null, started_at = null, activity_revision = null, activity_at = null,
         changed_revision = null, changed_at = null`,
    )
    const migration = (await readMigrations()).find(({ tag }) => tag.endsWith('rollout-lives'))
    await api.road.database.session.run(migration?.text.split('--> statement-breakpoint').at(-1) ?? '')
    const filled = await rowsOf(api)
    const exact = (rows: readonly Row[]) =>
      rows.map(({ key, created_at, changed_revision, changed_at, started_revision }) => ({
        ...{ key, created_at, changed_revision, changed_at, hasStarted: started_revision !== null },
      }))
    expect(exact(filled)).toEqual(exact(kept))
  })
})

interface Shown {
  readonly name: string
}

describe.each(stores)('the times of rollouts on $name', (store) => {
  let api: Api
  let between: string
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
    await register(api, 'm-1', 'munich')
    await register(api, 'o-1', 'oslo')
    await declare(api, 'early', 'alpha', [
      ['m-1', 'e-1'],
      ['o-1', 'e-2'],
    ])
    await declare(api, 'late', 'alpha', [['m-1', 'l-1']])
    await declare(api, 'idle', 'beta', [['o-1', 'i-1']])
    await api.report({ reporter: 'm-1', deploymentId: 'l-1', state: 'INSTALLED' })
    await api.report({ reporter: 'm-1', deploymentId: 'e-1', state: 'INSTALLED' })
    between = (await api.ask('{ revision }')).revision
    await api.report({ reporter: 'o-1', deploymentId: 'e-2', state: 'FAILED' })
    await declare(api, 'late', 'alpha', [['o-1', 'e-2']])
  })
  afterAll(() => api.close())

  const times = 'name createdRevision createdAt startedRevision startedAt changedRevision finishedRevision finishedAt'
  const namesBy = async (orderBy: string, as?: string) =>
    (await api.ask(`{ rollouts(orderBy: ${orderBy}) { nodes { name } } }`, {}, as)).rollouts.nodes.map(
      ({ name }: Shown) => name,
    )

  it('are shown', async () => {
    const { rollouts, changes } = await api.ask(
      `{ rollouts(orderBy: { field: NAME, direction: ASC }) { nodes { ${times} changes(last: 1) { nodes { revision at } } } }
        changes(first: 100) { nodes { revision at kind ... on DeploymentChange { deploymentId } } } }`,
    )
    const [early, idle, late] = rollouts.nodes
    const of = (id: string) => changes.nodes.filter((one: { deploymentId?: string }) => one.deploymentId === id)
    expect(idle).toMatchObject({ startedRevision: null, startedAt: null, finishedRevision: null, finishedAt: null })
    expect(late).toMatchObject({ startedRevision: of('l-1')[1].revision, startedAt: of('l-1')[1].at })
    expect(early).toMatchObject({ finishedRevision: of('e-2')[1].revision, finishedAt: of('e-2')[1].at })
    for (const { changedRevision, changes: own } of rollouts.nodes)
      expect(own.nodes).toMatchObject([{ revision: changedRevision }])
  })

  it('have the changes of the rollout, and those with which deployments left it', async () => {
    const { rollouts } = await api.ask(
      `{ rollouts(filter: { names: ["early"] }) { nodes { id changes(first: 100) { totalCount nodes { revision ... on DeploymentChange { deploymentId } } } } } }`,
    )
    const [{ id, changes }] = rollouts.nodes
    const filtered = await api.ask(
      'query ($id: ID!) { changes(first: 100, filter: { rolloutIds: [$id] }) { totalCount nodes { revision ... on DeploymentChange { deploymentId } } } }',
      { id },
    )
    expect(changes).toEqual(filtered.changes)
    expect(changes.totalCount).toBe(changes.nodes.length)
    expect(changes.nodes.at(-1)).toMatchObject({ deploymentId: 'e-2' })
  })

  it('order rollouts, page by page', async () => {
    expect(await namesBy('{ field: CREATED, direction: ASC }')).toEqual(['early', 'late', 'idle'])
    expect(await namesBy('{ field: NAME, direction: DESC }')).toEqual(['late', 'idle', 'early'])
    expect(await namesBy('{ field: STARTED }')).toEqual(['early', 'late', 'idle'])
    expect(await namesBy('{ field: CHANGED }')).toEqual(['late', 'early', 'idle'])
    expect(await namesBy('{ field: FINISHED }')).toEqual(['early', 'late', 'idle'])
    for (const field of ['CREATED', 'STARTED', 'CHANGED', 'FINISHED', 'NAME'])
      for (const direction of ['ASC', 'DESC']) {
        const order = `{ field: ${field}, direction: ${direction} }`
        const seen: string[] = []
        for (let after: string | null = null; ; ) {
          const { rollouts } = await api.ask(
            `query ($after: String) { rollouts(first: 1, after: $after, orderBy: ${order}) { nodes { name } pageInfo { hasNextPage endCursor } } }`,
            { after },
          )
          seen.push(...rollouts.nodes.map(({ name }: Shown) => name))
          after = rollouts.pageInfo.endCursor
          if (!rollouts.pageInfo.hasNextPage) break
        }
        expect([order, seen]).toEqual([order, await namesBy(order)])
      }
  })

  it('are those of the past', async () => {
    const document = `query ($r: Revision) { rollout(key: { name: "early", project: "alpha" }, atRevision: $r) { asOf ${times} } }`
    const { rollout } = await api.ask(document, { r: between })
    expect(rollout).toMatchObject({
      asOf: between,
      changedRevision: between,
      startedRevision: between,
      finishedRevision: null,
    })
    const { rollout: now } = await api.ask(document)
    expect(now.asOf).toBeNull()
    expect(Number(now.changedRevision)).toBeGreaterThan(Number(between))
    expect(Number(now.finishedRevision)).toBeGreaterThan(Number(between))
  })

  it('show nothing of other deployments to a caller with labels, and all to one with the project', async () => {
    const document = `{ rollouts(orderBy: { field: NAME }) { nodes { ${times} changedAt } } }`
    const [late] = (await api.ask(document, {}, munich)).rollouts.nodes
    expect(late.createdAt).not.toBeNull()
    expect(late).toMatchObject({
      name: 'late',
      startedAt: null,
      startedRevision: null,
      changedAt: null,
      finishedAt: null,
    })
    const { errors } = await api.query('{ rollouts(orderBy: { field: CHANGED }) { nodes { name } } }', {}, munich)
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
    expect(await namesBy('{ field: FINISHED }', alpha)).toEqual(['early', 'late'])
    const own = await api.ask(`{ rollouts(filter: { projects: ["alpha"] }) { nodes { ${times} } } }`)
    expect((await api.ask(`{ rollouts { nodes { ${times} } } }`, {}, alpha)).rollouts).toEqual(own.rollouts)
  })
})
