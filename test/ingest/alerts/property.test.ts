/**
 * Alerts against a reference that folds the log: any reports, changes of rules, pauses, evaluations at the same time, and kills between and
 * within them. Each alert is raised and resolved in turn, each value is that of the log at its revision, and in the end what fires is what should.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AlertRule, evaluate } from '../../../src/domain/alerts/alert.ts'
import type { DeploymentState, deploymentStates } from '../../../src/domain/values.ts'
import { createAlertEvaluation } from '../../../src/ingest/alerts/evaluation.ts'
import type { Command } from '../../../src/ingest/command.ts'
import { nothingMeasured } from '../../../src/store/alerts/measures.ts'
import type { DeploymentFilter } from '../../../src/store/read/filters/deployment-filter.ts'
import { stores } from '../../support/databases/stores.ts'
import { someOf } from '../../support/runner/depth.ts'
import { type AlertFleet, openAlertFleet } from './harness.ts'

const devices = ['a', 'b', 'c']
const apps = ['x', 'y']
type Variant = Partial<AlertRule> & { readonly filter?: DeploymentFilter }
const variants: readonly Variant[] = [
  { metric: 'FAILED', threshold: 1, perRollout: true },
  { metric: 'FAILED', threshold: 3, resolveThreshold: 2 },
  { metric: 'FAILED', threshold: 2, resolveThreshold: 1, perRollout: true, forSeconds: 60 },
  { metric: 'SUCCESS_RATE', threshold: 50, resolveThreshold: 60, perRollout: true },
  { metric: 'FAILED', threshold: 1, perRollout: true, filter: { deviceIds: ['a', 'b'] } },
  { metric: 'FAILED', unit: 'PERCENT', threshold: 40, resolveThreshold: 30, filter: { deviceIds: ['b', 'c'] } },
  // The deadline has passed, and the steps are too few for a forecast: what is unfinished is late.
  { metric: 'DELAY', threshold: 0, deadline: 0, perRollout: true },
]
const names = ['one', 'two']

type Step =
  | { readonly do: 'send'; readonly device: string; readonly app: string; readonly state: DeploymentState }
  | { readonly do: 'rule'; readonly name: string; readonly variant: number }
  | { readonly do: 'delete'; readonly name: string }
  | { readonly do: 'pass'; readonly seconds: number }
  /** Evaluations at the same time. Each dies after so many statements or batches, or not (null). */
  | { readonly do: 'evaluate'; readonly lives: readonly (number | null)[] }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      device: fc.constantFrom(...devices),
      app: fc.constantFrom(...apps),
      state: fc.constantFrom<DeploymentState>('INSTALLING', 'INSTALLED', 'FAILED', 'FAILED'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('rule' as const),
      name: fc.constantFrom(...names),
      variant: fc.nat(variants.length - 1),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), name: fc.constantFrom(...names) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), seconds: fc.constantFrom(10, 40, 100) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('evaluate' as const),
      lives: fc.array(fc.option(fc.nat(12), { freq: 2 }), { minLength: 1, maxLength: 3 }),
    }),
  },
)

interface InForce {
  readonly from: number
  readonly name: string
  readonly variant: Variant | null
}

const duties = new WeakMap<AlertFleet, ReturnType<typeof createAlertEvaluation>[]>()

/** Each place is a replica that keeps its copy of the rules from one evaluation to the next, unless it dies. */
async function evaluateAll(fleet: AlertFleet, lives: readonly (number | null)[], now: number): Promise<void> {
  const known = duties.get(fleet) ?? []
  duties.set(fleet, known)
  await Promise.all(
    lives.map(async (life, place) => {
      let left = life ?? Number.POSITIVE_INFINITY
      const live = <T>(work: () => Promise<T>): Promise<T> => {
        left -= 1
        return left < 0 ? Promise.reject(new Error('killed')) : work()
      }
      const { session } = fleet.database
      const mortal = {
        ...session,
        rows: (query: Parameters<typeof session.rows>[0]) => live(() => session.rows(query)),
        run: (text: string, parameters?: readonly unknown[]) => live(() => session.run(text, parameters)),
      } as typeof session
      const submit = <R>(command: Command<R>): Promise<R> => live(() => fleet.road.writer.submit(command))
      if (life === null) known[place] ??= createAlertEvaluation(fleet.database, fleet.road.writer)
      const mortalDuty = createAlertEvaluation({ session: mortal, kind: fleet.database.kind }, { submit })
      const duty = (life === null ? known[place] : null) ?? mortalDuty
      await duty.run({ now, listeningSince: 0, isOver: () => false }).catch((error: Error) => {
        if (error.message !== 'killed') throw error
      })
    }),
  )
}

interface LoggedState {
  readonly revision: number
  readonly device: string
  readonly app: string
  readonly state: DeploymentState
}

async function readStates({ database }: AlertFleet): Promise<LoggedState[]> {
  return database.session.run(
    `select l.first_revision + c.ord - 1 as revision, d.reporter as device, d.deployment_id as app, c.value->>'to' as state
     from change_log l join deployments d on d.key = l.deployment_key, json_array_elements(l.changes) with ordinality c(value, ord)
     where c.value->>'kind' = 'DEPLOYMENT_STATE_CHANGED' order by 1`,
  )
}

/** The value of a rule for a rollout (null: all) at a revision, from the log. */
function measureAt(states: readonly LoggedState[], revision: number, variant: Variant, app: string | null) {
  const latest = new Map<string, LoggedState>()
  for (const one of states) if (one.revision <= revision) latest.set(`${one.device} ${one.app}`, one)
  const counters = { ...nothingMeasured.counters }
  for (const { device, app: own, state } of latest.values())
    if ((app === null || own === app) && (variant.filter?.deviceIds?.includes(device) ?? true))
      counters[state.toLowerCase() as Lowercase<(typeof deploymentStates)[number]>] += 1
  return { ...nothingMeasured, counters, end: counters.installing > 0 ? ('UNKNOWN' as const) : null }
}

function conditionOf(variant: Variant) {
  const { metric = 'FAILED', unit = 'COUNT', threshold = 1, resolveThreshold = threshold } = variant
  const { deadline } = variant
  return {
    metric,
    unit,
    threshold,
    resolveThreshold,
    forSeconds: 0,
    minimum: 1,
    ...(deadline !== undefined && { deadline }),
  }
}

async function check(fleet: AlertFleet, history: readonly InForce[]): Promise<void> {
  const states = await readStates(fleet)
  const rollouts = await fleet.database.session.run<{ key: number; name: string }>('select key, name from rollouts')
  const appOf = new Map<number | null, string | null>([
    [null, null],
    ...rollouts.map(({ key, name }) => [key, name] as const),
  ])
  const firing = new Map<string, number>()
  for (const change of await fleet.alertChanges()) {
    const scope = `${change.rule} ${appOf.get(change.rolloutKey)}`
    const inForce = history.findLast(({ from, name }) => name === change.rule && from < change.revision)
    if (change.kind === 'ALERT_RAISED') {
      expect(firing.has(scope), `${scope} raised twice`).toBe(false)
      firing.set(scope, change.alertKey)
      expect(inForce?.variant).toBeTruthy()
      const measure = measureAt(
        states,
        change.evaluatedRevision,
        inForce?.variant ?? {},
        appOf.get(change.rolloutKey) ?? null,
      )
      const { value, act } = evaluate(
        conditionOf(inForce?.variant ?? {}),
        measure,
        { isFiring: false, breachedSince: null },
        // A delay is counted from the time of the evaluation.
        inForce?.variant?.metric === 'DELAY' ? change.value * 1_000 : 0,
      )
      expect({ value, act }).toEqual({ value: change.value, act: 'RAISE' })
    }
    if (change.kind === 'ALERT_RESOLVED') {
      expect(firing.get(scope), `${scope} resolved without being raised`).toBe(change.alertKey)
      firing.delete(scope)
    }
  }
  const latest = new Map(history.map((one) => [one.name, one.variant]))
  for (const [name, variant] of latest)
    for (const app of variant?.perRollout ? apps : [null]) {
      if (!variant) continue
      const measure = measureAt(states, Number.POSITIVE_INFINITY, variant, app)
      const isFiring = firing.delete(`${name} ${app}`)
      // Neither is there anything to raise, nor to resolve.
      const { act } = evaluate(conditionOf(variant), measure, { isFiring, breachedSince: null }, 0)
      expect({ name, app, isFiring, act }).toEqual({ name, app, isFiring, act: null })
    }
  expect([...firing.keys()]).toEqual([])
  const open = await fleet.database.session.run<{ n: number }>(
    'select count(*)::int as n from alerts where resolved_revision is null',
  )
  const raised = (await fleet.alertChanges()).reduce(
    (n, { kind }) => n + (kind === 'ALERT_RAISED' ? 1 : kind === 'ALERT_RESOLVED' ? -1 : 0),
    0,
  )
  expect(open[0]?.n).toBe(raised)
}

async function play(fleet: AlertFleet, time: { now: number }, steps: readonly Step[]): Promise<void> {
  const history: InForce[] = []
  const newest = async (): Promise<number> =>
    (await fleet.database.session.run<{ revision: number }>('select revision from log_head'))[0]?.revision ?? 0
  for (const one of steps) {
    switch (one.do) {
      case 'send':
        await fleet.send(one.device, one.app, one.state)
        break
      case 'rule': {
        const { filter, ...rule } = variants[one.variant] ?? {}
        await fleet.rule(one.name, rule, filter)
        history.push({ from: await newest(), name: one.name, variant: variants[one.variant] ?? null })
        break
      }
      case 'delete':
        await fleet.deleteRule(one.name).catch(() => undefined)
        history.push({ from: await newest(), name: one.name, variant: null })
        break
      case 'pass':
        time.now += one.seconds * 1_000
        break
      case 'evaluate':
        await evaluateAll(fleet, one.lives, time.now)
    }
  }
  for (let round = 0; round < 4; round += 1) {
    time.now += 61_000
    await evaluateAll(fleet, [null], time.now)
  }
  await check(fleet, history)
}

describe.each(stores)('alerts on $name', (store) => {
  it('are raised and resolved in turn, with the values of the log, whatever evaluates and dies', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const time = { now: Date.now() }
        const empty = await store.create()
        const fleet = await openAlertFleet(await empty.open(), time)
        try {
          await play(fleet, time, steps)
        } finally {
          await fleet.close()
          await empty.drop()
        }
      }),
      { numRuns: someOf(8, 25) },
    )
  })
})
