/** `rollcall rebuild` takes the cursor of a projection back, and names the projections if it is asked for another. */
import { expect, it } from 'vitest'
import { openDatabase } from '../../src/store/open.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startNode } from '../support/servers/child.ts'

it('has a projection made again, and refuses another name', async () => {
  const dataDir = temporaryFolder()
  const within = async (...statements: readonly string[]): Promise<unknown> => {
    const database = await openDatabase({ url: null, dataDir })
    try {
      let rows: readonly object[] = []
      for (const statement of statements) rows = await database.session.run(statement)
      return rows
    } finally {
      await database.close()
    }
  }
  await within(
    "insert into duties (name, cursor) values ('search', 7), ('summaries', 7)",
    'insert into deployment_search (deployment_key, terms) values (1, array[$$a:shop$$])',
  )
  const rebuild = (...args: readonly string[]) => startNode(['src/bin.ts', 'rebuild', ...args], { DATA_DIR: dataDir })
  for (const [args, said] of [
    [[], /rebuild needs one name: search, summaries, standstill, facets, but has ""/],
    [['alerts'], /one name: .* but has "alerts"/],
    [['search', 'facets'], /but has "search facets"/],
    [['search', '--now'], /unknown option --now/],
  ] as const) {
    const command = rebuild(...args)
    await command.said(said)
    expect(await command.ended).toBe(64)
  }
  const begun = rebuild('search')
  await begun.said(/^search of .* is made again/)
  expect(await begun.ended).toBe(0)
  expect(
    await within(
      `select name, cursor, former_cursor, (select count(*)::int from deployment_search) as rows from duties
       where name in ('search', 'summaries') order by name`,
    ),
  ).toEqual([
    { name: 'search', cursor: null, former_cursor: 7, rows: 1 },
    { name: 'summaries', cursor: 7, former_cursor: null, rows: 1 },
  ])
})
