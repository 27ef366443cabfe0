/** `rollcall migrate` applies the migrations to an empty database, and changes nothing of one that has them. */
import { expect, it } from 'vitest'
import { openDatabase } from '../../src/store/open.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startNode } from '../support/servers/child.ts'

it('makes an empty database one that a server starts on, and says when it cannot', async () => {
  const dataDir = temporaryFolder()
  const migrate = (DATA_DIR: string) => startNode(['src/bin.ts', 'migrate'], { DATA_DIR })
  const made = migrate(dataDir)
  await made.said(/has all migrations of this version$/)
  expect(await made.ended).toBe(0)
  const database = await openDatabase({ url: null, dataDir })
  const [row] = await database.session.run<{ count: number }>('select count(*)::int as count from migrations')
  await database.close()
  expect(row?.count).toBeGreaterThan(0)
  const failing = migrate('/dev/null/data')
  await failing.said(/the data directory \/dev\/null\/data cannot be used/)
  expect(await failing.ended).toBe(1)
})
