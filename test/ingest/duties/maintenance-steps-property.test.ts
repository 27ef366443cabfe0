/**
 * Windows that are planned at any time, overlap and end early, while deployments begin and end their steps: what stands still, how long steps took, and
 * what forecasts are made of, against a model that takes the time in windows off. Which devices are in one is known (maintenance-property.test.ts).
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { endMaintenance } from '../../../src/ingest/commands/maintenance.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { stepsOf } from '../../../src/store/read/insight/progress.ts'
import { report } from '../../support/clients/reports.ts'
import { stores } from '../../support/databases/stores.ts'
import { runs } from '../../support/runner/depth.ts'
import { minute, openMaintained } from './maintenance-harness.ts'

const [store = expect.unreachable()] = stores
const names = ['one', 'two', 'three'] as const
/** Minutes. */
const limit = 4

const act = fc.oneof(
  fc.record({
    do: fc.constant('plan' as const),
    site: fc.constantFrom('a', 'b'),
    from: fc.integer({ min: -1, max: 3 }),
    lasts: fc.integer({ min: 2, max: 6 }),
  }),
  fc.record({ do: fc.constant('end' as const), n: fc.nat(3) }),
  fc.record({ do: fc.constant('begin' as const), name: fc.constantFrom(...names) }),
  fc.record({ do: fc.constant('finish' as const), name: fc.constantFrom(...names) }),
  fc.record({ do: fc.constant('pass' as const), minutes: fc.constantFrom(1, 2, 4) }),
)

it('leaves the time in windows out of standstills, durations and forecasts', async () => {
  /** Standstills that were seen, and steps that would be one without their windows. */
  const seen = { stalls: 0, spared: 0 }
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 15, size: 'max' }), async (acts) => {
      const fleet = await openMaintained(store, { stalling: { factor: null, after: limit * 60 } })
      const { road, session } = fleet
      const plans: { readonly key: number; isEnded: boolean }[] = []
      const inside = new Map<string, number>()
      const spent = new Map<string, number>()
      /** When a step began, and the time in windows until then. */
      const open = new Map<string, { readonly at: number; readonly spent: number }>()
      const took: number[] = []
      const spentBy = (name: string): number =>
        (spent.get(name) ?? 0) + (inside.has(name) ? fleet.now() - (inside.get(name) ?? 0) : 0)
      const lasted = (name: string): number => {
        const { at, spent: before } = open.get(name) ?? expect.unreachable()
        return Math.max(fleet.now() - at - (spentBy(name) - before), 1)
      }
      const say = (name: string, state: 'INSTALLING' | 'INSTALLED') =>
        road.writer.submit(recordReport(report({ reporter: name, deploymentId: 'vision', state })))
      const observe = async (): Promise<void> => {
        const rows = await session.run<{ name: string; paused: boolean; stalled: boolean }>(
          `select t.name, t.maintenance_key is not null as paused, d.stalled from deployments d join targets t on t.key = d.target_key`,
        )
        for (const { name, paused, stalled } of rows) {
          const since = inside.get(name)
          if (paused && since === undefined) inside.set(name, fleet.now())
          if (!paused && since !== undefined) {
            spent.set(name, (spent.get(name) ?? 0) + fleet.now() - since)
            inside.delete(name)
          }
          seen.stalls += Number(stalled)
          // It is looked for every ten seconds, a minute behind the log, and stays said until the deployment goes on.
          const counted = open.has(name) ? lasted(name) : 0
          const elapsed = fleet.now() - (open.get(name)?.at ?? fleet.now())
          seen.spared += Number(!paused && counted < limit * minute && elapsed > (limit + 0.5) * minute)
          if (counted < limit * minute) expect([name, counted, stalled]).toEqual([name, counted, false])
          if (counted > (limit + 2) * minute && !paused) expect([name, counted, stalled]).toEqual([name, counted, true])
        }
      }
      const round = async (minutes: number): Promise<void> => {
        for (let half = 0; half < 2 * minutes; half += 1) {
          await fleet.pass(0.5)
          await observe()
        }
      }
      const begin = async (name: string): Promise<void> => {
        await say(name, 'INSTALLING')
        open.set(name, { at: fleet.now(), spent: spentBy(name) })
      }
      for (const [index, name] of names.entries()) {
        await fleet.register(name, index === 2 ? 'b' : 'a')
        await begin(name)
      }
      for (const next of acts) {
        if (next.do === 'plan') {
          const { key } = await fleet.plan(next.site, next.from, Math.max(next.from + next.lasts, 1))
          plans.push({ key, isEnded: false })
        } else if (next.do === 'end') {
          const plan = plans[next.n]
          if (plan && !plan.isEnded) await road.writer.submit(endMaintenance(plan.key, 'ann')).catch(() => null)
        } else if (next.do === 'begin' && !open.has(next.name)) await begin(next.name)
        else if (next.do === 'finish' && open.has(next.name)) {
          took.push(lasted(next.name))
          await say(next.name, 'INSTALLED')
          open.delete(next.name)
        } else if (next.do === 'pass') await round(next.minutes)
        await round(0.5)
      }
      // One more of each kind: spared by a window on the first site, and standing still.
      for (const name of names) if (!open.has(name)) await begin(name)
      await fleet.plan('a', 1, 4)
      await round(limit + 8)
      const [rollout] = await session.run<{ key: number }>('select max(rollout_key) as key from deployments')
      const key = rollout?.key ?? 0
      const steps = (await stepsOf({ ...session, kind: road.database.kind }, [key], null, undefined, fleet.now())).get(
        key,
      )
      const total = (isOpen: boolean) =>
        (steps?.own.runs ?? []).reduce((sum, one) => sum + (one.isOpen === isOpen ? one.n * one.millis : 0), 0)
      const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0)
      expect(Math.round(total(false))).toBe(sum(took))
      expect(Math.round(total(true))).toBe(sum([...open.keys()].map(lasted)))
    }),
    { numRuns: runs(3, 40) },
  )
  for (const times of Object.values(seen)) expect(times).toBeGreaterThan(0)
}, 300_000)
