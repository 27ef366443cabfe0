import { describe, expect, it } from 'vitest'
import { backlogItem, generationOf, generations } from '../../src/apps/simulate/bodies.ts'
import { createNetwork, type Delivery, planDeliveries } from '../../src/apps/simulate/delivery.ts'
import { planFleet, type SimulatedDeployment } from '../../src/apps/simulate/fleet.ts'
import { createSchedule } from '../../src/apps/simulate/stage.ts'
import { failureStage } from '../../src/domain/failure-stage.ts'
import { isConsistent } from '../../src/domain/rollup.ts'
import { applyDeclaration } from '../../src/domain/transition/declaration.ts'
import { applyReport } from '../../src/domain/transition/transition.ts'
import { parseBacklog } from '../../src/ingest/dialects/margo/backlog.ts'
import { parseMargoBody } from '../../src/ingest/dialects/margo/parse.ts'
import { statusRoutes } from '../../src/ingest/dialects/margo/routes.ts'
import { createRouter } from '../../src/ingest/dialects/router.ts'
import { atOnce } from '../../src/platform/limits/pace.ts'
import { someOf } from '../support/runner/depth.ts'
import { afterTaking, contentOf, declared, expectVerdict } from './check/expectation.ts'

const matchMargoRoute = createRouter(statusRoutes)

const began = Date.parse('2026-07-10T06:00:00Z')
const hour = 3_600_000

function planned(deployment: SimulatedDeployment, seed: number, until: number): Delivery[] {
  const plan = planDeliveries(deployment, seed, createNetwork(seed), (at) => began + at)
  const deliveries: Delivery[] = []
  for (let { value } = plan.next(); value.at <= until; { value } = plan.next()) deliveries.push(value)
  return deliveries
}

const fleet = planFleet({ devices: 300, rollouts: 3, seed: 7, run: 'test' })
const everything = fleet.deployments.map((deployment) => planned(deployment, 7, hour))
const some = everything.slice(0, someOf(60, everything.length))

describe('the plan of a simulation', () => {
  it('is the same for the same seed, and differs for another seed', () => {
    const again = planFleet({ devices: 300, rollouts: 3, seed: 7, run: 'test' })
    expect(again).toEqual(fleet)
    expect(again.deployments.slice(0, 20).map((deployment) => planned(deployment, 7, hour))).toEqual(
      everything.slice(0, 20),
    )
    expect(planned(fleet.deployments[0] ?? expect.unreachable(), 8, hour)).not.toEqual(everything[0])
  })

  it('gives another run deployments of its own', () => {
    const other = planFleet({ devices: 300, rollouts: 3, seed: 7, run: 'other' })
    const ids = new Set(fleet.deployments.map(({ deploymentId }) => deploymentId))
    expect(ids.size).toBe(fleet.deployments.length)
    expect(other.deployments.filter(({ deploymentId }) => ids.has(deploymentId))).toEqual([])
  })

  it('contains every kind of fault', () => {
    const all = everything.flat()
    const states = new Set(all.map(({ report }) => report.step.state))
    expect([...states].toSorted()).toEqual(['FAILED', 'INSTALLED', 'INSTALLING', 'PENDING', 'REMOVED', 'REMOVING'])
    expect(new Set(all.map(({ report }) => report.deployment.device.generation))).toEqual(
      new Set(Object.keys(generations)),
    )
    expect(all.some(({ isHeld }) => isHeld)).toBe(true)
    expect(all.some(({ losesAnswer }) => losesAnswer)).toBe(true)
    expect(all.some(({ report }) => report.step.error?.code === '102')).toBe(true)
    expect(new Set(all.map(({ report }) => report.boot)).size).toBeGreaterThan(1)
    expect(fleet.devices.some(({ clockError }) => clockError > hour)).toBe(true)
    expect(fleet.devices.some(({ clockError }) => clockError < -hour)).toBe(true)
    const isOvertaken = ({ report }: Delivery, next?: Delivery): boolean =>
      !!next && next.report.step.at < report.step.at
    expect(everything.some((list) => list.some((delivery, index) => isOvertaken(delivery, list[index + 1])))).toBe(true)
    const isRepeat = ({ report }: Delivery, earlier: readonly Delivery[]): boolean =>
      earlier.some((other) => other.report === report)
    expect(everything.some((list) => list.some((delivery, index) => isRepeat(delivery, list.slice(0, index))))).toBe(
      true,
    )
  })

  it('follows the specification, except for a few agents', () => {
    const deviates = (list: readonly Delivery[]): boolean =>
      list.some(
        ({ report: { step } }) =>
          !isConsistent(step.state, step.components, failureStage(step.state, null, step.components, null)),
      )
    const share = everything.filter(deviates).length / everything.length
    expect(share).toBeGreaterThan(0)
    expect(share).toBeLessThan(0.1)
  })

  it('sends nothing while there is no network', () => {
    const network = createNetwork(7)
    for (const { at, report } of everything.flat())
      expect(network.offlineUntil(report.deployment.device.reporter, at)).toBeNull()
  })
})

describe('what a simulated device sends', () => {
  const reports = some.flatMap((list) => list.slice(0, 30)).map(({ report }) => report)

  it('is parsed to what was planned, on its route and in a backlog', () => {
    for (const report of reports) {
      const { path, body, marks } = generationOf(report)
      const route = matchMargoRoute(path(report)) ?? expect.unreachable()
      const { deployment, step } = report
      const understood = parseMargoBody(JSON.parse(JSON.stringify(body(report))), route)
      const { version, boot, seq, observedAt } = marks(report)
      const reporter = deployment.device.reporter
      expect(understood).toMatchObject({
        reporter,
        deploymentId: deployment.deploymentId,
        state: step.state,
        error: step.error,
        components: step.components,
        adoptedManifestVersion: version === null ? null : String(version),
        boot,
        seq: seq === null ? null : String(seq),
        observedAt,
      })
      expect(understood.deviceId ?? understood.reporter).toBe(deployment.device.deviceId)
      const [item] = atOnce(parseBacklog(JSON.stringify({ reports: [backlogItem(report)] }), 'application/json'))
      expect(item?.ok && item.read()).toEqual(understood)
    }
  })

  it('gets the verdicts of the documentation, as a second implementation derives them', () => {
    for (const list of some) {
      const [first] = list
      if (!first) continue
      const { deployment } = first.report
      const { deploymentId, device, rollout } = deployment
      const place = { key: 1, targetKey: 1, rolloutKey: 1 }
      const declaration = {
        deploymentId,
        reporter: device.deviceId,
        application: null,
        applicationVersion: null,
        components: rollout.components,
        rolloutKey: 1,
      }
      let truth = applyDeclaration(null, declaration, place, { now: began, at: began, revision: 1 }).deployment
      let expected = declared(deployment)
      for (const { at, report } of list) {
        const { path, body, marks } = generationOf(report)
        const moment = { now: began + at, at: began + at, revision: truth.revision + 1 }
        const route = matchMargoRoute(path(report)) ?? expect.unreachable()
        const outcome = applyReport(
          truth,
          parseMargoBody(JSON.parse(JSON.stringify(body(report))), route),
          place,
          moment,
        )
        expect(expectVerdict(expected, report.step, marks(report), began + at)).toBe(outcome.verdict)
        truth = outcome.deployment
        if (outcome.verdict !== 'STALE') expected = afterTaking(expected, report.step, marks(report), began + at)
        const version = truth.adoptedManifestVersion === null ? null : Number(truth.adoptedManifestVersion)
        expect(contentOf(expected)).toBe(contentOf({ ...truth, version }))
      }
    }
  })
})

describe('a schedule', () => {
  it('merges plans by time, and keeps the order within each plan', () => {
    const schedule = createSchedule([
      [
        { at: 1, of: 'a1' },
        { at: 5, of: 'a2' },
        { at: 5, of: 'a3' },
      ].values(),
      [
        { at: 2, of: 'b1' },
        { at: 5, of: 'b2' },
        { at: 9, of: 'b3' },
      ].values(),
      [][Symbol.iterator](),
    ])
    expect(schedule.next).toBe(1)
    expect(schedule.until(4).map(({ of }) => of)).toEqual(['a1', 'b1'])
    expect(schedule.until(5).map(({ of }) => of)).toEqual(['a2', 'b2', 'a3'])
    expect(schedule.until(5)).toEqual([])
    expect(schedule.next).toBe(9)
    expect(schedule.until(100).map(({ of }) => of)).toEqual(['b3'])
    expect(schedule.next).toBe(Number.POSITIVE_INFINITY)
  })
})
