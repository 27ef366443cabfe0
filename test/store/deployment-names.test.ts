/** The table of names has the names of each deployment at every moment, and reports do not write it. */
import { describe, expect, it, onTestFinished } from 'vitest'
import { recordReport } from '../../src/ingest/commands/report.ts'
import type { Session } from '../../src/store/database.ts'
import { report } from '../support/clients/reports.ts'
import { openFresh } from '../support/databases/databases.ts'
import { stores } from '../support/databases/stores.ts'
import { createRoad } from '../support/servers/road.ts'
import { anyAct } from './read/all-acts.ts'
import { live } from './read/history.ts'

const kept = `select deployment_key, deployment_id, reporter, target_key, rollout_key, is_remote, is_forgotten from deployment_names`
const named = `select key, deployment_id, reporter, target_key, rollout_key, instance_key is not null or site_key <> 0, forgotten_at is not null from deployments`
const differing = (session: Session) =>
  session.run(`(${kept} except ${named}) union all (${named} except ${kept}) order by 1`)

describe.each(stores)('the names of deployments on $name', (store) => {
  it('are those of the deployments, whatever happens to the fleet', async () => {
    const database = await openFresh(store)
    const { session } = database
    const seen = new Set<string>()
    const life = await live(
      database,
      11,
      120,
      async () => {
        expect(await differing(session)).toEqual([])
        for (const row of await session.run<object>(kept)) seen.add(JSON.stringify(row))
      },
      anyAct,
    )
    // Some were moved, reported by another, or forgotten.
    expect(seen.size).toBeGreaterThan(life.moments.at(-1)?.deployments.length ?? 0)
  })

  it('are not written again by reports', async () => {
    const road = await createRoad(await openFresh(store))
    onTestFinished(() => road.writer.drain())
    onTestFinished(() => road.feed.close())
    const { session } = road.database
    const send = (state: 'INSTALLING' | 'FAILED') =>
      road.writer.submit(
        recordReport(report({ state, error: state === 'FAILED' ? { code: '1', message: 'no' } : null })),
      )
    const versions = () => session.run('select ctid::text, xmin::text from deployment_names')
    await send('INSTALLING')
    const before = await versions()
    expect(before).toHaveLength(1)
    for (const state of ['FAILED', 'INSTALLING', 'INSTALLING', 'FAILED'] as const) await send(state)
    expect(await versions()).toEqual(before)
  })
})
