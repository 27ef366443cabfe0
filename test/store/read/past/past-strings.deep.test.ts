/** Counts in the past by what only the JSON of the log has: names and errors. Buffers, not times, and without statistics. */
import { expect, it, onTestFinished } from 'vitest'
import { readHead } from '../../../../src/store/connection/log-head.ts'
import { countDeployments } from '../../../../src/store/read/counts/deployment-counts.ts'
import type { DeploymentFilter } from '../../../../src/store/read/filters/deployment-filter.ts'
import { openFresh } from '../../../support/databases/databases.ts'
import { stores } from '../../../support/databases/stores.ts'
import { buffersOf, fillLog } from '../long-log.ts'

const size = 40_000

it.each(stores)(
  'counts in the past unwind what has the names and errors of a filter on $name',
  async (store) => {
    const database = await openFresh(store)
    onTestFinished(() => database.close())
    const base = (await readHead(database.session)).revision
    await fillLog(database, base, size)
    const at = base + size + 10_000
    const was = (key: number, former: object) =>
      database.session.run(`update change_log set before = $1::text::json where first_revision = $2`, [
        JSON.stringify({ state: 'PENDING', revision: base + key, ...former }),
        base + size + key,
      ])
    await was(20_000, { application: 'shop' })
    await was(20_001, { application: 'shopping' })
    await was(20_002, { application_version: '1.1' })
    await was(20_003, { error: { code: 'E_DISK', message: 'full' } })
    await was(20_004, { components: [{ name: 'ui', error: { code: 'E_PULL', message: '' } }] })
    await was(20_005, { application: 'größe' })
    // It changed before.
    await was(9_000, { application: 'shop' })
    // It has it now only.
    await was(30_000, { application: null })
    await database.session.run(`update deployments set application = 'shop' where key = 30000`)
    const few: readonly (readonly [filter: DeploymentFilter, pending: number])[] = [
      [{ applications: ['shop', 'nothing'] }, 1],
      [{ applicationVersions: ['1.1'] }, 1],
      [{ errorCodes: ['E_DISK'] }, 1],
      [{ errorCodes: ['E_DISK', 'E_PULL'] }, 2],
      [{ components: ['ui'] }, 1],
      [{ hasError: true, where: { and: [{ components: ['ui'] }] } }, 1],
      [{ hasError: true, applications: ['shop'] }, 0],
    ]
    for (const [filter, pending] of few) {
      const { answer, buffers } = await buffersOf(database, (s) => countDeployments(s, { of: 'fleet' }, filter, at))
      expect([filter, answer.get(0)]).toMatchObject([filter, { pending }])
      // To unwind the 30,000 that have changed since takes 90,000 and more.
      expect([filter, buffers < 10_000, buffers]).toEqual([filter, true, buffers])
    }
    // Others are unwound: what JSON may have as an escape, what is not required of all, and what most have.
    await database.session.run(
      `update change_log set before = json_build_object('state', 'PENDING', 'revision', first_revision - ${size}, 'application', 'most') where first_revision > ${base + size + 20_005}`,
    )
    const all: readonly (readonly [filter: DeploymentFilter, pending: number])[] = [
      [{ applications: ['größe'] }, 1],
      [{ where: { or: [{ applications: ['shop'] }, { errorCodes: ['E_DISK'] }] } }, 2],
      [{ where: { not: { applications: ['most'] } }, applicationVersions: ['1.1'] }, 1],
      [{ applications: ['most'] }, size - 20_005],
    ]
    for (const [filter, pending] of all) {
      const counts = await countDeployments(database.session, { of: 'fleet' }, filter, at)
      expect([filter, counts.get(0)]).toMatchObject([filter, { pending }])
    }
  },
  120_000,
)
