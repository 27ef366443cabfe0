/** Deployments found by their names, one or many at once. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Deployment } from '../../../../src/domain/deployment.ts'
import type { Target } from '../../../../src/domain/target.ts'
import type { Database } from '../../../../src/store/database.ts'
import { findDeployments, findManyDeployments } from '../../../../src/store/read/deployments.ts'
import { targetsByKey } from '../../../../src/store/read/targets/targets.ts'
import { type EmptyStore, stores } from '../../../support/databases/stores.ts'
import { devices, type Life, live } from '../history.ts'

describe.each(stores)('deployments on $name', (store) => {
  let empty: EmptyStore
  let database: Database
  let life: Life
  let visible: readonly Deployment[]
  let targets: Map<number, Target>

  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
    life = await live(database, 5, 90)
    visible = (life.moments.at(-1)?.deployments ?? []).filter(({ forgottenAt }) => forgottenAt === null)
    targets = await targetsByKey(database.session, [
      ...new Set(life.moments.flatMap(({ deployments }) => deployments.map(({ targetKey }) => targetKey))),
    ])
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  it('are found by their id and its device or reporter', async () => {
    for (const { deploymentId, reporter, targetKey } of visible) {
      for (const device of [reporter, targets.get(targetKey)?.name ?? '', 'unknown', null, '\0']) {
        const found = await findDeployments(database.session, deploymentId, device, null)
        const expected = visible.filter(
          (d) =>
            d.deploymentId === deploymentId &&
            (device === null || d.reporter === device || targets.get(d.targetKey)?.name === device),
        )
        expect(found.map(({ key }) => key)).toEqual(expected.map(({ key }) => key))
      }
    }
  })

  it('are found by the device they ran on at a time, also if they have left it, and not those that were forgotten then', async () => {
    let left = 0
    for (const { revision, deployments } of life.moments.filter((_, index) => index % 4 === 0))
      for (const device of [null, 'unknown', '\0', ...devices]) {
        const found = await findDeployments(database.session, 'web', device, revision)
        const present = deployments.filter(
          (d) =>
            d.deploymentId === 'web' &&
            d.forgottenAt === null &&
            (device === null || d.reporter === device || targets.get(d.targetKey)?.name === device),
        )
        const shown = (d: Pick<Deployment, 'key' | 'state' | 'targetKey' | 'revision'>) => ({
          key: d.key,
          state: d.state,
          targetKey: d.targetKey,
          revision: d.revision,
        })
        expect(found.map(shown)).toEqual(present.map(shown))
        left += present.filter(
          (d) => device !== d.reporter && visible.every((v) => v.key !== d.key || v.targetKey !== d.targetKey),
        ).length
      }
    expect(left).toBeGreaterThan(0)
  })

  it('are found many at once, as one by one', async () => {
    const names = visible
      .flatMap(({ deploymentId, reporter, targetKey }) =>
        [reporter, targets.get(targetKey)?.name ?? '', 'unknown', null, '\0'].map((deviceId) => ({
          deploymentId,
          deviceId,
        })),
      )
      .concat({ deploymentId: '\0', deviceId: null }, { deploymentId: 'nothing "{}\\', deviceId: 'unknown' })
    for (const some of [names, names.slice(0, 1), names.filter(({ deviceId }) => deviceId === null), []]) {
      const found = await findManyDeployments(database.session, some)
      expect(found.size).toBe(some.length)
      for (const [index, { deploymentId, deviceId }] of some.entries())
        expect(found.get(index)).toEqual(await findDeployments(database.session, deploymentId, deviceId, null))
    }
  })
})
