/** What looking for standstills touches: what has changed and what is found, however much there is. Buffers, not times; without statistics, too. */
import { describe, expect, it } from 'vitest'
import type { Database, Session } from '../../../src/store/database.ts'
import { step } from '../../../src/store/projection.ts'
import { findOverdue } from '../../../src/store/write/standstill.ts'
import { stepsProjection } from '../../../src/store/write/step-durations.ts'
import { openFresh } from '../../support/databases/databases.ts'
import { stores } from '../../support/databases/stores.ts'

const hour = 3_600_000
const first = 1e15

/** Rollouts of 100 deployments each, all of them installing for some minutes, and as many entries of the log. */
async function fill({ session }: Database, rollouts: number, now: number): Promise<void> {
  const at = new Date(now - hour / 10).toISOString()
  await session.run(
    `insert into rollouts (created_at, activity_revision, activity_at, changed_revision, changed_at, key, kind, identity, name, created_revision, installing)
     select now(), 1, now(), 1, now(), r, 'DECLARED', 'r' || r, 'r' || r, 1, 100 from generate_series(1, $1::int) r`,
    [rollouts],
  )
  await session.run(
    `insert into usual_durations (rollout_key, component, state, count, p95)
     select r, 'web', 'INSTALLING', 50, 3600000 from generate_series(1, least($1::int, 20)) r`,
    [rollouts],
  )
  await session.run(
    `insert into deployments (key, deployment_id, reporter, target_key, rollout_key, state, consistent, components, claimed, attempt,
       received_at, changed_at, revision, marks)
     select d, 'd' || d, 'r' || d, d, 1 + d % $1::int, 'INSTALLING', true,
       '[{"name":"web","state":"INSTALLING","error":null,"changedAt":0,"revision":1}]', true, 1, $2::timestamptz, $2::timestamptz, ${first} + d, '{}'
     from generate_series(1, $1::int * 100) d`,
    [rollouts, at],
  )
  await session.run(
    `insert into steps_in_progress (deployment_key, component, rollout_key, state, since, counts_from, has_peers)
     select key, 'web', rollout_key, 'INSTALLING', changed_at, changed_at, rollout_key <= 20 from deployments`,
  )
  await session.run(
    `insert into change_log (found_by_changed, first_revision, last_revision, at, deployment_key, rollout_key, changes)
     select true, revision, revision, changed_at, key, rollout_key, '[{"kind":"DEPLOYMENT_STALLED","stalled":false}]' from deployments`,
  )
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Subplan Name'?: string
  readonly 'Shared Hit Blocks'?: number
  readonly 'Shared Read Blocks'?: number
  readonly Plans?: readonly PlanNode[]
}

const isCte = (node: PlanNode): boolean => node['Subplan Name']?.startsWith('CTE') ?? false
const blocksAt = (node: PlanNode): number => (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0)

/** Blocks of a plan, each counted at the node that touches it: a node includes those below it, but not what its statement's CTEs write. */
function blocksIn(node: PlanNode): number {
  const below = node.Plans ?? []
  const included = below.filter((one) => !isCte(one)).reduce((sum, one) => sum + blocksAt(one), 0)
  const own = node['Node Type'] === 'CTE Scan' ? 0 : Math.max(blocksAt(node) - included, 0)
  return below.reduce((sum, one) => sum + blocksIn(one), own)
}

/** Blocks that the statements of `work` touch. */
async function blocksOf({ session }: Database, work: (session: Session) => Promise<unknown>): Promise<number> {
  let blocks = 0
  const run: Session['run'] = async <T extends object>(text: string, parameters?: readonly unknown[]) => {
    if (!text.trimStart().startsWith('with')) return session.run<T>(text, parameters)
    const [explained] = await session.run<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }>(
      `explain (analyze, buffers, format json) ${text}`,
      parameters,
    )
    const plan = explained?.['QUERY PLAN'][0]?.Plan
    if (!plan) throw new Error('the statement was not explained')
    blocks += blocksIn(plan)
    return [] as T[]
  }
  await work({ ...session, run })
  return blocks
}

describe.each(stores)('standstills on $name', (store) => {
  it('cost as much to find in a fleet that is 30 times as large', async () => {
    const now = Date.now()
    const measure = async (rollouts: number) => {
      const database = await openFresh(store)
      await fill(database, rollouts, now)
      const newest = first + rollouts * 100
      await database.session.run(`update log_head set revision = ${newest}`)
      await database.session.run(`insert into duties (name, cursor) values ('standstill', ${newest - 50})`)
      return {
        looking: await blocksOf(database, (session) => findOverdue(session, now, { factor: 3, after: 7_200 }, 0, 100)),
        following: await blocksOf(database, (session) => step({ ...database, session }, stepsProjection, 1_000)),
      }
    }
    const [small, large] = [await measure(20), await measure(600)]
    // A tree may be a level deeper. What is read without an index at all grows 30 times.
    expect(small.following).toBeGreaterThan(100)
    expect(large.looking).toBeLessThan(small.looking * 2 + 50)
    expect(large.following).toBeLessThan(small.following * 2 + 50)
  })
})
