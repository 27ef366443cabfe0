/** A gateway moves a deployment to another device in the middle of a step: the step does not end, and another one begins. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DeploymentState } from '../../../../src/domain/values.ts'
import { recordReport } from '../../../../src/ingest/commands/report.ts'
import type { Database } from '../../../../src/store/database.ts'
import { outcomesOf } from '../../../../src/store/read/insight/outcomes.ts'
import { stepsOf } from '../../../../src/store/read/insight/progress.ts'
import { type EmptyStore, stores } from '../../../support/databases/stores.ts'
import { liveBy } from '../history.ts'

describe.each(stores)('steps of moved deployments on $name', (store) => {
  let empty: EmptyStore
  let database: Database
  let key: number

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    const { submit, tick } = liveBy(database, Date.parse('2050-01-01T00:00:00Z'))
    const report = async (deviceId: string, seconds: number, state: DeploymentState) => {
      tick(seconds * 1_000)
      const said = { state, error: null, components: [], adoptedManifestVersion: null, seq: null, boot: null }
      const from = { reporter: 'gw', deploymentId: 'web', deviceId, observedAt: null, dialect: 'margo/test' }
      await submit(recordReport({ ...from, ...said }))
    }
    await report('gw/one', 0, 'PENDING')
    await report('gw/two', 100, 'INSTALLING')
    await report('gw/two', 7, 'INSTALLED')
    await report('gw/two', 1, 'INSTALLING')
    await report('gw/one', 1_000, 'INSTALLING')
    await report('gw/one', 5, 'INSTALLED')
    await report('gw/one', 1, 'INSTALLING')
    await report('gw/two', 300, 'INSTALLING')
    await report('gw/two', 4, 'FAILED')
    const [row] = await database.session.run<{ key: number }>('select key from rollouts')
    key = row?.key ?? 0
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  it('have the outcomes on one device', async () => {
    const found = (await outcomesOf({ ...database.session, kind: database.kind }, [key], 'ROLLOUT', null)).get(key)
    const steps = found?.groups?.[0]?.steps.map(({ from, to, count, max }) => [from, to, count, Math.round(max)])
    expect(steps).toEqual([
      ['INSTALLING', 'INSTALLED', 2, 7_000],
      ['INSTALLING', 'FAILED', 1, 4_000],
    ])
  })

  it('have the durations on one device', async () => {
    const found = (await stepsOf({ ...database.session, kind: database.kind }, [key], null)).get(key)
    expect(found?.own.waits).toEqual([])
    expect(found?.starts).toEqual([])
    const runs = found?.own.runs.map(({ n, millis, isOpen }) => [n, Math.round(millis), isOpen])
    expect(runs?.toSorted()).toEqual([
      [1, 4_000, false],
      [1, 5_000, false],
      [1, 7_000, false],
    ])
  })
})
