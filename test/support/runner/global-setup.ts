/** Finds or starts PostgreSQL once for the whole run, and prints what is tested and what is not. */
import { randomUUID } from 'node:crypto'
import type { TestProject } from 'vitest/node'
import { administer, makeTemplate } from '../databases/postgres-admin.ts'
import { findPostgres, startPostgres } from '../databases/postgres-server.ts'
import { startPgBouncer } from '../systems/pgbouncer.ts'
import { buildPrograms } from './built.ts'
import { isWhole } from './depth.ts'
import { missingPrograms } from './programs.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where test databases may be made; null: PGlite alone is tested. */
    readonly postgresUrl: string | null
    /** PostgreSQL as the stores name it: behind a PgBouncer, with ROLLCALL_POOLER=1. */
    readonly pooledUrl: string | null
    /** The database there that each test database is a copy of. */
    readonly postgresTemplate: string | null
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  for (const line of missingPrograms()) console.log(line)
  const given = process.env.DATABASE_URL || null
  const [server, built] = await Promise.all([
    given === null && findPostgres() ? startPostgres() : null,
    buildPrograms(),
  ])
  process.env.ROLLCALL_BUILT = built
  const postgresUrl = given ?? server?.url ?? null
  const isPooled = process.env.ROLLCALL_POOLER === '1'
  console.log(`stores under test: ${describeStores(postgresUrl, given)}${isPooled ? ', behind PgBouncer' : ''}`)
  const template = postgresUrl && `rollcall_template_${randomUUID().replaceAll('-', '')}`
  if (postgresUrl && template) await makeTemplate(postgresUrl, template)
  const pooler =
    postgresUrl && isPooled ? await startPgBouncer({ server: postgresUrl, mode: 'session', size: 100 }) : null
  project.provide('postgresUrl', postgresUrl)
  project.provide('pooledUrl', postgresUrl && (pooler?.urlOf(postgresUrl) ?? postgresUrl))
  project.provide('postgresTemplate', template)
  return async () => {
    await pooler?.dispose()
    if (server) await server.dispose()
    else if (template) await administer(postgresUrl, (sql) => sql.unsafe(`drop database ${template} with (force)`))
  }
}

function describeStores(postgresUrl: string | null, given: string | null): string {
  if (postgresUrl === null) return 'PGlite'
  const which = `PostgreSQL (${given ? 'DATABASE_URL' : 'started for the tests'})`
  return isWhole ? `PGlite and ${which}` : `${which}, and PGlite where the store matters`
}
