/** A fleet with alert rules: reports, time, evaluation, and the pairs of alerts in the log. */
import { onTestFinished } from 'vitest'
import type { AlertRule } from '../../../src/domain/alerts/alert.ts'
import type { ChangeBody } from '../../../src/domain/change.ts'
import type { DeploymentState } from '../../../src/domain/values.ts'
import { deleteAlertRule, type GivenRule, saveAlertRule } from '../../../src/ingest/commands/alert-rules.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { createMaintenance, type Maintenance } from '../../../src/ingest/duties/maintenance.ts'
import type { Database } from '../../../src/store/database.ts'
import type { DeploymentFilter } from '../../../src/store/read/filters/deployment-filter.ts'
import { report } from '../../support/clients/reports.ts'
import { openFresh } from '../../support/databases/databases.ts'
import type { Store } from '../../support/databases/stores.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'

type AlertChange = Extract<ChangeBody, { readonly alertKey: number }> & {
  readonly revision: number
  readonly rolloutKey: number | null
}

export interface AlertFleet {
  readonly road: Road
  readonly database: Database
  /** One round of all duties. */
  tick(): Promise<boolean>
  now(): number
  /** Seconds. */
  pass(seconds: number): void
  rule(name: string, rule: Partial<AlertRule>, filter?: DeploymentFilter): Promise<void>
  deleteRule(name: string): Promise<void>
  send(device: string, deploymentId: string, state: DeploymentState): Promise<void>
  /** Of the log, oldest first. */
  alertChanges(): Promise<readonly AlertChange[]>
  /** `rule rollout RAISED 3` in the order of the log. */
  story(): Promise<readonly string[]>
  close(): Promise<void>
}

export function givenRule(name: string, rule: Partial<AlertRule>, filter: DeploymentFilter = {}): GivenRule {
  const { metric = 'FAILED', unit = 'COUNT', threshold = 1, ...others } = rule
  return {
    name,
    enabled: true,
    selector: { given: {}, filter: filter as Record<string, unknown> },
    rule: {
      ...{ metric, unit, threshold, resolveThreshold: threshold, forSeconds: 0, minimum: 1, perRollout: false },
      ...{ severity: 'WARNING', description: null, labels: [], runbookUrl: null },
      ...others,
    },
  }
}

/** `time` is shared by the replicas of a test. */
export async function openAlertFleet(database: Database, time = { now: Date.now() }): Promise<AlertFleet> {
  const clock = (): number => time.now
  const road = await createRoad(database, { writer: { clock } })
  const others = { offlineAfter: null, historyDays: null, forgetRemovedDays: null, interval: 30_000 }
  const stalling = { factor: null, after: null }
  const failures: unknown[] = []
  const keeper: Maintenance = createMaintenance({
    database,
    writer: road.writer,
    stalling,
    clock,
    failed: (error) => void failures.push(error),
    ...others,
  })
  const alertChanges = async (): Promise<readonly AlertChange[]> =>
    (
      await database.session.run<{ change: ChangeBody; revision: number; rolloutKey: number | null }>(
        `select c.value as change, l.first_revision + c.ord - 1 as revision, l.rollout_key as "rolloutKey"
         from change_log l, json_array_elements(l.changes) with ordinality c(value, ord)
         where c.value->>'kind' like 'ALERT%' order by 2`,
      )
    ).map(({ change, ...place }) => ({ ...(change as AlertChange), ...place }))
  return {
    road,
    database,
    async tick() {
      const isHeld = await keeper.tick()
      if (failures.length > 0) throw failures[0]
      return isHeld
    },
    now: clock,
    pass(seconds) {
      time.now += seconds * 1_000
    },
    async rule(name, rule, filter) {
      await road.writer.submit(saveAlertRule(givenRule(name, rule, filter)))
    },
    async deleteRule(name) {
      await road.writer.submit(deleteAlertRule(name))
    },
    async send(device, deploymentId, state) {
      const error = state === 'FAILED' ? { code: '1', message: 'broken' } : null
      await road.writer.submit(recordReport(report({ deploymentId, reporter: device, state, error, components: [] })))
    },
    alertChanges,
    async story() {
      const rollouts = await database.session.run<{ key: number; name: string }>('select key, name from rollouts')
      const names = new Map(rollouts.map(({ key, name }) => [key, name]))
      return (await alertChanges()).map((change) => {
        const scope = change.rolloutKey === null ? 'fleet' : names.get(change.rolloutKey)
        const value = 'value' in change ? ` ${change.value}` : ''
        const why = change.kind === 'ALERT_RESOLVED' && change.resolution !== 'RECOVERED' ? ` ${change.resolution}` : ''
        return `${change.rule} ${scope} ${change.kind.slice(6)}${value}${why}`
      })
    },
    async close() {
      await keeper.stop()
      await road.close()
    },
  }
}

/** One on an empty database, after its first round of duties. It ends with the test. */
export async function openFreshAlertFleet(store: Store, time?: { now: number }): Promise<AlertFleet> {
  const fleet = await openAlertFleet(await openFresh(store), time)
  onTestFinished(() => fleet.close())
  await fleet.tick()
  return fleet
}
