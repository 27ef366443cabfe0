/**
 * Desired state against a small model: for any sequence of declarations, removals, reports (late and repeated), forgetting and restarts both
 * agree, in the present and at every moment of the past.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DomainError } from '../../../src/domain/errors.ts'
import { declareDeployments } from '../../../src/ingest/commands/declare.ts'
import { forgetDeployments, removeDeployments } from '../../../src/ingest/commands/remove.ts'
import { recordReport } from '../../../src/ingest/commands/report.ts'
import { digestOf } from '../../../src/platform/body/digest.ts'
import { beginEpoch } from '../../../src/store/connection/epoch.ts'
import { readHead } from '../../../src/store/connection/log-head.ts'
import type { Database } from '../../../src/store/database.ts'
import { pageDeployments } from '../../../src/store/read/deployments.ts'
import { documentsAt, newestManifests } from '../../../src/store/read/desired/desired.ts'
import { targetByName } from '../../../src/store/read/targets/targets.ts'
import { report } from '../../support/clients/reports.ts'
import { type EmptyStore, stores } from '../../support/databases/stores.ts'
import { someOf } from '../../support/runner/depth.ts'
import { createRoad, type Road } from '../../support/servers/road.ts'
import { expectCounts, expectLog, expectManifests } from './desired-checks.ts'
import { createModel, ids, manifestUpdate, places, type Said, step } from './desired-model.ts'

type Picture = Readonly<Record<string, string>>

describe.each(stores)('what devices should run on $name', (store) => {
  let empty: EmptyStore
  let database: Database
  beforeAll(async () => {
    empty = await store.create()
    database = await empty.open()
  })
  afterAll(async () => {
    await database.close()
    await empty.drop()
  })

  /** Each road listens on its own connection until its database is closed: without this, many runs would use up the connections. */
  const reopen = async (): Promise<void> => {
    if (store.name === 'PGlite') return
    await database.close()
    database = await empty.open()
  }

  const picture = async (run: number, asOf: number | null): Promise<Picture> => {
    const page = { size: 1_000, after: null, before: null, backward: false }
    const pages = await pageDeployments(database.session, { of: 'fleet' }, {}, 'NAME', page, asOf)
    const own = (pages.get(0)?.edges ?? [])
      .map(({ node }) => node)
      .filter(({ reporter }) => reporter.startsWith(`${run}-`))
    return Object.fromEntries(
      own.map((d) => [
        `${d.reporter.split('/')[0]} ${d.deploymentId}`,
        `${d.convergence} ${d.state} ${d.targetManifestVersion} ${d.adoptedManifestVersion} ${d.documentDigest}`,
      ]),
    )
  }

  let begun = 0

  it('agrees with the model, now and at every moment', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const run = ++begun
        const named = (name: string) => `${run}-${name}`
        const model = createModel()
        const said: Said[] = []
        const moments: { revision: number; shown: Picture }[] = []
        const { revision: start } = await readHead(database.session)
        let road: Road = await createRoad(database)
        const stop = async (): Promise<void> => {
          road.feed.close()
          await road.writer.drain()
          await reopen()
        }
        const keyOf = async (name: string): Promise<number> => {
          const [owner, deploymentId] = name.split(' ')
          const rows = await database.session.run<{ key: number }>(
            "select key from deployments where deployment_id = $1 and (reporter = $2 or reporter like $2 || '/%') order by (forgotten_at is null) desc limit 1",
            [deploymentId, owner],
          )
          return rows[0]?.key ?? -1
        }
        const tell = async (one: Said): Promise<void> => {
          await road.writer.submit(
            recordReport(
              report({
                reporter: one.owner,
                deviceId: one.device,
                deploymentId: one.id,
                state: one.state,
                adoptedManifestVersion: one.adopted === null ? null : String(one.adopted),
                boot: 'b',
                seq: String(one.seq),
              }),
            ),
          )
          model.report(one)
        }
        try {
          for (const next of steps) {
            if (next.do === 'restart') {
              await stop()
              road = await createRoad(database)
            } else if (next.do === 'declare') {
              const list = next.list.map(({ place, id, text }) => {
                const { device = '', owner = '' } = places[place] ?? {}
                return { device: named(device), owner: named(owner), id: ids[id] ?? '', text: `run: ${text}\n` }
              })
              const declared = list.map(({ device, id: deploymentId, text: content }) => ({
                deviceId: device,
                deploymentId,
                application: null,
                applicationVersion: null,
                components: null,
                document: { content, digest: digestOf(content), size: content.length },
              }))
              await road.writer.submit(declareDeployments(null, declared, manifestUpdate))
              model.declare(list)
            } else if (next.do === 'report') {
              const { device = '', owner = '' } = places[next.place] ?? {}
              const adopted = next.adopts === null ? null : Math.max(1, model.newest(named(owner)) - next.adopts)
              const about = { owner: named(owner), device: named(device), id: ids[next.id] ?? '' }
              const one = { ...about, state: next.state, adopted, seq: said.length + 1 }
              said.push(one)
              await tell(one)
            } else if (next.do === 'late') {
              const one = said.at(-1 - next.back)
              if (one) await tell(one)
            } else {
              const living = [...model.deployments].filter(([, known]) => !known.forgotten)
              const [name, known] = living[next.nth % Math.max(1, living.length)] ?? []
              if (!name || !known) continue
              const key = await keyOf(name)
              const command = next.do === 'remove' ? removeDeployments([key], manifestUpdate) : forgetDeployments([key])
              const refused = await road.writer.submit<unknown>(command).then(
                () => false,
                (error: unknown) => error instanceof DomainError && error.code === 'INVALID_REQUEST',
              )
              // Only a deployment with a document can be removed, and only one without can be forgotten.
              expect(refused).toBe(next.do === 'remove' ? known.target === null : known.text !== null)
              if (refused) continue
              if (next.do === 'remove') model.remove(name)
              else known.forgotten = true
            }
            const living = [...model.deployments].filter(([, known]) => !known.forgotten)
            const expected = Object.fromEntries(
              living.map(([name, known]) => [
                name,
                `${model.convergence(known)} ${known.state} ${known.target} ${known.adopted} ${known.text === null ? null : digestOf(known.text)}`,
              ]),
            )
            expect(await picture(run, null)).toEqual(expected)
            moments.push({ revision: (await readHead(database.session)).revision, shown: expected })
          }
          for (const { revision, shown } of moments) expect(await picture(run, revision)).toEqual(shown)
          await expectManifests(database, model)
          await expectCounts(database)
          await expectLog(database, start)
        } finally {
          await stop()
        }
      }),
      { numRuns: someOf(6, 25) },
    )
  })

  it('continues above every version that a restored copy may have lost, and is unchanged', async () => {
    const road = await createRoad(database)
    const declare = (deviceId: string, content: string) =>
      road.writer.submit(
        declareDeployments(
          null,
          [
            {
              ...{ deviceId, deploymentId: 'kept', application: null, applicationVersion: null, components: null },
              document: { content, digest: digestOf(content), size: content.length },
            },
          ],
          manifestUpdate,
        ),
      )
    const newest = async (name: string) => {
      const target = await targetByName(database.session, 'DEVICE', '', name)
      const key = target?.key ?? -1
      const manifest = (await newestManifests(database.session, [key])).get(key)
      const version = manifest?.version ?? 1
      const documents = await documentsAt(database.session, key, version)
      return { version, bundle: manifest?.bundleDigest, contents: documents.map(({ content }) => content) }
    }
    await declare('restored', 'a: 1')
    // What was declared for this device is lost.
    await road.writer.submit(recordReport(report({ reporter: 'bare', deploymentId: 'lost' })))
    const before = await newest('restored')
    expect(before.version).toBe(2)
    // The same copy was restored before: devices may have versions that were declared then.
    const putBack = async (now: number): Promise<number> => {
      let version = 0
      const lost = database.transaction(async (session) => {
        await beginEpoch(session, now)
        const [row] = await session.run<{ newest: number }>('select max(version) as newest from manifests')
        version = row?.newest ?? 0
        throw new Error('lost')
      })
      await expect(lost).rejects.toThrow('lost')
      return version
    }
    expect(await putBack(Date.now() + 60_000)).toBeGreaterThan(await putBack(Date.now()))
    // A clock that stands still, or never was set: above what one future can have used, and never the same twice.
    for (const now of [before.version, Date.now()]) {
      const versions: number[] = []
      for (let again = 0; again < 5; again += 1) versions.push(await putBack(now))
      expect(Math.min(...versions)).toBeGreaterThan(before.version + 2 ** 24 - 1)
      const sorted = versions.toSorted((a, b) => a - b)
      for (const [index, version] of sorted.slice(1).entries())
        expect(version - (sorted[index] ?? 0)).toBeGreaterThan(0)
    }
    await database.transaction((session) => beginEpoch(session, Date.now()))
    const after = await newest('restored')
    expect(after).toEqual({ ...before, version: expect.any(Number) })
    expect(after?.version).toBeGreaterThan(before.version + 999_999)
    expect((await newest('bare')).version).toBeGreaterThan(1_000_000)
    await declare('restored', 'a: 2')
    expect(await newest('restored')).toMatchObject({ version: after.version + 1, contents: ['a: 2'] })
    // A device that has a version of another lost epoch reports it, and gets a newer one.
    const adopt = (adopted: number) =>
      road.writer.submit(
        recordReport(report({ reporter: 'restored', deploymentId: 'kept', adoptedManifestVersion: String(adopted) })),
      )
    const adopted = after.version + 2 ** 25
    await adopt(adopted)
    await declare('restored', 'a: 3')
    expect(await newest('restored')).toMatchObject({ version: adopted + 1, contents: ['a: 3'] })
    await adopt(2 ** 53 - 1)
    await declare('restored', 'a: 4')
    expect(await newest('restored')).toMatchObject({ version: adopted + 2, contents: ['a: 4'] })
    road.feed.close()
    await road.writer.drain()
  })
})
