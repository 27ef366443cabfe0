import { afterEach, describe, expect, it } from 'vitest'
import type { DeploymentState } from '../../../src/domain/values.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { forgetDeployments } from '../../../src/ingest/commands/remove.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { markStalled } from '../../../src/ingest/commands/stall.ts'
import { createMaintenance, type Maintenance } from '../../../src/ingest/duties/maintenance.ts'
import type { StallLimits } from '../../../src/store/write/standstill.ts'
import { report } from '../../support/clients/reports.ts'
import { openFresh } from '../../support/databases/databases.ts'
import { expectSound } from '../../support/databases/soundness.ts'
import { type Store, stores } from '../../support/databases/stores.ts'
import { isWhole } from '../../support/runner/depth.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function open(store: Store, stalling: StallLimits) {
  const database = await openFresh(store)
  let now = Date.now()
  const clock = (): number => now
  const road: Road = await createRoad(database, { writer: { clock } })
  closing.push(() => road.close())
  const others = { offlineAfter: null, historyDays: null, forgetRemovedDays: null, interval: 30_000 }
  const keeper: Maintenance = createMaintenance({ database, writer: road.writer, stalling, clock, ...others })
  closing.push(() => keeper.stop())
  await keeper.tick()
  return {
    road,
    keeper,
    declare: (...deploymentIds: string[]) =>
      road.writer.submit(
        declareDeployments(
          { name: 'all', project: null },
          deploymentIds.map((deploymentId) => ({
            deploymentId,
            deviceId: `on-${deploymentId}`,
            application: null,
            applicationVersion: null,
            components: null,
          })),
        ),
      ),
    /** In parts: `web INSTALLING`. */
    send: (deploymentId: string, state: DeploymentState, ...parts: string[]) =>
      road.writer.submit(
        recordReport(
          report({
            deploymentId,
            reporter: `on-${deploymentId}`,
            state,
            error: state === 'FAILED' ? { code: '1', message: 'broken' } : null,
            components: parts.map((part) => {
              const [name = '', its] = part.split(' ')
              return { name, state: its as DeploymentState, error: null }
            }),
          }),
        ),
      ),
    wait: async (deploymentId: string, code: string) =>
      road.writer.submit(
        recordReport(report({ deploymentId, reporter: `on-${deploymentId}`, error: { code, message: 'wait' } })),
      ),
    /** Seconds, the keeper awake all the while. */
    async pass(seconds: number) {
      const until = now + seconds * 1_000
      while (now < until) {
        now = Math.min(now + 30_000, until)
        await keeper.tick()
      }
    },
    /** No server listens. */
    sleep(seconds: number) {
      now += seconds * 1_000
    },
    stalled: async () =>
      (
        await database.session.run<{ id: string }>(
          'select deployment_id as id from deployments where stalled order by deployment_id',
        )
      ).map(({ id }) => id),
    changes: async (deploymentId: string) =>
      (
        await database.session.run<{ change: object }>(
          `select c as change from change_log l join deployments d on d.key = l.deployment_key, json_array_elements(l.changes) c
           where d.deployment_id = $1 and c->>'kind' = 'DEPLOYMENT_STALLED' order by l.first_revision`,
          [deploymentId],
        )
      ).map(({ change }) => change),
  }
}

describe.each(stores)('standing still, on $name', (store) => {
  it.runIf(isWhole)('is a limit of its own where there is no deployment to compare with', async () => {
    const { road, send, wait, declare, pass, stalled, changes } = await open(store, { factor: 3, after: 600 })
    await declare('never-heard')
    await send('slow', 'INSTALLING', 'web INSTALLING')
    await send('removing', 'REMOVING')
    await send('begun', 'PENDING')
    await wait('waiting', 'POLICY_AGENT')
    await send('over', 'INSTALLED', 'web INSTALLED')
    await send('broken', 'FAILED', 'web INSTALLING')
    await pass(600)
    expect(await stalled()).toEqual([])
    await pass(31)
    expect(await stalled()).toEqual(['begun', 'removing', 'slow'])
    await pass(3_600)
    expect(await changes('slow')).toEqual([{ kind: 'DEPLOYMENT_STALLED', stalled: true }])
    // A repeat is a sign of life, and no progress.
    await send('slow', 'INSTALLING', 'web INSTALLING')
    expect(await stalled()).toContain('slow')
    await send('slow', 'INSTALLING', 'web INSTALLED')
    await send('removing', 'REMOVED')
    expect(await stalled()).toEqual(['begun'])
    expect(await changes('slow')).toEqual([
      { kind: 'DEPLOYMENT_STALLED', stalled: true },
      { kind: 'DEPLOYMENT_STALLED', stalled: false },
    ])
    await expectSound(road.database)
  })

  it('is what takes much longer than it took the peers, component by component', async () => {
    const { road, send, declare, pass, stalled } = await open(store, { factor: 3, after: 86_400 })
    const peers = Array.from({ length: 12 }, (_, index) => `peer-${index}`)
    await declare(...peers, 'quick', 'slow', 'late')
    for (const peer of peers) await send(peer, 'INSTALLING', 'web INSTALLING', 'model PENDING')
    await pass(30)
    for (const peer of peers) await send(peer, 'INSTALLING', 'web INSTALLED', 'model INSTALLING')
    await pass(600)
    for (const peer of peers) await send(peer, 'INSTALLED', 'web INSTALLED', 'model INSTALLED')

    await send('slow', 'INSTALLING', 'web INSTALLING', 'model PENDING')
    await send('quick', 'INSTALLING', 'web INSTALLED', 'model INSTALLING')
    await send('another', 'INSTALLING', 'web INSTALLING', 'model PENDING')
    await pass(90)
    expect(await stalled()).toEqual([])
    await pass(31)
    // Not the one of another rollout, and not the one whose component takes ten minutes.
    expect(await stalled()).toEqual(['slow'])
    await pass(1_800 - 121)
    expect(await stalled()).toEqual(['slow'])
    await pass(31)
    expect(await stalled()).toEqual(['quick', 'slow'])
    await expectSound(road.database)
  })

  it('compares deployments without components by their own state, and never calls less than a minute a standstill', async () => {
    const { send, declare, pass, stalled } = await open(store, { factor: 1, after: null })
    const peers = Array.from({ length: 10 }, (_, index) => `peer-${index}`)
    await declare(...peers, 'slow')
    for (const peer of peers) await send(peer, 'INSTALLING')
    await pass(1)
    for (const peer of peers) await send(peer, 'INSTALLED')
    await send('slow', 'INSTALLING')
    await pass(60)
    expect(await stalled()).toEqual([])
    await pass(30)
    expect(await stalled()).toEqual(['slow'])
  })

  it('does not follow from our own absence', async () => {
    const { send, sleep, pass, stalled } = await open(store, { factor: null, after: 600 })
    await send('slow', 'INSTALLING')
    sleep(86_400)
    await pass(570)
    expect(await stalled()).toEqual([])
    await pass(90)
    expect(await stalled()).toEqual(['slow'])
  })

  it('is not said of what has gone on since it was found', async () => {
    const { road, send, stalled } = await open(store, { factor: null, after: null })
    const { revision } = await send('slow', 'INSTALLING', 'web PENDING')
    const [row] = await road.database.session.run<{ key: number }>('select key from deployments')
    const mark = (at: number) => road.writer.submit(markStalled([{ key: row?.key ?? 0, revision: at }]))
    const { revision: newest } = await send('slow', 'INSTALLING', 'web INSTALLING')
    expect(await mark(revision)).toEqual({ marked: 0 })
    expect(await stalled()).toEqual([])
    expect(await mark(newest)).toEqual({ marked: 1 })
    expect(await stalled()).toEqual(['slow'])
  })

  it.runIf(isWhole)('can be turned off', async () => {
    const { send, pass, stalled } = await open(store, { factor: null, after: null })
    await send('slow', 'INSTALLING')
    await pass(3_000)
    expect(await stalled()).toEqual([])
  })

  it('ends when a forgotten deployment is heard of again', async () => {
    const { road, send, pass, stalled } = await open(store, { factor: null, after: 60 })
    await send('slow', 'INSTALLING')
    await pass(120)
    const [row] = await road.database.session.run<{ key: number }>('select key from deployments')
    await road.writer.submit(forgetDeployments([row?.key ?? 0]))
    await send('slow', 'INSTALLING')
    expect(await stalled()).toEqual([])
    await expectSound(road.database)
  })
})
