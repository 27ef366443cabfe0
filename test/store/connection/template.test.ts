/** What an installation runs, and the database that it leaves behind. */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { makeTemplate } from '../../../src/server/build/build.ts'
import { readyTemplate } from '../../../src/store/connection/embedded/make-template.mjs'
import { openPglite } from '../../../src/store/connection/embedded/pglite.ts'
import type { Database } from '../../../src/store/database.ts'
import { migrate, missingMigrations } from '../../../src/store/migration/migrate.ts'
import { root } from '../../support/documentation.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { isWhole } from '../../support/runner/depth.ts'

const run = promisify(execFile)
const file = 'src/store/connection/embedded/make-template.mjs'
const { scripts, allowScripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

async function tablesOf({ session }: Database): Promise<readonly object[]> {
  return session.run(
    `select table_name, column_name, data_type, is_nullable, column_default from information_schema.columns
       where table_schema = 'public'
     union all select tablename, indexname, indexdef, null, null from pg_indexes where schemaname = 'public'
     union all select conrelid::regclass::text, conname, pg_get_constraintdef(oid), null, null from pg_constraint
       where connamespace = 'public'::regnamespace
     order by 1, 2, 3`,
  )
}

describe('an installation', () => {
  it('runs one file, which imports nothing of the server', () => {
    // npm runs `dependencies` where this project is the root, and never where it is a package: that needs no approval.
    expect(Object.keys(scripts).filter((name) => /install|prepare|dependencies/.test(name))).toEqual(['dependencies'])
    expect([...scripts.dependencies.matchAll(/import\('([^']+)'\)/g)].map(([, path]) => path)).toEqual([`./${file}`])
    const text = readFileSync(join(root, file), 'utf8')
    const imported = [...text.matchAll(/(?:from |import\(|import )'([^']+)'/g)].map(([, name = '']) => name)
    expect(imported.length).toBeGreaterThan(4)
    expect(imported.filter((name) => !name.startsWith('node:'))).toEqual(['@electric-sql/pglite'])
  })

  it('runs only the scripts that package.json names, where npm asks', () => {
    const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
    const withScript = Object.entries<{ hasInstallScript?: boolean }>(packages).filter(
      ([, one]) => one.hasInstallScript,
    )
    const names = new Set(withScript.map(([path]) => path.replace(/^.*node_modules\//, '')))
    const allowed = Object.entries(allowScripts).map(([name]) => name.replace(/(?<=.)@[\d.]+.*$/, ''))
    expect(allowed.filter((name) => !names.has(name))).toEqual([])
    expect([...names].filter((name) => !allowed.includes(name) && allowScripts[name] !== false)).toEqual([])
  })

  it.runIf(isWhole)('makes a database that is ready, once', async () => {
    const folder = temporaryFolder()
    const cache = join(folder, 'node_modules/.cache/rollcall')
    mkdirSync(join(folder, 'src/store/connection'), { recursive: true })
    for (const part of [file, 'drizzle']) cpSync(join(root, part), join(folder, part), { recursive: true })
    cpSync(join(root, 'node_modules/@electric-sql/pglite'), join(folder, 'node_modules/@electric-sql/pglite'), {
      recursive: true,
    })
    const install = () => run(process.execPath, nodeArguments(), { cwd: folder })
    await install()
    const [made = '', ...more] = readdirSync(cache)
    expect([made, more]).toEqual([expect.stringMatching(/^pglite-.*\.tar\.zst$/), []])
    await install()
    expect(readdirSync(cache)).toEqual([made])
  })

  it.runIf(isWhole)('of the package finds the database that its build has made', async () => {
    const folder = temporaryFolder()
    const dist = join(folder, 'dist')
    cpSync(join(process.env.ROLLCALL_BUILT ?? '', 'dist'), dist, {
      recursive: true,
      filter: (from) => !from.endsWith('/database'),
    })
    for (const part of ['drizzle', 'node_modules']) symlinkSync(join(root, part), join(folder, part))
    makeTemplate(dist)
    const made = readdirSync(join(dist, 'database'))
    expect(made).toEqual([expect.stringMatching(/^pglite-.*\.tar\.zst$/)])
    const inode = statSync(join(dist, 'database', made[0] ?? '')).ino
    makeTemplate(dist)
    expect(readdirSync(join(dist, 'database'))).toEqual(made)
    expect(statSync(join(dist, 'database', made[0] ?? '')).ino).toBe(inode)
  })

  it('does not fail where nothing can be made, or on another Node', async () => {
    await run(process.execPath, nodeArguments(), { cwd: temporaryFolder() })
    const system = '/usr/bin/node'
    if (existsSync(system))
      expect(await run(system, nodeArguments(), { cwd: root })).toEqual({ stdout: '', stderr: '' })
  })
})

/** Of `node -e "…"`, as a shell would give them. */
function nodeArguments(): string[] {
  const [, script = ''] = /^node -e "([^"]+)"$/.exec(scripts.dependencies) ?? []
  return ['-e', script]
}

describe('the database that it makes', () => {
  it.runIf(isWhole)('is what migrations make of an empty one, and needs none of them', async () => {
    const ready = await openPglite({ dataDir: undefined, template: await readyTemplate() })
    const migrated = await openPglite({ dataDir: undefined, template: undefined })
    await migrate(migrated)
    expect(await missingMigrations(ready.session)).toEqual([])
    const tables = await tablesOf(ready)
    expect(tables.length).toBeGreaterThan(100)
    expect(tables).toEqual(await tablesOf(migrated))
    await ready.close()
    await migrated.close()
  })
})
