import { expect, it } from 'vitest'
import { startChild } from '../support/servers/child.ts'

it('a server keeps what Node compiled beside its packages, and finds the modules that Node finds', async () => {
  const script = `
    const { getCompileCacheDir } = await import('node:module')
    const resolved = () => ['drizzle-orm', 'drizzle-orm/pg-core'].map((name) => import.meta.resolve(name)).join()
    const usual = resolved()
    const { startQuickly } = await import('./src/server/process/quick-start.ts')
    startQuickly()
    const { sql } = await import('drizzle-orm')
    const { PgDialect } = await import('drizzle-orm/pg-core')
    console.log(getCompileCacheDir())
    console.log(resolved() === usual, new PgDialect().sqlToQuery(sql\`select \${1}\`).sql)`
  const child = startChild(script, { NODE_COMPILE_CACHE: '', NODE_OPTIONS: '--input-type=module' })
  expect(await child.ended).toBe(0)
  expect(child.lines).toEqual([expect.stringMatching(/node_modules\/\.cache\/rollcall-compiled/), 'true select $1'])
})
