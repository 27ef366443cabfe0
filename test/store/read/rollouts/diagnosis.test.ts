/** What a diagnosis reads of random fleets, compared with all traits of all deployments. */
import { describe, expect, it } from 'vitest'
import { createRandom, type Random } from '../../../../src/apps/simulate/random.ts'
import { diagnose } from '../../../../src/domain/insight/diagnosis.ts'
import type { Cause, DiagnosedProblem, Observation } from '../../../../src/domain/insight/observed.ts'
import type { DeploymentState } from '../../../../src/domain/values.ts'
import { declareDeployments } from '../../../../src/ingest/commands/declare.ts'
import { recordCapabilities } from '../../../../src/ingest/commands/devices/capabilities.ts'
import { registerDevices } from '../../../../src/ingest/commands/devices/register.ts'
import { recordReport } from '../../../../src/ingest/commands/report.ts'
import { atOnce } from '../../../../src/platform/limits/pace.ts'
import { diagnosesOf } from '../../../../src/store/read/insight/observations.ts'
import { report } from '../../../support/clients/reports.ts'
import { stores } from '../../../support/databases/stores.ts'
import { createEmptyRoad, type Road } from '../../../support/servers/road.ts'
import { readPlans } from '../plan.ts'

const size = 300
const parts = ['web', 'db', 'cache']
const rollouts = ['pump', 'valve']
const traitOf = (by: string, value: string, detail: string | null = null, labelKey: string | null = null) =>
  JSON.stringify({ by, labelKey, value, detail })

interface Device {
  readonly index: number
  readonly name: string
  readonly gateway: string | null
  readonly registered: Readonly<Record<string, string>>
  /** What it says of itself. Null: nothing. */
  readonly own: Readonly<Record<string, string>> | null
}

function deviceOf(random: Random, index: number): Device {
  const gateway = index % 3 === 0 ? null : `gw-${index % 7}`
  return {
    ...{ index, gateway, name: gateway === null ? `edge-${index}` : `${gateway}/edge-${index}` },
    registered: { site: `site-${random.index(4)}`, ...(random.chance(0.5) ? { serial: `s-${index}` } : {}) },
    own: random.chance(0.6) ? { site: 'elsewhere', line: `line-${random.index(5)}` } : null,
  }
}

/** Makes the fleet by commands, and answers with what a diagnosis has to compare, by rollout. */
async function play({ writer }: Pick<Road, 'writer'>, random: Random): Promise<Map<string, Observation<string>[]>> {
  const devices = Array.from({ length: size }, (_, index) => deviceOf(random, index))
  const listOf = (labels: Readonly<Record<string, string>>) =>
    Object.entries(labels).map(([key, value]) => ({ key, value }))
  await writer.submit(
    registerDevices(
      devices.map(({ name, gateway, registered }) => ({
        ...{ deviceId: name, name: null, labels: listOf(registered), parent: gateway, expectedInterval: null },
        tokenHash: `hash of ${name}`,
      })),
    ),
  )
  for (const { name, own } of devices)
    if (own)
      await writer.submit(recordCapabilities(name, name, null, { text: '{}', generation: 'test', labels: listOf(own) }))
  const observed = new Map<string, Observation<string>[]>()
  for (const rollout of rollouts) {
    const versions = devices.map(() => random.pick(['1', '2']))
    await writer.submit(
      declareDeployments(
        { name: rollout, project: null } as never,
        devices.map(({ name, index }) => ({
          ...{ deviceId: name, deploymentId: `${rollout}-${index}`, application: rollout, components: null },
          applicationVersion: versions[index] ?? null,
        })),
      ),
    )
    const rows: Observation<string>[] = []
    const reports: Promise<unknown>[] = []
    for (const { index, name, gateway, registered, own } of devices) {
      const chance = gateway === 'gw-2' ? 0.9 : versions[index] === '2' ? 0.3 : 0.03
      const state: DeploymentState = random.chance(0.1) ? 'PENDING' : random.chance(chance) ? 'FAILED' : 'INSTALLED'
      const failing = random.pick(['db', 'db', 'db', 'web'])
      const code = random.pick(['E1', 'E2'])
      const components = parts.map((part) => ({
        ...{ name: part, state: state === 'FAILED' && part !== failing ? ('INSTALLED' as const) : state },
        error: state === 'FAILED' && part === failing ? { code, message: `disk of ${name} full` } : null,
      }))
      const id = { reporter: name, deploymentId: `${rollout}-${index}` }
      if (state !== 'PENDING') reports.push(writer.submit(recordReport(report({ ...id, state, components }))))
      rows.push({
        ...{ n: 1, problem: state === 'INSTALLED' ? null : state === 'PENDING' ? 'WAITING' : state },
        traits: [
          traitOf('APPLICATION_VERSION', versions[index] ?? '', rollout),
          traitOf('GATEWAY', gateway ?? name),
          ...listOf({ ...own, ...registered }).map(({ key, value }) => traitOf('LABEL', value, null, key)),
        ],
        error: state === 'FAILED' ? traitOf('ERROR', code, 'disk of # full') : null,
        components: state === 'FAILED' ? parts.map((part) => ({ name: part, isAffected: part === failing })) : [],
      })
    }
    await Promise.all(reports)
    observed.set(rollout, rows)
  }
  return observed
}

/** Behind the first cause, its correction has an upper bound only. */
const withoutChance = <Trait>({ causes, ...rest }: DiagnosedProblem<Trait>) => ({
  ...rest,
  causes: causes.map(({ pValue, ...cause }: Cause<Trait>) => cause),
})

const traits = { nameOf: (trait: string) => trait, component: (part: string) => traitOf('BLOCKING_COMPONENT', part) }
const leastChance = (causes: readonly Cause<unknown>[] = []) => Math.min(...causes.map(({ pValue }) => pValue))

describe.each(stores)('a diagnosis of a random fleet on $name', (store) => {
  it.each([1, 2, 3])(
    'has the causes that a comparison of all traits finds, of two rollouts at once (%d)',
    async (seed) => {
      const road = await createEmptyRoad(store)
      try {
        const observed = await play(road, createRandom(`diagnosis ${seed}`))
        const { session, kind } = road.database
        const known = await session.run<{ key: number; name: string }>('select key, name from rollouts order by name')
        expect(known.map(({ name }) => name)).toEqual(rollouts)
        const found = await diagnosesOf(
          { ...session, kind },
          known.map(({ key }) => key),
          null,
        )
        for (const { key, name } of known) {
          const expected = atOnce(diagnose(observed.get(name) ?? [], traits))
          const { examined, problems = [] } = found.get(key) ?? {}
          expect(examined).toBe(size)
          expect(expected[0]?.causes.length).toBeGreaterThan(0)
          expect(problems.map(withoutChance)).toEqual(JSON.parse(named(expected.map(withoutChance))))
          // Sums in another order differ by rounding.
          expect(leastChance(problems[0]?.causes) / leastChance(expected[0]?.causes)).toBeCloseTo(1, 9)
        }
      } finally {
        await road.close()
      }
    },
  )
})

describe.each(stores)('the cost of a diagnosis on $name', (store) => {
  it('is that of scans of its deployments, also where the planner expects a few rows in each join', async () => {
    const count = 600
    const road = await createEmptyRoad(store)
    try {
      await road.database.transaction(async (session) => {
        await session.run(
          `insert into targets (created_revision, key, kind, name, labels) select 1, 10000 + i, 'DEVICE', 'edge-' || i, jsonb_build_array(
             jsonb_build_object('key', 'site', 'value', i % 7), jsonb_build_object('key', 'serial', 'value', i)) from generate_series(1, ${count}) i`,
        )
        await session.run(
          `insert into rollouts (key, kind, identity, name, created_revision, created_at, activity_revision, activity_at, changed_revision, changed_at)
           values (1, 'DECLARED', 'pump', 'pump', 1, now(), 1, now(), 1, now())`,
        )
        await session.run(
          `insert into deployments (key, deployment_id, reporter, target_key, rollout_key, state, consistent, components, claimed, attempt, received_at,
             changed_at, revision, marks, error)
           select 20000 + i, 'pump-' || i, 'edge-' || i, 10000 + i, 1, case when i % 7 = 3 then 'FAILED' else 'INSTALLED' end::deployment_state, true, '[]',
             true, 1, now(), now(), i, '{}', case when i % 7 = 3 then '{"code": "507", "message": "disk full"}'::json end from generate_series(1, ${count}) i`,
        )
        // The writer's connection is like that always.
        for (const join of ['hashjoin', 'mergejoin']) await session.run(`set local enable_${join} = off`)
        const { session: read, passed } = readPlans(session)
        const found = (await diagnosesOf({ ...read, kind: road.database.kind }, [1], null)).get(1)
        expect(found?.problems[0]?.causes[0]?.trait).toEqual({
          by: 'LABEL',
          labelKey: 'site',
          value: '3',
          detail: null,
        })
        expect(passed()).toBeLessThan(60 * count)
      })
    } finally {
      await road.close()
    }
  })
})

/** JSON in which each trait is the object that it names. */
function named(expected: object): string {
  return JSON.stringify(expected, (key, value) =>
    key === 'trait' ? JSON.parse(value) : key === 'alike' ? value.map((one: string) => JSON.parse(one)) : value,
  )
}
