/** A rolling upgrade: the next version has migrated the database, and this one goes on running on it, and may start on it. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import type { Database } from '../../../src/store/database.ts'
import { migrate } from '../../../src/store/migration/migrate.ts'
import { startFleet } from '../../support/clients/fleet.ts'
import { follow, watch } from '../../support/clients/follow.ts'
import { nextVersion } from '../../support/databases/next-version.ts'
import { expectKept, expectSound, revisionsBetween } from '../../support/databases/soundness.ts'
import { postgresStores, stores } from '../../support/databases/stores.ts'
import { startApp } from '../../support/servers/app.ts'
import { createRoad } from '../../support/servers/road.ts'

const tables = 'log_head epochs leases batches targets device_tokens rollouts deployments change_log reports'.split(' ')

/** What a migration may do while the version before it still runs: add. */
const additions: readonly string[] = [
  ...tables.flatMap((table) => [
    `alter table ${table} add column newer text`,
    `alter table ${table} add column newest int not null default 7`,
  ]),
  `alter type deployment_state add value 'PAUSED'`,
  'create table newcomers (key bigint primary key)',
  'create index deployments_newer on deployments (newer)',
]

async function upgrade(database: Database): Promise<void> {
  await migrate(database, await nextVersion(...additions))
}

describe.each(postgresStores)('while the next version migrates $name', (store) => {
  it('this one goes on beside it, under load', async () => {
    const empty = await store.create()
    onTestFinished(() => empty.drop())
    const roads = [await createRoad(await empty.open()), await createRoad(await empty.open())] as const
    onTestFinished(async () => void (await Promise.all(roads.map((road) => road.close()))))
    const [{ database }, next] = roads
    const start = (await readHead(database.session)).revision
    const followers = roads.map((road) => follow(road, start))
    const watcher = watch(roads[0])
    // One device a replica: a batch that fails has no other report in it, and each reads what the other has written.
    const fleet = startFleet(2, (device) => (said) => roads[device ? 1 : 0].writer.submit(recordReport(said)))
    await expect.poll(() => fleet.acknowledged).toBeGreaterThan(100)
    await upgrade(next.database)
    const enough = fleet.acknowledged + 200
    await expect.poll(() => fleet.acknowledged).toBeGreaterThan(enough)
    const played = await fleet.finish()

    await expectKept(database, played)
    await expectSound(database)
    const { revision } = await readHead(database.session)
    for (const follower of followers) {
      await expect.poll(() => follower.revisions()).toEqual(revisionsBetween(start, revision))
      await follower.leave()
    }
    await expect.poll(() => watcher.updates.at(-1)?.cursor).toBe(revision)
    await watcher.leave()
  })
})

describe.each(stores)('on a database of the next version, on $name,', (store) => {
  it('this one takes reports, and answers of the present and the past', async () => {
    // Bare: the statements that another test has prepared would have to be prepared again.
    const on = await store.createBare()
    onTestFinished(() => on.drop())
    const app = await startApp({ on })
    onTestFinished(() => app.stop())
    await app.post('/device/edge-1/deployment/d-1/status', body('installing'))
    const { revision } = await app.query('{ revision }')
    await upgrade(app.app.database)
    expect((await fetch(`${app.url}/readyz`)).status).toBe(200)
    expect((await app.post('/device/edge-1/deployment/d-1/status', body('installed'))).status).toBe(201)
    const states = 'nodes { deploymentId state }'
    const answer = await app.query(`{
      now: deployments { ${states} }
      before: deployments(atRevision: "${revision}") { ${states} }
      changes { totalCount nodes { revision } }
      audit { drift { scope } }
    }`)
    expect(answer).toMatchObject({
      now: { nodes: [{ deploymentId: 'd-1', state: 'INSTALLED' }] },
      before: { nodes: [{ deploymentId: 'd-1', state: 'INSTALLING' }] },
      changes: { totalCount: 2 },
      audit: { drift: [] },
    })
  })
})

function body(state: string): object {
  return { deploymentId: 'd-1', status: { state }, components: [] }
}
