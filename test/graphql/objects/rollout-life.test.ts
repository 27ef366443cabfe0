/** When rollouts were created, started, changed last and finished: equal to what the log says, after any sequence of events. */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ChangeBody } from '../../../src/domain/change.ts'
import type { Deployment } from '../../../src/domain/deployment.ts'
import { imageAt } from '../../../src/domain/fold.ts'
import { deploymentIntentGroup, type LifecycleRolloutName } from '../../../src/domain/rollout.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { recordActions } from '../../../src/ingest/commands/lifecycle-actions.ts'
import { forgetDeployments } from '../../../src/ingest/commands/remove.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { reportResources } from '../../../src/ingest/commands/resources.ts'
import type { RowOf } from '../../../src/store/sql/row-mapping.ts'
import { toImage } from '../../../src/store/sql/rows.ts'
import type { pastDeployments } from '../../../src/store/tables/schema.ts'
import { report } from '../../support/clients/reports.ts'
import { stores } from '../../support/databases/stores.ts'
import { someOf } from '../../support/runner/depth.ts'
import { type Api, startApi } from '../harness.ts'
import { namedAuth } from '../principals.ts'

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
  const ended = await api.road.database.session.run<RowOf<typeof pastDeployments>>('select * from past_deployments')
  const former = new Map(ended.map((row) => [row.until, toImage(row)]))
  const rows = new Map((await rowsOf(api)).map((row) => [row.key, row]))
  const counts = new Map<number, { active: number; started: number }>()
  const folded = new Map<number, Row>()
  for (const entry of log) {
    const change = entry.deployment_key !== null && entry.resource_key === null
    const before = (change && former.get(entry.first_revision)) || null
    const foldable = {
      ...{ firstRevision: entry.first_revision, at: entry.at, observedAt: null, targetKey: entry.target_key },
      ...{ rolloutKey: entry.rollout_key, instanceKey: entry.instance_key, changes: entry.changes },
    }
    const after: Counted = change ? imageAt(before, foldable, entry.last_revision) : null
    for (const key of new Set([entry.rollout_key, entry.from_rollout_key])) {
      if (key === null) continue
      const left = entry.changes.findLastIndex(
        ({ kind }) => kind === 'DEPLOYMENT_REVISED' || kind === 'COMPONENT_REMOVED',
      )
      const revision = key === entry.rollout_key ? entry.last_revision : entry.first_revision + left
      const then = { revision, at: entry.at }
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
    components: fc.constantFrom(null, ['web'], ['web', 'db']),
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
  let first = 0
  let instance = 0
  beforeAll(async () => {
    api = await startApi({ store, graphql: { auth: namedAuth } })
    await api.road.writer.submit(
      recordActions(
        group,
        [
          { ...fact, state: 'CREATED' },
          { ...fact, state: 'APPROVED' },
        ],
        'an operator',
      ),
    )
    first = Number((await api.ask('{ revision }')).revision)
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
              components: one.components,
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
        return writer.submit(
          recordActions(group, [{ ...fact, state: one.state as 'UPDATED', instanceId }], 'an operator'),
        )
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
        const lives = await foldLives(api)
        expect(await rowsOf(api)).toEqual(lives)
        const head = Number((await api.ask('{ revision }')).revision)
        for (const at of [null, ...[1, 2, 3].map((n) => Math.max(head - n, first))]) {
          const { rollouts } = await api.ask(
            'query ($at: Revision) { rollouts(atRevision: $at) { nodes { changedRevision changes(last: 1) { nodes { revision } } } } }',
            { at: at === null ? null : String(at) },
          )
          // All rollouts of a batch are created with its first change, so within the batch one may have none of its own yet.
          for (const { changedRevision, changes } of rollouts.nodes)
            expect(changes.nodes).toEqual(changedRevision === null ? [] : [{ revision: changedRevision }])
        }
      }),
      { numRuns: someOf(5, 12) },
    )
  })
})
