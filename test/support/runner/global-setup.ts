/** Finds or starts PostgreSQL once for the whole run, and prints what is tested. */
import { randomUUID } from 'node:crypto'
import type { TestProject } from 'vitest/node'
import { findChromium } from '../clients/browser.ts'
import { administer, makeTemplate } from '../databases/postgres-admin.ts'
import { findPostgres, startPostgres } from '../databases/postgres-server.ts'
import { findMosquitto } from '../systems/mosquitto.ts'
import { findNginx } from '../systems/nginx.ts'
import { findSwift } from '../systems/swift.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where test databases may be made; null: PGlite alone is tested. */
    readonly postgresUrl: string | null
    /** The database there that each test database is a copy of. */
    readonly postgresTemplate: string | null
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.DATABASE_URL || null
  const server = given === null && findPostgres() ? await startPostgres() : null
  const postgresUrl = given ?? server?.url ?? null
  if (postgresUrl === null && process.env.ROLLCALL_REQUIRE_POSTGRES === '1')
    throw new Error('ROLLCALL_REQUIRE_POSTGRES is set, and there is neither a DATABASE_URL nor an installed PostgreSQL')
  if (!findChromium() && process.env.ROLLCALL_REQUIRE_CHROMIUM === '1')
    throw new Error('ROLLCALL_REQUIRE_CHROMIUM is set, and there is no Chromium on the PATH')
  if (!findNginx() && process.env.ROLLCALL_REQUIRE_NGINX === '1')
    throw new Error('ROLLCALL_REQUIRE_NGINX is set, and there is no nginx on the PATH or in /usr/sbin')
  if (!findMosquitto() && process.env.ROLLCALL_REQUIRE_MOSQUITTO === '1')
    throw new Error('ROLLCALL_REQUIRE_MOSQUITTO is set, and there is no mosquitto on the PATH or in /usr/sbin')
  if (!findSwift() && process.env.ROLLCALL_REQUIRE_SWIFT === '1')
    throw new Error(
      'ROLLCALL_REQUIRE_SWIFT is set, and there is no OpenStack Swift (the package python3-swift of Debian)',
    )
  if (!findSwift()) console.log('the archive is not tested with OpenStack Swift: it was not found')
  if (!findNginx()) console.log('deploy/nginx.conf is not tested: no nginx was found')
  if (!findChromium()) console.log('the dashboard is not tested: no Chromium was found')
  const which = given ? 'DATABASE_URL' : 'started for the tests'
  console.log(`stores under test: PGlite${postgresUrl ? ` and PostgreSQL (${which})` : ' (no PostgreSQL was found)'}`)
  const template = postgresUrl && `rollcall_template_${randomUUID().replaceAll('-', '')}`
  if (postgresUrl && template) await makeTemplate(postgresUrl, template)
  project.provide('postgresUrl', postgresUrl)
  project.provide('postgresTemplate', template)
  return async () => {
    if (server) await server.dispose()
    else if (template) await administer(postgresUrl, (sql) => sql.unsafe(`drop database ${template} with (force)`))
  }
}
