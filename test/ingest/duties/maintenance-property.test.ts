/**
 * Windows that are planned once or repeated, overlap, end early, and whose devices change with their labels, played with the duty and with a model that
 * knows the plans only: who is in maintenance, how long it lasted, and who is offline.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { MaintenanceWindow } from '../../../src/domain/maintenance.ts'
import { hearDevice } from '../../../src/ingest/commands/connectivity.ts'
import { endMaintenance } from '../../../src/ingest/commands/maintenance.ts'
import { maintained } from '../../../src/store/sql/maintained.ts'
import { stores } from '../../support/databases/stores.ts'
import { runs } from '../../support/runner/depth.ts'
import { minute, openMaintained } from './maintenance-harness.ts'

const [store = expect.unreachable()] = stores
const day = 24 * 60
const names = ['one', 'two', 'three'] as const
const sites = ['a', 'b'] as const

const act = fc.oneof(
  fc.record({
    do: fc.constant('plan' as const),
    site: fc.constantFrom(...sites),
    from: fc.integer({ min: -3, max: 10 }),
    lasts: fc.integer({ min: 1, max: 12 }),
    repeat: fc.constantFrom(null, null, 'FREQ=DAILY', 'FREQ=WEEKLY'),
  }),
  fc.record({ do: fc.constant('end' as const), n: fc.nat(3) }),
  fc.record({ do: fc.constant('move' as const), name: fc.constantFrom(...names), site: fc.constantFrom(...sites) }),
  fc.record({ do: fc.constant('hear' as const), name: fc.constantFrom(...names) }),
  fc.record({ do: fc.constant('pass' as const), minutes: fc.constantFrom(1, 2, 3, 5) }),
  // No server runs for days.
  fc.record({ do: fc.constant('sleep' as const), minutes: fc.constantFrom(day - 4, 7 * day - 3) }),
)

it('agrees with the plans, whatever is planned, ended and labelled', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 25, size: 'max' }), async (acts) => {
      const fleet = await openMaintained(store)
      const { road, session } = fleet
      const siteOf = new Map<string, string>()
      const plans: { window: MaintenanceWindow; site: string; endedAt: number | null }[] = []
      const inside = new Map<string, number>()
      const spent = new Map<string, number>()
      const place = async (name: string, site: string) => {
        siteOf.set(name, site)
        await fleet.register(name, site)
      }
      for (const name of names) {
        await place(name, 'a')
        await fleet.send(name)
      }
      const begun = fleet.now()
      const lasts = (plan: (typeof plans)[number], now: number): boolean => {
        const { beginsAt, endsAt, repeat } = plan.window
        const period = repeat === null ? Number.POSITIVE_INFINITY : (repeat === 'FREQ=DAILY' ? 1 : 7) * day * minute
        const since = now - beginsAt
        return (
          plan.endedAt === null &&
          since >= 0 &&
          (period === Number.POSITIVE_INFINITY ? since : since % period) < endsAt - beginsAt
        )
      }
      /** Labels are looked at each minute, so a round after a change of labels may be late by one. */
      const check = async () => {
        const now = fleet.now()
        for (const name of names) {
          const isInside = plans.some((plan) => plan.site === siteOf.get(name) && lasts(plan, now))
          const { reason } = await fleet.device(name)
          expect([name, reason !== null]).toEqual([name, isInside])
          if (isInside && !inside.has(name)) inside.set(name, now)
          const since = inside.get(name)
          if (isInside || since === undefined) continue
          spent.set(name, (spent.get(name) ?? 0) + now - since)
          inside.delete(name)
        }
      }
      const round = async (minutes: number) => {
        for (let half = 0; half < 2 * minutes; half += 1) {
          fleet.sleep(0.5)
          await fleet.look()
          await check()
        }
      }
      for (const next of acts) {
        if (next.do === 'plan') {
          const { site, from, lasts: minutes, repeat } = next
          plans.push({ site, endedAt: null, window: await fleet.plan(site, from, from + minutes, { repeat }) })
          await round(1)
        } else if (next.do === 'end') {
          const plan = plans[next.n]
          if (!plan || plan.endedAt !== null) continue
          const answer = await road.writer.submit(endMaintenance(plan.window.key, 'ann')).catch(() => null)
          if (answer) plan.endedAt = fleet.now()
          await round(1)
        } else if (next.do === 'move') {
          await place(next.name, next.site)
          await fleet.relook()
          await check()
        } else if (next.do === 'hear') await road.writer.submit(hearDevice(next.name))
        else if (next.do === 'pass') await round(next.minutes)
        else {
          fleet.sleep(next.minutes)
          await fleet.look()
          await check()
        }
      }
      const rows = await session.run<{ name: string; millis: number }>(
        `select t.name, ${maintained('t.key', '$1::timestamptz', '$2::timestamptz')} as millis from targets t`,
        [new Date(begun).toISOString(), new Date(fleet.now()).toISOString()],
      )
      for (const { name, millis } of rows) {
        const since = inside.get(name)
        const modelled = (spent.get(name) ?? 0) + (since === undefined ? 0 : fleet.now() - since)
        expect([name, Math.round(millis)]).toEqual([name, modelled])
      }
    }),
    { numRuns: runs(6, 60) },
  )
}, 300_000)
